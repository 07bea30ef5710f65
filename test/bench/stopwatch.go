// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/acme/platform-operator/internal/engine"
)

// stopwatch takes the time of each object from when its creation was sent until a watch showed it
// Ready. Both are read from the monotonic clock of this process.
type stopwatch struct {
	mu    sync.Mutex // guards sent
	sent  map[string]time.Time
	ready map[string]time.Time
	last  map[string]string // what objects that are not Ready say

	condition string // what is waited for instead of Ready
}

func newStopwatch() *stopwatch {
	return &stopwatch{condition: engine.Ready, sent: map[string]time.Time{}, ready: map[string]time.Time{}, last: map[string]string{}}
}

// runLabel is on the objects of one run, so that a watch sees no others.
const runLabel = "bench-run"

// create creates objects of the given names and waits until a watch has shown each of them Ready.
func (b *bench) create(ctx context.Context, list []string) (*stopwatch, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	events, err := b.watch(ctx, list[0])
	if err != nil {
		return nil, err
	}
	defer events.Stop()
	s := newStopwatch()
	s.condition = cmp.Or(b.condition, s.condition)
	failed := make(chan error, 1)
	go func() {
		err := each(ctx, b.workers, list, func(ctx context.Context, name string) error { return s.createOne(ctx, b, name, list[0]) })
		if err != nil {
			failed <- err
		}
	}()
	for len(s.ready) < len(list) {
		select {
		case event, open := <-events.ResultChan():
			if !open {
				return nil, fmt.Errorf("the watch ended: %w", s.missing(list))
			}
			s.see(event)
		case err := <-failed:
			return nil, err
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for objects to be Ready: %w: %w", ctx.Err(), s.missing(list))
		}
	}
	return s, nil
}

// watch watches the objects of a run. The API server ends the watch of a client that is slow to read, as
// may happen on a busy machine; this one continues where it was.
func (b *bench) watch(ctx context.Context, run string) (watch.Interface, error) {
	gvk, err := apiutil.GVKForObject(b.object(sampleName), b.admin.Scheme())
	if err != nil {
		return nil, err
	}
	empty, err := b.admin.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return nil, err
	}
	list, labels := empty.(client.ObjectList), client.MatchingLabels{runLabel: run}
	if err := b.admin.List(ctx, list, labels); err != nil {
		return nil, fmt.Errorf("listing the objects: %w", err)
	}
	resume := watchFrom(func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return b.admin.Watch(ctx, list, labels, &client.ListOptions{Raw: &o})
	})
	events, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), resume)
	if err != nil {
		return nil, fmt.Errorf("watching the objects: %w", err)
	}
	return events, nil
}

// watchFrom is a cache.WatcherWithContext.
type watchFrom func(context.Context, metav1.ListOptions) (watch.Interface, error)

// WatchWithContext implements cache.WatcherWithContext.
func (w watchFrom) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return w(ctx, o)
}

func (s *stopwatch) createOne(ctx context.Context, b *bench, name, run string) error {
	obj := b.object(name)
	obj.SetLabels(map[string]string{runLabel: run})
	s.mu.Lock()
	s.sent[name] = time.Now()
	s.mu.Unlock()
	if err := b.admin.Create(ctx, obj); err != nil {
		return fmt.Errorf("creating %s: %w", name, err)
	}
	return nil
}

// see notes the first time that an object is Ready.
func (s *stopwatch) see(event watch.Event) {
	obj, ok := event.Object.(engine.Object)
	if !ok {
		return
	}
	ready := meta.FindStatusCondition(obj.CommonStatus().Conditions, s.condition)
	switch _, seen := s.ready[obj.GetName()]; {
	case seen:
	case ready == nil:
		s.last[obj.GetName()] = "no condition " + s.condition
	case ready.Status == "True":
		s.ready[obj.GetName()] = time.Now()
	default:
		s.last[obj.GetName()] = ready.Reason + ": " + ready.Message
	}
}

// missing says how many objects are not Ready, and what the first of them says.
func (s *stopwatch) missing(list []string) error {
	var waiting []string
	for _, name := range list {
		if _, ok := s.ready[name]; !ok {
			waiting = append(waiting, name)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d are not Ready; %s says %q", len(waiting), len(list), waiting[0], s.last[waiting[0]])
}

// times are the objects' times, the shortest first.
func (s *stopwatch) times() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []time.Duration
	for name, ready := range s.ready {
		all = append(all, ready.Sub(s.sent[name]))
	}
	slices.Sort(all)
	return all
}

// total is the time from the first creation until the last object was Ready.
func (s *stopwatch) total() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first, last time.Time
	for name, ready := range s.ready {
		if sent := s.sent[name]; first.IsZero() || sent.Before(first) {
			first = sent
		}
		if ready.After(last) {
			last = ready
		}
	}
	return last.Sub(first)
}

// percentile is the smallest of the sorted times that at least p percent of them do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// percentilesOf are those of sorted times.
func percentilesOf(sorted []time.Duration) percentiles {
	return percentiles{P50: percentile(sorted, 50).Seconds(), P99: percentile(sorted, 99).Seconds()}
}
