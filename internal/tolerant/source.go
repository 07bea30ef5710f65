// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerant

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// source lists and watches the objects of one of the operator's kinds. It decodes them one by one, so that one
// that cannot be decoded is left out: for the informer it does not exist.
type source struct {
	gvk      schema.GroupVersionKind
	example  client.Object
	scheme   *runtime.Scheme
	resource dynamic.ResourceInterface
	leftOut  *leftOut
}

// newSource returns the source for the objects of a type.
func (c *Cache) newSource(example client.Object) (*source, error) {
	gvk, err := apiutil.GVKForObject(example, c.scheme)
	if err != nil {
		return nil, err
	}
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	return &source{
		gvk: gvk, example: example, scheme: c.scheme, resource: c.dynamic.Resource(mapping.Resource),
		leftOut: newLeftOut(gvk, c.report),
	}, nil
}

func (s *source) listerWatcher() toolscache.ListerWatcher {
	return &toolscache.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.watch}
}

func (s *source) list(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	all, err := s.resource.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	if opts.Continue == "" {
		s.leftOut.forgetAll()
	}
	var items []runtime.Object
	for i := range all.Items {
		if o := s.decode(&all.Items[i]); o != nil {
			items = append(items, o)
		}
		all.Items[i].Object = nil // release what is decoded
	}
	list, err := s.scheme.New(s.gvk.GroupVersion().WithKind(s.gvk.Kind + "List"))
	if err != nil {
		return nil, err
	}
	if err := meta.SetList(list, items); err != nil {
		return nil, fmt.Errorf("listing %s: %w", s.gvk.GroupKind(), err)
	}
	accessor := list.(metav1.ListInterface)
	accessor.SetResourceVersion(all.GetResourceVersion())
	accessor.SetContinue(all.GetContinue())
	accessor.SetRemainingItemCount(all.GetRemainingItemCount())
	return list, nil
}

func (s *source) watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch, opts.AllowWatchBookmarks = true, true
	w, err := s.resource.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		s.leftOut.forgetAll()
	}
	return passing(w, s.event), nil
}

// passed are the events of a watch as the informer receives them.
type passed struct {
	below   watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	stop    sync.Once
}

// passing passes the events of a watch on until it is stopped. watch.Filter would then block forever on its
// last event, and keep the buffers of the watch, some MiB, for as long.
func passing(below watch.Interface, convert func(watch.Event) watch.Event) watch.Interface {
	p := &passed{below: below, events: make(chan watch.Event), stopped: make(chan struct{})}
	go p.run(convert)
	return p
}

// ResultChan implements watch.Interface.
func (p *passed) ResultChan() <-chan watch.Event { return p.events }

// Stop implements watch.Interface.
func (p *passed) Stop() {
	p.stop.Do(func() {
		close(p.stopped)
		p.below.Stop()
	})
}

func (p *passed) run(convert func(watch.Event) watch.Event) {
	defer close(p.events)
	for e := range p.below.ResultChan() {
		select {
		case p.events <- convert(e):
		case <-p.stopped:
			return
		}
	}
}

// event converts an event for the informer. An object that can no longer be decoded is deleted for the
// informer; of one that it does not know, it receives only the version.
func (s *source) event(e watch.Event) watch.Event {
	u, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return e // an error
	}
	wasLeftOut := s.leftOut.has(u)
	switch e.Type {
	case watch.Added, watch.Modified:
		if o := s.decode(u); o != nil {
			return watch.Event{Type: e.Type, Object: o}
		}
		if e.Type == watch.Modified && !wasLeftOut {
			return watch.Event{Type: watch.Deleted, Object: s.shell(u)}
		}
	case watch.Deleted:
		if !wasLeftOut {
			o := s.empty()
			if Decode(u.Object, o) != nil {
				o = s.shell(u)
			}
			return watch.Event{Type: watch.Deleted, Object: o}
		}
		s.leftOut.forget(u)
	case watch.Bookmark:
		o := s.shell(u)
		o.SetAnnotations(u.GetAnnotations()) // the API server's: they mark the end of a list
		return watch.Event{Type: watch.Bookmark, Object: o}
	default:
		return e
	}
	return watch.Event{Type: watch.Bookmark, Object: s.shell(u)}
}

// decode returns an object in its type, or nil if it cannot be decoded.
func (s *source) decode(u *unstructured.Unstructured) client.Object {
	o := s.empty()
	if err := Decode(u.Object, o); err != nil {
		s.leftOut.add(u, err)
		return nil
	}
	s.leftOut.forget(u)
	return o
}

// shell returns an object with nothing but its identity.
func (s *source) shell(u *unstructured.Unstructured) client.Object {
	o := s.empty()
	o.SetNamespace(u.GetNamespace())
	o.SetName(u.GetName())
	o.SetUID(u.GetUID())
	o.SetResourceVersion(u.GetResourceVersion())
	return o
}

func (s *source) empty() client.Object {
	return reflect.New(reflect.TypeOf(s.example).Elem()).Interface().(client.Object)
}
