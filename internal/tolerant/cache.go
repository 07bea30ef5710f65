// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tolerant fills the operator's caches whatever the cluster contains: an object that cannot be decoded
// is left out and reported, and a type that cannot be listed does not block the other types
// (docs/adr/0027-no-poison.md).
package tolerant

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Options configures what is tolerated, and how it is reported.
type Options struct {
	// Ours reports which types are the operator's own: their objects are decoded one by one.
	Ours func(schema.GroupVersionKind) bool
	// Expected are the types that must be filled, even before they are requested, as when the manager starts.
	Expected []client.Object
	// Report is called for each version of an object that cannot be decoded.
	Report func(client.Object, error)
	// Patience is how long types wait for each other at the start. Other types are filled later.
	Patience time.Duration
	// ReportAfter is how long a type may take to fill before that is reported, and the time between two
	// reports.
	ReportAfter time.Duration
}

// Cache is a cache whose types fill independently of each other.
type Cache struct {
	cache.Cache
	patience, reportAfter time.Duration
	report                func(client.Object, error)
	ours                  func(schema.GroupVersionKind) bool
	scheme                *runtime.Scheme
	mapper                meta.RESTMapper
	dynamic               dynamic.Interface
	expected              []string
	makeInformer          func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

	overdue   atomic.Bool
	mu        sync.Mutex
	impatient <-chan struct{} // closed when types no longer wait for each other
	informers map[held]*informer
}

// held is a type and the form in which its objects are held: whole, or their metadata alone. Each form has an
// informer of its own.
type held struct {
	name string
	form reflect.Type
}

// informer is the state of filling a type's cache.
type informer struct {
	toolscache.SharedIndexInformer
	last error
}

// NewCache returns the constructor of the manager's cache, and calls made with the result.
func NewCache(t Options, made func(*Cache)) cache.NewCacheFunc {
	return func(config *rest.Config, opts cache.Options) (cache.Cache, error) {
		d, err := dynamic.NewForConfigAndClient(config, opts.HTTPClient)
		if err != nil {
			return nil, err
		}
		opts.Mapper = mapper{opts.Mapper, t.Ours}
		c := &Cache{
			patience: t.Patience, reportAfter: t.ReportAfter, report: t.Report, ours: t.Ours,
			scheme: opts.Scheme, mapper: opts.Mapper, dynamic: d, informers: map[held]*informer{},
		}
		if err := c.refuseSelectors(opts); err != nil {
			return nil, err
		}
		for _, o := range t.Expected {
			gvk, err := apiutil.GVKForObject(o, c.scheme)
			if err != nil {
				return nil, err
			}
			c.expected = append(c.expected, gvk.GroupKind().String())
		}
		c.makeInformer = toolscache.NewSharedIndexInformer
		if opts.NewInformer != nil {
			c.makeInformer = opts.NewInformer
		}
		opts.NewInformer = c.newInformer
		if c.Cache, err = cache.New(config, opts); err != nil {
			return nil, err
		}
		made(c)
		return c, nil
	}
}

// refuseSelectors rejects selectors for the operator's own types, which their sources do not support.
func (c *Cache) refuseSelectors(opts cache.Options) error {
	for o, by := range opts.ByObject {
		gvk, err := apiutil.GVKForObject(o, c.scheme)
		if err != nil {
			return err
		}
		if c.ours(gvk) && (by.Label != nil || by.Field != nil || by.Namespaces != nil) {
			return fmt.Errorf("%s: objects of a type of the operator's own cannot be selected for the cache", gvk.GroupKind())
		}
	}
	return nil
}

// newInformer creates the informer of a type.
func (c *Cache) newInformer(lw toolscache.ListerWatcher, o runtime.Object, resync time.Duration,
	indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	gvk, err := apiutil.GVKForObject(o, c.scheme)
	if example, ok := o.(client.Object); ok && err == nil && c.ours(gvk) {
		var s *source
		if s, err = c.newSource(example); err == nil {
			lw = s.listerWatcher()
		}
	}
	if err != nil { // the informer would have failed to be created before
		ctrl.Log.Error(err, "Cannot decode the objects of a type one by one", "type", gvk.GroupKind())
	}
	i := &informer{SharedIndexInformer: c.makeInformer(lw, o, resync, indexers)}
	_ = i.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *toolscache.Reflector, err error) {
		c.mu.Lock()
		i.last = err
		c.mu.Unlock()
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
	}) // fails for an informer that is running
	c.mu.Lock()
	defer c.mu.Unlock()
	c.informers[held{gvk.GroupKind().String(), reflect.TypeOf(o)}] = i
	return i
}

// Unfilled returns the types whose caches are not filled yet, each with the last error: of those expected and
// those requested.
func (c *Cache) Unfilled() map[string]error {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]error{}
	for _, name := range c.expected {
		out[name] = nil
	}
	for of := range c.informers {
		delete(out, of.name)
	}
	for of, i := range c.informers {
		if !i.HasSynced() && out[of.name] == nil {
			out[of.name] = i.last
		}
	}
	return out
}

// Overdue reports whether the time that the types may take to fill is over.
func (c *Cache) Overdue() bool { return c.overdue.Load() }

// WaitForCacheSync waits until every type is filled, or for as long as types wait for each other. Readers of a
// type, and controllers with its events, wait for that type themselves.
func (c *Cache) WaitForCacheSync(ctx context.Context) bool {
	c.mu.Lock()
	if c.impatient == nil {
		impatient := make(chan struct{})
		time.AfterFunc(c.patience, func() { close(impatient) })
		c.impatient = impatient
	}
	impatient := c.impatient
	c.mu.Unlock()
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-impatient:
			cancel()
		case <-bounded.Done():
		}
	}()
	return c.Cache.WaitForCacheSync(bounded) || ctx.Err() == nil
}

// Start implements manager.Runnable.
func (c *Cache) Start(ctx context.Context) error {
	go c.watchOver(ctx)
	return c.Cache.Start(ctx)
}

// watchOver shows which types are filled, and repeatedly reports which are not.
func (c *Cache) watchOver(ctx context.Context) {
	look, say := time.NewTicker(time.Second), time.NewTicker(c.reportAfter)
	defer look.Stop()
	defer say.Stop()
	for {
		unfilled := c.show()
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		case <-say.C:
			c.overdue.Store(true)
			for _, name := range slices.Sorted(maps.Keys(unfilled)) {
				ctrl.Log.Error(unfilled[name], "The cache of a type cannot be filled, so its objects are not reconciled. "+
					"Other types are. This is retried; check that kubectl get lists the type, "+
					"and that the operator's ClusterRole allows list and watch of it.", "type", name)
			}
		}
	}
}

// show sets the metric, and returns what is not filled.
func (c *Cache) show() map[string]error {
	unfilled := c.Unfilled()
	c.mu.Lock()
	defer c.mu.Unlock()
	for of := range c.informers {
		value := 1.0
		if _, missing := unfilled[of.name]; missing {
			value = 0
		}
		filled.WithLabelValues(strings.ToLower(of.name)).Set(value)
	}
	return unfilled
}
