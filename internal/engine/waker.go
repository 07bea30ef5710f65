// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Waker requeues objects that no watch requeues: when a call outside the cluster, which a kind made in the
// background, was answered.
type Waker struct{ events chan event.GenericEvent }

// NewWaker returns a Waker for Config.Waker.
func NewWaker() *Waker { return &Waker{make(chan event.GenericEvent)} }

// Wake requeues an object. It waits until the controller has received it, or ctx ends.
func (w *Waker) Wake(ctx context.Context, key client.ObjectKey) {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	select {
	case w.events <- event.GenericEvent{Object: o}:
	case <-ctx.Done():
	}
}

// WakeAll requeues all objects of a list, which it fills from a cache.
func (w *Waker) WakeAll(ctx context.Context, cached client.Reader, list client.ObjectList) {
	if err := cached.List(ctx, list, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot list the objects to requeue", "list", fmt.Sprintf("%T", list))
		return
	}
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		w.Wake(ctx, client.ObjectKeyFromObject(o.(client.Object)))
		return nil
	})
}

// listen adds the Waker, if there is one, to the controller's sources.
func (w *Waker) listen(b *builder.Builder) *builder.Builder {
	if w == nil {
		return b
	}
	return b.WatchesRawSource(source.Channel(w.events, &handler.EnqueueRequestForObject{}))
}
