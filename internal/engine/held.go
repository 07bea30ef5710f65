// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/names"
)

// Held declares which objects of a type a kind compares with what it wants, as Compose does: the caches hold
// them whole unless they are large. Of all others they hold only what finds them.
type Held struct {
	// Of is an empty object of the type.
	Of client.Object
	// Names are the names of all its children of the type, including those of earlier versions. Without names
	// the children are the objects that have the kind as their controller.
	Names []string
}

// IsCut reports whether an object from a cache is only a part of the one on the API server.
func IsCut(o client.Object) bool { return o.GetAnnotations()[names.AnnotationCut] != "" }

// Whole returns an object from a cache, or reads it from the API server if the cache holds only a part of it.
func Whole[O client.Object](ctx context.Context, live client.Reader, o O) (O, error) {
	if !IsCut(o) {
		return o, nil
	}
	// A new one: decoding into the old one would keep fields that the API server's does not have.
	whole := reflect.New(reflect.TypeOf(o).Elem()).Interface().(O)
	whole.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	if err := live.Get(ctx, client.ObjectKeyFromObject(o), whole); err != nil {
		return o, fmt.Errorf("reading the whole of %T %s: %w", o, o.GetName(), err)
	}
	return whole, nil
}
