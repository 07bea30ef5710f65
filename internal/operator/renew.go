// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

const (
	// renewAbove is the size of an object, in bytes, above which its watch is renewed, and renewAfter how long
	// nothing has happened by then.
	renewAbove = 128 << 10
	renewAfter = 2 * time.Second
)

// newInformer returns an informer that frees the buffers of large objects. A watch keeps a buffer as large as
// the largest object that it has received, some MiB in JSON, for as long as it lasts.
func newInformer(lw toolscache.ListerWatcher, o runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	if l, ok := lw.(*toolscache.ListWatch); ok && l.WatchFuncWithContext != nil {
		begin := l.WatchFuncWithContext
		l.WatchFuncWithContext = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := begin(ctx, options)
			if err != nil {
				return nil, err
			}
			return renewed(w, options.SendInitialEvents != nil && *options.SendInitialEvents, renewAfter), nil
		}
	}
	return toolscache.NewSharedIndexInformer(lw, o, resync, indexers)
}

// renewing is a watch that ends some time after it has received a large object. The informer then begins
// another one where it ended; nothing is listed again. It does not refer to the underlying watch, which would
// live as long: the informer keeps a reference to its first watch for as long as it runs.
type renewing struct {
	events  chan watch.Event
	stopped chan struct{}
	stop    sync.Once
	// lists is true while the initial list is incomplete, and large once a large object was received.
	lists, large bool
}

// renewed returns a renewing watch. One that begins with a list does not end before the list is complete.
func renewed(w watch.Interface, lists bool, after time.Duration) watch.Interface {
	r := &renewing{lists: lists, events: make(chan watch.Event), stopped: make(chan struct{})}
	go r.run(w, after)
	return r
}

// ResultChan implements watch.Interface.
func (r *renewing) ResultChan() <-chan watch.Event { return r.events }

// Stop implements watch.Interface.
func (r *renewing) Stop() { r.stop.Do(func() { close(r.stopped) }) }

func (r *renewing) run(below watch.Interface, after time.Duration) {
	defer close(r.events)
	defer below.Stop()
	timer := time.NewTimer(after)
	defer timer.Stop()
	for {
		select {
		case <-r.stopped:
			return
		case <-timer.C:
			if r.large && !r.lists {
				return
			}
			timer.Reset(after)
		case e, ok := <-below.ResultChan():
			if !ok || !r.pass(e) {
				return
			}
			timer.Reset(after)
		}
	}
}

// pass passes an event on; it returns false when the reader has gone.
func (r *renewing) pass(e watch.Event) bool {
	r.large = r.large || !fits(e.Object, renewAbove) // before others own and change it
	r.lists = r.lists && !endsList(e)
	select {
	case r.events <- e:
		return true
	case <-r.stopped:
		return false
	}
}

// endsList reports whether an event is the one after which the initial list is complete.
func endsList(e watch.Event) bool {
	if e.Type != watch.Bookmark {
		return false
	}
	o, err := meta.Accessor(e.Object)
	return err == nil && o.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
