// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// handOvers are the changes of leaders, as watches of this process show them.
type handOvers struct {
	mu sync.Mutex
	// leaders are the pods that have the label, and routed those that the Services lead to, by application.
	leaders map[string]*corev1.Pod
	routed  map[string]types.UID
	// of those that were asked for: the leader before, when it was sent, and how long it took.
	before             map[string]types.UID
	sent               map[string]time.Time
	labelled, endpoint map[string]time.Duration
}

// watchHandOvers watches pods and EndpointSlices until the context ends.
func (b *bench) watchHandOvers(ctx context.Context) (*handOvers, error) {
	h := &handOvers{leaders: map[string]*corev1.Pod{}, routed: map[string]types.UID{}}
	h.forget()
	for _, list := range []client.ObjectList{&corev1.PodList{}, &discoveryv1.EndpointSliceList{}} {
		if err := b.admin.List(ctx, list, client.Limit(1)); err != nil {
			return nil, fmt.Errorf("listing what is to be watched: %w", err)
		}
		resume := watchFrom(func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return b.admin.Watch(ctx, list, &client.ListOptions{Raw: &o})
		})
		events, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), resume)
		if err != nil {
			return nil, fmt.Errorf("watching the hand-overs: %w", err)
		}
		go func() {
			for event := range events.ResultChan() {
				if event.Type != watch.Deleted {
					h.see(event.Object)
				}
			}
		}()
	}
	return h, nil
}

func (h *handOvers) see(o runtime.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch o := o.(type) {
	case *corev1.Pod:
		if app := o.Labels["app"]; o.Labels["leader"] == "true" && o.DeletionTimestamp == nil {
			h.leaders[app] = o
			h.note(h.labelled, app, o.UID)
		}
	case *discoveryv1.EndpointSlice:
		app, is := strings.CutSuffix(o.Labels[discoveryv1.LabelServiceName], "-leader")
		for _, e := range o.Endpoints {
			if is && e.TargetRef != nil && e.Conditions.Ready != nil && *e.Conditions.Ready {
				h.routed[app] = e.TargetRef.UID
				h.note(h.endpoint, app, e.TargetRef.UID)
			}
		}
	}
}

// note takes down that there is another leader.
func (h *handOvers) note(in map[string]time.Duration, app string, leader types.UID) {
	sent, asked := h.sent[app]
	if _, known := in[app]; asked && !known && leader != h.before[app] {
		in[app] = time.Since(sent)
	}
}

// settled reports whether so many applications have a leader to which their Service leads.
func (h *handOvers) settled(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	same := 0
	for app, p := range h.leaders {
		if h.routed[app] == p.UID {
			same++
		}
	}
	return same == n
}

func (h *handOvers) forget() {
	h.before, h.sent = map[string]types.UID{}, map[string]time.Time{}
	h.labelled, h.endpoint = map[string]time.Duration{}, map[string]time.Duration{}
}

// all has every leader replaced at once, and gives how long that took up to the label and up to the endpoint.
func (h *handOvers) all(ctx context.Context, b *bench, act func(context.Context, *corev1.Pod) error) (labelled, endpoint percentiles, err error) {
	h.mu.Lock()
	h.forget()
	leaders := maps.Clone(h.leaders)
	h.mu.Unlock()
	err = each(ctx, b.workers, slices.Sorted(maps.Keys(leaders)), func(ctx context.Context, app string) error {
		h.mu.Lock()
		h.before[app], h.sent[app] = leaders[app].UID, time.Now()
		h.mu.Unlock()
		return act(ctx, leaders[app])
	})
	if err != nil {
		return labelled, endpoint, fmt.Errorf("replacing the leaders: %w", err)
	}
	err = poll(ctx, "all have other leaders", 20*time.Millisecond, func(context.Context) (bool, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.labelled) == len(leaders) && len(h.endpoint) == len(leaders), nil
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	return percentilesOf(slices.Sorted(maps.Values(h.labelled))), percentilesOf(slices.Sorted(maps.Values(h.endpoint))), err
}
