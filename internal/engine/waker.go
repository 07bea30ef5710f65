// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Waker has objects looked at that no watch wakes up: when something outside the cluster, that a kind
// asked without holding up a run, has answered.
type Waker struct{ events chan event.GenericEvent }

// NewWaker makes a Waker for Config.Waker.
func NewWaker() *Waker { return &Waker{make(chan event.GenericEvent)} }

// Wake has an object looked at. It waits until the controller has taken note, or ctx ends.
func (w *Waker) Wake(ctx context.Context, key client.ObjectKey) {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	select {
	case w.events <- event.GenericEvent{Object: o}:
	case <-ctx.Done():
	}
}

// listen adds the Waker, if there is one, to what the controller watches.
func (w *Waker) listen(b *builder.Builder) *builder.Builder {
	if w == nil {
		return b
	}
	return b.WatchesRawSource(source.Channel(w.events, &handler.EnqueueRequestForObject{}))
}
