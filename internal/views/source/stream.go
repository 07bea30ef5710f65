// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// maxName is the length of a name, in bytes, up to which Roles and RoleBindings count. API servers admit these names at any length,
// and tenants choose them: a hundred of a megabyte take more memory than a replica has. All other names have at most 253 bytes. A name
// never changes, so an object always counts, or never does.
const maxName = 253

// counts reports whether an object counts. What does not hides rows, and never shows one: RBAC only adds.
func counts(o runtime.Object) bool {
	switch o := o.(type) {
	case *rbacv1.Role:
		return len(o.Name) <= maxName
	case *rbacv1.RoleBinding:
		return len(o.Name) <= maxName && len(o.RoleRef.Name) <= maxName
	}
	return true
}

// leaveOut removes from a list what does not count.
func leaveOut(list runtime.Object) {
	switch l := list.(type) {
	case *rbacv1.RoleList:
		l.Items = slices.DeleteFunc(l.Items, func(r rbacv1.Role) bool { return !counts(&r) })
	case *rbacv1.RoleBindingList:
		l.Items = slices.DeleteFunc(l.Items, func(b rbacv1.RoleBinding) bool { return !counts(&b) })
	}
}

// counting lists and watches what counts, and reports each sign of life of the API server.
func counting(lw *cache.ListWatch, heard func()) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := lw.ListWithContext(ctx, o)
			if err != nil {
				return nil, err
			}
			heard()
			leaveOut(list)
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := lw.WatchWithContext(ctx, o)
			if err != nil {
				return nil, err
			}
			heard() // it continues from what was read
			return newStream(w, func(e watch.Event) bool {
				if e.Type != watch.Error {
					heard()
				}
				return counts(e.Object)
			}), nil
		},
	}
}

// stream is a watch without some of its events. In contrast to watch.Filter it ends when it is stopped, also if nobody reads the last one.
type stream struct {
	from    watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	stop    func()
}

func newStream(from watch.Interface, keep func(watch.Event) bool) *stream {
	s := &stream{from: from, events: make(chan watch.Event), stopped: make(chan struct{})}
	s.stop = sync.OnceFunc(func() {
		close(s.stopped)
		from.Stop()
	})
	go s.run(keep)
	return s
}

func (s *stream) run(keep func(watch.Event) bool) {
	defer close(s.events)
	for e := range s.from.ResultChan() {
		if !keep(e) {
			continue
		}
		select {
		case s.events <- e:
		case <-s.stopped:
			return
		}
	}
}

// ResultChan has the events.
func (s *stream) ResultChan() <-chan watch.Event { return s.events }

// Stop ends the watch.
func (s *stream) Stop() { s.stop() }
