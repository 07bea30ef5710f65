// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// looking is the client of one run. It remembers in which version the run has read an object first: what is wanted may follow
// from that one, and the cache may show a later one by the time that it is applied.
type looking struct {
	client.Client
	first map[identity]string
}

func look(c client.Client) looking { return looking{c, map[identity]string{}} }

// Get implements client.Reader. An object that there is not has the version that no object has.
func (l looking) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := l.Client.Get(ctx, key, o, opts...)
	what := identity{reflect.TypeOf(o), key}
	if _, before := l.first[what]; before || client.IgnoreNotFound(err) != nil {
		return err
	}
	l.first[what] = o.GetResourceVersion()
	if err != nil {
		l.first[what] = neverVersion
	}
	return err
}
