// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source reads what the views are made of, by informers, and publishes a snapshot after each burst of changes. It writes
// nothing.
package source

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/acme/platform-operator/internal/views/access"
	"github.com/acme/platform-operator/internal/views/rows"
)

const (
	// burst is how long changes are collected before a snapshot.
	burst = 50 * time.Millisecond
	// usageInterval is the least time between two snapshots because of ResourceQuotas: they change with every pod.
	usageInterval = time.Second
	// silenceLimit is how long a source may send neither an event nor a bookmark, which comes each minute, until nothing that was read
	// from it counts as current.
	silenceLimit = 150 * time.Second
)

// Source reads the cluster.
type Source struct {
	clock    clock.WithTicker
	informer informers

	current atomic.Pointer[Snapshot] // nil until all has been read
	// seen is the largest number of a change.
	seen atomic.Uint64

	mu    sync.Mutex
	dirty map[string]bool // namespaces to recompute
	usage map[string]bool // namespaces of which only the quotas changed
	// clusterDirty is true if ClusterRoleBindings, or roles that they bind, changed.
	clusterDirty bool
	lastUsage    time.Time
	wake         chan struct{}
}

// New makes a source. Nothing is read until Run.
func New(cfg *rest.Config, c clock.WithTicker) (*Source, error) {
	s := &Source{clock: c, dirty: map[string]bool{}, usage: map[string]bool{}, wake: make(chan struct{}, 1)}
	var err error
	if s.informer, err = newInformers(cfg, c); err != nil {
		return nil, err
	}
	return s, s.handle()
}

// Now is the newest snapshot, or nil as long as not all has been read.
func (s *Source) Now() *Snapshot { return s.current.Load() }

// Check fails as long as not all has been read, and once a source is silent for too long.
func (s *Source) Check() error {
	if s.Now() == nil {
		return fmt.Errorf("the cluster has not been read yet; wait, or see the log for what cannot be read")
	}
	for _, i := range s.informer.hard() {
		if silence := s.clock.Since(i.heard()); silence > silenceLimit {
			return fmt.Errorf("the API server has sent nothing about %s for %s; check the connection to it", i.resource, silence.Round(time.Second))
		}
	}
	return nil
}

// Run reads until the context ends.
func (s *Source) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, i := range s.informer.all() {
		running.Go(func() { i.RunWithContext(ctx) })
	}
	if !cache.WaitForCacheSync(ctx.Done(), s.informer.synced()...) {
		return
	}
	s.mu.Lock()
	s.clusterDirty = true
	s.mu.Unlock()
	s.publish()
	s.follow(ctx)
}

// follow publishes a snapshot after each burst of changes.
func (s *Source) follow(ctx context.Context) {
	for s.await(ctx) {
		s.publish()
	}
}

// await waits for the end of a burst of changes.
func (s *Source) await(ctx context.Context) bool {
	var later <-chan time.Time
	if d, waiting := s.usageDue(); waiting {
		timer := s.clock.NewTimer(d)
		defer timer.Stop()
		later = timer.C()
	}
	select {
	case <-ctx.Done():
		return false
	case <-later:
		return true
	case <-s.wake:
	}
	timer := s.clock.NewTimer(burst)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// usageDue is when quotas that changed may be published.
func (s *Source) usageDue() (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return usageInterval - s.clock.Since(s.lastUsage), len(s.usage) > 0
}

// take gives what is to be recomputed, and whether quotas changed that are not yet to be read.
func (s *Source) take() (names []string, cluster, usageLeft bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.usage) > 0 && s.clock.Since(s.lastUsage) >= usageInterval {
		maps.Copy(s.dirty, s.usage)
		s.usage, s.lastUsage = map[string]bool{}, s.clock.Now()
	}
	names, cluster = slices.Collect(maps.Keys(s.dirty)), s.clusterDirty
	s.dirty, s.clusterDirty = map[string]bool{}, false
	return names, cluster, len(s.usage) > 0
}

// publish makes the next snapshot, or the first one. Only one goroutine calls it. Nobody gets the empty one that the first is made of:
// every client would see all of its rows deleted.
func (s *Source) publish() {
	horizon := s.seen.Load() // before reading: what is read is at least as new
	names, cluster, usageLeft := s.take()
	before := s.Now()
	first := before == nil
	if first {
		before = NewSnapshot()
	}
	if usageLeft { // what was seen is not all in the snapshot
		horizon = before.Horizon
	}
	now := make(map[string]*rows.Namespace, len(names))
	for _, name := range names {
		now[name] = s.informer.namespace(name)
	}
	everywhere := before.cluster
	if cluster {
		everywhere = access.ClusterOf(s.informer.clusterBindings())
	}
	next := before.Next(horizon, now, everywhere)
	switch {
	case first:
		s.current.Store(next)
	case next != before:
		s.current.Store(next)
		before.Supersede()
	}
}

// mark has namespaces recomputed.
func (s *Source) mark(names ...string) {
	s.mu.Lock()
	for _, name := range names {
		s.dirty[name] = true
	}
	s.mu.Unlock()
	s.poke()
}

// markUsage has the quotas of a namespace read again, soon.
func (s *Source) markUsage(name string) {
	s.mu.Lock()
	s.usage[name] = true
	s.mu.Unlock()
	s.poke()
}

// markCluster has ClusterRoleBindings read again.
func (s *Source) markCluster() {
	s.mu.Lock()
	s.clusterDirty = true
	s.mu.Unlock()
	s.poke()
}

func (s *Source) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// see records the number of a change. Objects come with those of their last change, also when they are deleted.
func (s *Source) see(o metav1.Object) {
	n := number(o)
	for {
		seen := s.seen.Load()
		if n <= seen || s.seen.CompareAndSwap(seen, n) {
			return
		}
	}
}

// number is an object's resourceVersion. The API server's are numbers.
func number(o metav1.Object) uint64 {
	n, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
