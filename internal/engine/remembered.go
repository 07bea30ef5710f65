// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Watch declares objects that objects of a kind record by UID, in their status, without owning them or
// referring to them by name.
type Watch[T Object] struct {
	// Of is an empty object of the type.
	Of client.Object
	// UIDs returns those that one object records.
	UIDs func(T) []types.UID
	// Concerns reports whether a change of such an object matters. It must not change its arguments.
	Concerns func(obj T, changed client.Object) bool
}

// rememberedIndex is the index of objects by the UIDs that they record.
func rememberedIndex(i int) string { return fmt.Sprintf("remembered/%d", i) }

// indexWatched adds the index that the watches need.
func (r *runner[T]) indexWatched(ctx context.Context, indexer client.FieldIndexer, prototype T) error {
	for i, w := range r.Watches {
		uids := func(o client.Object) []string {
			var out []string
			for _, uid := range w.UIDs(o.(T)) {
				out = append(out, string(uid))
			}
			return out
		}
		if err := indexer.IndexField(ctx, prototype, rememberedIndex(i), uids); err != nil {
			return fmt.Errorf("indexing %s by the recorded UIDs of %T: %w", r.Name, w.Of, err)
		}
	}
	return nil
}

// watchMore adds the watches of Config.Watches.
func (r *runner[T]) watchMore(mgr ctrl.Manager, prototype T, b *builder.Builder) (*builder.Builder, error) {
	newList, err := ListOf(mgr.GetScheme(), prototype)
	if err != nil {
		return nil, err
	}
	for i, w := range r.Watches {
		b = b.Watches(w.Of, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, changed client.Object) []reconcile.Request {
			return r.indexed(ctx, newList(), rememberedIndex(i), string(changed.GetUID()), func(obj T) bool { return w.Concerns(obj, changed) })
		}))
	}
	return b, nil
}
