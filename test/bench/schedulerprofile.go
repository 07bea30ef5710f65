// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// schedulerProfile is the name of the benchmark of SchedulerProfiles. It measures how their schedulers place pods.
const schedulerProfile = "schedulerprofile"

var _ = join(benchmark{name: schedulerProfile, small: "--count 50 --rounds 1", run: measureSchedulers})

const (
	placedNamespace = "bench-placed"
	placingNodes    = 100
	// foreignEach is how many pods wait for a scheduler of somebody else's, for each object.
	foreignEach = 20
	// changeAfter is how many pods come before a configuration changes, and changePods how many in all, one each changeEvery.
	changeAfter, changePods = 30, 120
	changeEvery             = 100 * time.Millisecond
	// hardSlower is how much slower than the default scheduler one may be: nine tenths of its pods a second.
	hardSlower = 1 / 0.9
)

// schedulerResult is what was found about SchedulerProfiles.
type schedulerResult struct {
	Pods int `json:"pods"`
	// Default and Own are the seconds in which the default scheduler and that of a profile have placed the pods, twice in each round.
	Default []float64 `json:"secondsOfDefault"`
	Own     []float64 `json:"secondsOfProfile"`
	Ratio   float64   `json:"ratio"`
	// LongestWait is that of a pod while the configuration changed.
	LongestWait float64 `json:"longestWaitSeconds"`
	Foreign     int     `json:"foreignPods"`
	GrowthMiB   float64 `json:"growthMiB"`
	// Requests are those of the operator for each change of a configuration. Writes are those of them that write, but no event.
	Requests float64 `json:"requestsPerChange"`
	Writes   float64 `json:"writesPerChange"`
	Aims     []aim   `json:"aims"`
}

// measureSchedulers measures the scheduler of a SchedulerProfile on a cluster of its own.
func measureSchedulers(ctx context.Context, l *lab) (_ outcome, err error) {
	defer func() { err = errors.Join(err, l.cleanUp(context.WithoutCancel(ctx))) }()
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	b := &bench{lab: l, subject: subject{name: schedulerProfile}}
	if b.cluster, err = b.up(ctx, (placingNodes-1)*podsPerNode); err != nil {
		return nil, err
	}
	for _, name := range []string{placedNamespace, ownNamespace} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := client.IgnoreAlreadyExists(b.admin.Create(ctx, ns)); err != nil {
			return nil, fmt.Errorf("creating a Namespace: %w", err)
		}
	}
	if err := b.settled(ctx); err != nil {
		return nil, err
	}
	res := &schedulerResult{Pods: 2 * l.count, Foreign: foreignEach * l.count}
	l.say("%s: %d rounds of %d pods on %d nodes\n", schedulerProfile, l.rounds, res.Pods, placingNodes)
	if err := b.schedulers(ctx, res); err != nil {
		return nil, err
	}
	err = b.withOperator(ctx, func(p *process) error {
		if err := b.configuration(ctx, p, res); err != nil {
			return err
		}
		return b.foreign(ctx, p, res)
	})
	res.judge()
	return res, err
}

// schedulers measures how fast pods are placed, and how long they wait while the configuration changes.
func (b *bench) schedulers(ctx context.Context, res *schedulerResult) (err error) {
	active, err := b.startScheduler("first")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, active.stop()) }()
	if err := active.awaitLead(ctx); err != nil {
		return err
	}
	if err := b.placements(ctx, res); err != nil {
		return err
	}
	next, err := b.startScheduler("second")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, next.stop()) }()
	if err := next.awaitTry(ctx); err != nil {
		return err
	}
	res.LongestWait, err = b.changeScheduler(ctx, active, next)
	return err
}

// placements has pods placed by both schedulers. In each round both go twice, once after the other and once after themselves: one
// that has just placed pods is quicker. The first round warms up.
func (b *bench) placements(ctx context.Context, res *schedulerResult) error {
	times := map[string][]float64{}
	for i := range b.rounds + 1 {
		pods := res.Pods
		if i == 0 {
			pods = b.warmUp
		}
		for _, scheduler := range []string{corev1.DefaultSchedulerName, schedulerProfile, schedulerProfile, corev1.DefaultSchedulerName} {
			took, err := b.place(ctx, scheduler, pods)
			if err != nil {
				return err
			}
			times[scheduler] = append(times[scheduler], took.Seconds())
		}
	}
	res.Default, res.Own = times[corev1.DefaultSchedulerName][2:], times[schedulerProfile][2:]
	res.Ratio = median(res.Own) / median(res.Default)
	return nil
}

// place creates pods for a scheduler, and returns how long it takes until all have a node. Then they are removed.
func (b *bench) place(ctx context.Context, scheduler string, pods int) (time.Duration, error) {
	start := time.Now()
	err := each(ctx, b.workers, nameList("pod", pods), func(ctx context.Context, name string) error {
		return b.admin.Create(ctx, podFor(scheduler, name))
	})
	if err != nil {
		return 0, fmt.Errorf("creating pods: %w", err)
	}
	err = b.none(ctx, "all pods have a node", client.MatchingFields{"spec.nodeName": ""})
	took := time.Since(start)
	if err == nil {
		err = b.admin.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(placedNamespace), client.GracePeriodSeconds(0))
	}
	if err == nil {
		err = b.none(ctx, "the pods are gone")
	}
	return took, err
}

// none waits until there are no such pods.
func (b *bench) none(ctx context.Context, what string, of ...client.ListOption) error {
	return poll(ctx, what, 20*time.Millisecond, func(ctx context.Context) (bool, error) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		err := b.admin.List(ctx, list, append(of, client.InNamespace(placedNamespace), client.Limit(1))...)
		return len(list.Items) == 0, err
	})
}

func podFor(scheduler, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: placedNamespace, Name: name},
		Spec:       corev1.PodSpec{SchedulerName: scheduler, Containers: []corev1.Container{{Name: "main", Image: "example.com/app"}}},
	}
}

// foreign measures how much memory of the operator pods take that wait for a scheduler of somebody else's.
func (b *bench) foreign(ctx context.Context, p *process, res *schedulerResult) error {
	if _, _, err := p.awaitIdle(ctx, 0); err != nil {
		return err
	}
	before, err := p.memory()
	if err != nil {
		return err
	}
	err = each(ctx, b.workers, nameList("foreign", res.Foreign), func(ctx context.Context, name string) error {
		pod := podFor("foreign", name)
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
		return b.admin.Create(ctx, pod)
	})
	if err != nil {
		return fmt.Errorf("creating pods: %w", err)
	}
	if _, _, err := p.awaitIdle(ctx, 0); err != nil {
		return err
	}
	after, err := p.memory()
	res.GrowthMiB = after.Resident - before.Resident
	return err
}

// judge compares with the aims. Times, and ratios of times, are never enforced.
func (r *schedulerResult) judge() {
	r.Aims = compare(
		aim{Name: "time to place the pods, profile / default scheduler", Most: hardSlower, Got: r.Ratio},
		aim{Name: "longest wait of a pod while the configuration changes, s", Most: 5, Got: r.LongestWait},
		aim{Name: "growth of memory by pods that others are to place, MiB", Most: 5, Got: r.GrowthMiB},
		aim{Name: "writes for each change of a configuration", Most: writesOfChange, Got: r.Writes, Enforced: true},
	)
}

func (r *schedulerResult) judged() []aim { return r.Aims }

// show writes the tables.
func (r *schedulerResult) show(out io.Writer) {
	fmt.Fprintf(out, "\n%s, %d pods on %d nodes\n\n", schedulerProfile, r.Pods, placingNodes)
	table(out, 0, func(row func(string, ...any)) {
		row("  default scheduler\t%.0f pods/s", float64(r.Pods)/median(r.Default))
		row("  scheduler of a profile\t%.0f pods/s", float64(r.Pods)/median(r.Own))
		row("  longest wait while the configuration changes\t%.2f s", r.LongestWait)
		row("  growth of the operator by %d foreign pods\t%.1f MiB", r.Foreign, r.GrowthMiB)
		row("  requests for each change of a configuration\t%.1f, of which %.1f write something other than an event", r.Requests, r.Writes)
	})
	printAims(out, r.Aims)
}
