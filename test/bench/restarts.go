// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/workload"
)

// restartTimes are those from a change to the new pod template.
type restartTimes struct {
	// Steady is with five changes a second, Burst with all at once.
	Steady percentiles `json:"steadySeconds"`
	Burst  percentiles `json:"burstSeconds"`
	// LastSeconds is from the first change of the burst to the last new pod template.
	LastSeconds float64 `json:"burstLastSeconds"`
	// BurstLoad is the load of the machine from the first change until all new pods were available.
	BurstLoad load `json:"burstLoad"`
	// CPUMillis is the controller's own processor time for each restart of the burst; 0 for the raw client.
	CPUMillis float64 `json:"cpuMillisPerRestart,omitempty"`
}

// restarts takes the time of each change, from just before it is sent until a watch shows the new pod
// template of the Deployment of the same name.
type restarts struct {
	mu        sync.Mutex
	templates map[string]string
	sent      map[string]time.Time
	took      map[string]time.Duration
	rolling   map[string]bool // Deployments of which a pod is not new or not available yet
	first     time.Time
	last      time.Time
}

// watchRestarts watches the Deployments until the context ends.
func (b *bench) watchRestarts(ctx context.Context) (*restarts, error) {
	list := &appsv1.DeploymentList{}
	if err := b.admin.List(ctx, list, client.InNamespace(watchedNamespace)); err != nil {
		return nil, fmt.Errorf("listing the Deployments: %w", err)
	}
	r := &restarts{
		templates: map[string]string{}, sent: map[string]time.Time{}, took: map[string]time.Duration{}, rolling: map[string]bool{},
	}
	for i := range list.Items {
		r.see(&list.Items[i])
	}
	resume := watchFrom(func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return b.admin.Watch(ctx, list, client.InNamespace(watchedNamespace), &client.ListOptions{Raw: &o})
	})
	events, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), resume)
	if err != nil {
		return nil, fmt.Errorf("watching the Deployments: %w", err)
	}
	go func() {
		for event := range events.ResultChan() {
			if d, ok := event.Object.(*appsv1.Deployment); ok {
				r.see(d)
			}
		}
	}()
	return r, nil
}

func (r *restarts) see(d *appsv1.Deployment) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	template := workload.Fingerprint(&d.Spec.Template)
	if sent, changed := r.sent[d.Name]; changed && template != r.templates[d.Name] {
		if _, restarted := r.took[d.Name]; !restarted {
			r.took[d.Name], r.last = now.Sub(sent), now
		}
	}
	r.templates[d.Name] = template
	if rolled(d) {
		delete(r.rolling, d.Name)
	} else {
		r.rolling[d.Name] = true
	}
}

// rolled reports whether all pods of a Deployment are new and available.
func rolled(d *appsv1.Deployment) bool {
	want, s := *d.Spec.Replicas, d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == want && s.Replicas == want && s.AvailableReplicas == want
}

// change notes the time, and then changes what belongs to a Deployment.
func (r *restarts) change(ctx context.Context, name string, act func(context.Context, string) error) error {
	r.mu.Lock()
	now := time.Now()
	r.sent[name] = now
	if r.first.IsZero() {
		r.first = now
	}
	r.mu.Unlock()
	return act(ctx, name)
}

// await waits until all changes have led to a restart, and gives their times.
func (r *restarts) await(ctx context.Context, n int) ([]time.Duration, error) {
	err := poll(ctx, fmt.Sprintf("%d Deployments have restarted", n), 50*time.Millisecond, func(context.Context) (bool, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.took) == n, nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Values(r.took)), err
}

// awaitRolled waits until all pods are new and available.
func (r *restarts) awaitRolled(ctx context.Context) error {
	return poll(ctx, "all pods are new and available", 50*time.Millisecond, func(context.Context) (bool, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.rolling) == 0, nil
	})
}

// steady changes five a second, of the first of a list.
func (b *bench) steady(ctx context.Context, list []string, act func(context.Context, string) error) (percentiles, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := b.watchRestarts(ctx)
	if err != nil {
		return percentiles{}, err
	}
	list = list[:min(len(list), int(steadyFor.Seconds()*steadyRate))]
	tick := time.NewTicker(time.Second / steadyRate)
	defer tick.Stop()
	for _, name := range list {
		<-tick.C
		if err := r.change(ctx, name, act); err != nil {
			return percentiles{}, err
		}
	}
	times, err := r.await(ctx, len(list))
	return percentilesOf(times), errors.Join(err, r.awaitRolled(ctx))
}

// burst changes all at once.
func (b *bench) burst(ctx context.Context, watchers int, act func(context.Context, string) error) (t restartTimes, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := b.watchRestarts(ctx)
	if err != nil {
		return t, err
	}
	list := nameList("app", watchers)
	if err := each(ctx, b.workers, list, func(ctx context.Context, name string) error { return r.change(ctx, name, act) }); err != nil {
		return t, err
	}
	times, err := r.await(ctx, len(list))
	t.Burst, t.LastSeconds = percentilesOf(times), r.last.Sub(r.first).Seconds()
	return t, errors.Join(err, r.awaitRolled(ctx))
}

// contender makes restarts: the raw client, the operator or a rival.
type contender struct {
	who string
	// act changes what belongs to a Deployment. The raw client restarts it as well.
	act func(context.Context, string) error
	// pids are the processes of the contender, whose processor time counts as its own.
	pids func() ([]string, error)
	// settle waits until the contender is idle.
	settle func() error
}

// times takes the times of both, and the processor time of the burst.
func (b *bench) times(ctx context.Context, watchers int, c contender) (t restartTimes, err error) {
	b.say("  %s: %d changes a second\n", c.who, steadyRate)
	steady, err := b.steady(ctx, nameList("app", watchers), c.act)
	if err != nil {
		return t, err
	}
	if err := c.settle(); err != nil {
		return t, err
	}
	before, err := b.usageWith(c.pids)
	if err != nil {
		return t, err
	}
	b.say("  %s: all at once\n", c.who)
	if t, err = b.burst(ctx, watchers, c.act); err != nil {
		return t, err
	}
	after, err := b.usageWith(c.pids)
	t.Steady, t.BurstLoad = steady, after.since(before)
	t.CPUMillis = 1000 * (after.own - before.own) / float64(watchers)
	return t, err
}

// limit sends the two writes of each restart after the change, and nothing else, while no operator runs.
func (b *bench) limit(ctx context.Context, res *watcherResult) (err error) {
	act := func(ctx context.Context, name string) error {
		if err := b.touch(ctx, name); err != nil {
			return err
		}
		meta := metav1.ObjectMeta{Namespace: watchedNamespace, Name: name}
		template := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"bench.acme.com/raw":"%d"}}}}}`, time.Now().UnixNano())
		if err := b.admin.Patch(ctx, &appsv1.Deployment{ObjectMeta: meta}, client.RawPatch(client.Merge.Type(), template)); err != nil {
			return fmt.Errorf("restarting %s: %w", name, err)
		}
		// Another number each time, and one that a restart may have.
		status := fmt.Appendf(nil, `{"status":{"number":%d}}`, time.Now().UnixMilli()%(1<<32))
		w := &autorebootv1alpha1.ConfigWatcher{ObjectMeta: meta}
		if err := b.admin.SubResource("status").Patch(ctx, w, client.RawPatch(client.Merge.Type(), status)); err != nil {
			return fmt.Errorf("recording %s: %w", name, err)
		}
		return nil
	}
	nothing := func() error { return nil }
	res.Raw, err = b.times(ctx, res.Watchers, contender{who: "raw client", act: act, settle: nothing})
	return err
}

// restart measures the operator.
func (b *bench) restart(ctx context.Context, p *process, res *watcherResult) (err error) {
	var before counters
	settle := func() (err error) {
		before, err = p.looked(ctx)
		return err
	}
	if res.Operator, err = b.times(ctx, res.Watchers, contender{who: "operator", act: b.touch, pids: p.pids, settle: settle}); err != nil {
		return err
	}
	after, err := p.looked(ctx)
	res.PerRestart = after.since(before, res.Watchers)
	return err
}

// debounced counts the requests of restarts with a debounce.
func (b *bench) debounced(ctx context.Context, p *process, res *watcherResult) error {
	err := each(ctx, b.workers, nameList("app", res.Watchers), func(ctx context.Context, name string) error {
		w := &autorebootv1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{Namespace: watchedNamespace, Name: name}}
		return b.admin.Patch(ctx, w, client.RawPatch(client.Merge.Type(), []byte(`{"spec":{"restart":{"debounce":"1s"}}}`)))
	})
	if err != nil {
		return fmt.Errorf("setting a debounce: %w", err)
	}
	_, before, err := p.awaitIdle(ctx, 0)
	if err != nil {
		return err
	}
	b.say("  operator: all at once, with a debounce\n")
	if _, err := b.burst(ctx, res.Watchers, b.touch); err != nil {
		return err
	}
	after, err := p.looked(ctx)
	res.PerDebounced = after.since(before, res.Watchers)
	return err
}
