// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// forgetAfter is after how long the cache has what was created, also that of an owner that never had another run.
const forgetAfter = time.Minute

// fresh are the children that CreateOnce has created and that the cache may not have yet. Lists do not wait for the cache, because
// each would wait for the children of all other objects as well.
type fresh struct {
	mu  sync.Mutex
	all []created
}

type created struct {
	owner types.UID
	child client.Object // without content
	at    time.Time
}

func (f *fresh) add(c created) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(slices.DeleteFunc(f.all, func(old created) bool { return c.at.Sub(old.at) > forgetAfter }), c)
}

// of are the children of an owner.
func (f *fresh) of(owner types.UID) (own []created) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.all {
		if c.owner == owner {
			own = append(own, c)
		}
	}
	return own
}

func (f *fresh) forget(c created) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = slices.DeleteFunc(f.all, func(old created) bool { return old.child == c.child })
}

// noteFresh remembers that a child was created.
func (s Scope[T]) noteFresh(child client.Object) {
	empty := reflect.New(reflect.TypeOf(child).Elem()).Interface().(client.Object)
	empty.SetNamespace(child.GetNamespace())
	empty.SetName(child.GetName())
	s.runner.fresh.add(created{s.Obj.GetUID(), empty, s.Clock.Now()})
}

// awaitFresh waits until the cache has what earlier runs of the object have created: by its children a kind decides what else may be.
func (s Scope[T]) awaitFresh(ctx context.Context) error {
	for _, c := range s.runner.fresh.of(s.Obj.GetUID()) {
		found := c.child.DeepCopyObject().(client.Object)
		if err := s.runner.client.Get(ctx, client.ObjectKeyFromObject(found), found); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("waiting until the cache has %s: %w", identityOf(c.child), err)
		}
		s.runner.fresh.forget(c)
	}
	return nil
}
