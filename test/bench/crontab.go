// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
)

// cronTabName is the benchmark of schedules: CronTabs beside Kubernetes' own CronJobs and a raw client, in one run on one
// cluster.
const cronTabName = "crontab"

var _ = join(benchmark{name: cronTabName, small: "--schedules 60", run: measureCronTabs})

// cronResult is what was found about schedules.
type cronResult struct {
	Schedules int        `json:"schedules"`
	CronTab   startStats `json:"cronTab"`
	CronJob   startStats `json:"cronJob"`
	// RawDelaySeconds are those of a client that creates as many Jobs, and does nothing else.
	RawDelaySeconds percentiles `json:"rawDelaySeconds"`
	// MostWithH is how many of as many CronTabs with "H * * * *" start in the same second.
	MostWithH int   `json:"mostStartsInASecondWithH"`
	Aims      []aim `json:"aims"`
}

// startStats is how a controller met a minute at which all schedules fire.
type startStats struct {
	// DelaySeconds are from the minute until a watch showed the Job.
	DelaySeconds percentiles `json:"delaySeconds"`
	// Requests are those on the schedules and the creations of Jobs that the API server counted, for each run, from
	// the minute until all runs had ended and all was quiet. Events are not in it, and no requests of other controllers.
	Requests float64 `json:"requestsPerRun"`
	// MemoryMiB is the resident memory of the process. kube-controller-manager has other controllers in it.
	MemoryMiB float64 `json:"memoryMiB"`
}

// measureCronTabs measures both, one after the other, so that neither disturbs the other.
func measureCronTabs(ctx context.Context, l *lab) (_ outcome, err error) {
	defer func() { err = errors.Join(err, l.cleanUp(context.WithoutCancel(ctx))) }()
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	l.say("%s: %d schedules on one minute, CronTabs and CronJobs\n", cronTabName, l.schedules)
	b := &bench{lab: l, subject: subject{name: cronTabName}}
	// There are CronTabs and CronJobs.
	if b.cluster, err = b.up(ctx, 2*l.schedules); err != nil {
		return nil, err
	}
	res := &cronResult{Schedules: l.schedules}
	err = b.withOperator(ctx, func(p *process) error {
		if res.MostWithH, err = b.spread(ctx); err != nil {
			return err
		}
		if res.CronTab, err = b.minute(ctx, "crontabs", newCronTab); err != nil {
			return err
		}
		m, err := p.memory()
		res.CronTab.MemoryMiB = m.Resident
		return err
	})
	if err != nil {
		return nil, err
	}
	if res.RawDelaySeconds, err = b.rawRuns(ctx); err != nil {
		return nil, err
	}
	if res.CronJob, err = b.minute(ctx, "cronjobs", newCronJob); err != nil {
		return nil, err
	}
	if res.CronJob.MemoryMiB, err = b.memoryOf("kube-controller-manager"); err != nil {
		return nil, err
	}
	res.judge()
	return res, nil
}

// newCronTab and newCronJob make the same schedule of the same container.
func newCronTab(namespace, name, spec string) client.Object {
	return &batchv1alpha1.CronTab{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       batchv1alpha1.CronTabSpec{CronSpec: spec, Image: "registry.acme.com/bench"},
	}
}

func newCronJob(namespace, name, spec string) client.Object {
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       batchv1.CronJobSpec{Schedule: spec, TimeZone: new("UTC"), JobTemplate: batchv1.JobTemplateSpec{Spec: newRun()}},
	}
}

func newRun() batchv1.JobSpec {
	return batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "run", Image: "registry.acme.com/bench"}},
	}}}
}

// rawRuns creates as many Jobs as a minute has, and looks how late each is: that is the limit.
func (b *bench) rawRuns(ctx context.Context) (percentiles, error) {
	const namespace = "bench-raw"
	if err := b.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return percentiles{}, fmt.Errorf("creating a Namespace: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	events, err := b.watchJobs(ctx, namespace)
	if err != nil {
		return percentiles{}, err
	}
	defer events.Stop()
	began, created := time.Now(), make(chan error, 1)
	go func() {
		err := each(ctx, b.workers, nameList("raw", b.schedules), func(ctx context.Context, name string) error {
			return b.admin.Create(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: newRun()})
		})
		if err != nil {
			cancel()
		}
		created <- err
	}()
	delays, err := b.await(ctx, events, began)
	return percentilesOf(delays), errors.Join(<-created, err)
}

// lead is how long before the minute all schedules are there at the latest, so that their creation is over.
const lead = 20 * time.Second

// minute makes schedules that fire together once, and looks how they are met.
func (b *bench) minute(ctx context.Context, resource string, object func(namespace, name, spec string) client.Object) (s startStats, err error) {
	namespace := "bench-" + resource
	if err := b.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return s, fmt.Errorf("creating a Namespace: %w", err)
	}
	began := time.Now()
	if err := b.schedule(ctx, namespace, "warm", "0 0 1 1 *", object); err != nil {
		return s, err
	}
	took := time.Since(began)
	slot := time.Now().UTC().Add(2*took + lead).Truncate(time.Minute).Add(time.Minute)
	spec := fmt.Sprintf("%d %d %d %d *", slot.Minute(), slot.Hour(), slot.Day(), slot.Month())
	if err := b.schedule(ctx, namespace, "run", spec, object); err != nil {
		return s, err
	}
	if time.Until(slot) < lead/2 {
		return s, fmt.Errorf("creating %d %s took until %s before they fire: the machine is too busy to measure", b.schedules, resource, time.Until(slot))
	}
	// What follows the creation is over by then; the minute is waited for by the watch.
	delays, requests, err := b.meet(ctx, namespace, resource, slot)
	if err != nil {
		return s, err
	}
	s.DelaySeconds = percentilesOf(delays)
	s.Requests = requests / float64(b.schedules)
	return s, nil
}

// schedule makes as many schedules as are measured.
func (b *bench) schedule(ctx context.Context, namespace, prefix, spec string, object func(namespace, name, spec string) client.Object) error {
	return each(ctx, b.workers, nameList(prefix, b.schedules), func(ctx context.Context, name string) error {
		if err := b.admin.Create(ctx, object(namespace, name, spec)); err != nil {
			return fmt.Errorf("creating %s: %w", name, err)
		}
		return nil
	})
}

// meet waits for the Jobs of a minute. It gives how late each was, the least first, and how many requests there were.
func (b *bench) meet(ctx context.Context, namespace, resource string, slot time.Time) ([]time.Duration, float64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Until(slot)+patience)
	defer cancel()
	events, err := b.watchJobs(ctx, namespace)
	if err != nil {
		return nil, 0, err
	}
	defer events.Stop()
	if err := sleepUntil(ctx, slot.Add(-time.Second)); err != nil {
		return nil, 0, err
	}
	before, err := b.requestsOn(ctx, resource)
	if err != nil {
		return nil, 0, err
	}
	delays, err := b.await(ctx, events, slot)
	if err != nil {
		return nil, 0, err
	}
	after, err := b.quietRequests(ctx, resource)
	return delays, after - before, err
}

// watchJobs watches the Jobs of a namespace from now on.
func (b *bench) watchJobs(ctx context.Context, namespace string) (watch.Interface, error) {
	list := &batchv1.JobList{}
	if err := b.admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing Jobs: %w", err)
	}
	events, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion,
		watchFrom(func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return b.admin.Watch(ctx, &batchv1.JobList{}, client.InNamespace(namespace), &client.ListOptions{Raw: &o})
		}))
	if err != nil {
		return nil, fmt.Errorf("watching Jobs: %w", err)
	}
	return events, nil
}

func sleepUntil(ctx context.Context, at time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(at)):
		return nil
	}
}

// await notes when each Job is first seen.
func (b *bench) await(ctx context.Context, events watch.Interface, slot time.Time) ([]time.Duration, error) {
	seen := map[string]time.Duration{}
	for len(seen) < b.schedules {
		select {
		case e, open := <-events.ResultChan():
			if !open {
				return nil, errors.New("the watch of Jobs ended")
			}
			if o, ok := e.Object.(*batchv1.Job); ok && e.Type == watch.Added {
				seen[o.Name] = time.Since(slot)
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d runs were started: %w", len(seen), b.schedules, ctx.Err())
		}
	}
	var delays []time.Duration
	for _, d := range seen {
		delays = append(delays, d)
	}
	slices.Sort(delays)
	return delays, nil
}

// spread makes CronTabs with H, and counts how many of them start in the same second.
func (b *bench) spread(ctx context.Context) (most int, err error) {
	const namespace = "bench-spread"
	if err := b.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return 0, fmt.Errorf("creating a Namespace: %w", err)
	}
	if err := b.schedule(ctx, namespace, "spread", "H * * * *", newCronTab); err != nil {
		return 0, err
	}
	list := &batchv1alpha1.CronTabList{}
	err = poll(ctx, "all CronTabs know their next runs", time.Second, func(ctx context.Context) (bool, error) {
		err := b.admin.List(ctx, list, client.InNamespace(namespace))
		return !slices.ContainsFunc(list.Items, func(c batchv1alpha1.CronTab) bool { return len(c.Status.NextRuns) == 0 }), err
	})
	if err != nil {
		return 0, err
	}
	starts := map[int]int{}
	for i := range list.Items {
		at := list.Items[i].Status.NextRuns[1].UTC() // one is in each hour; the first may be in this one or the next
		starts[at.Minute()*60+at.Second()]++
		most = max(most, starts[at.Minute()*60+at.Second()])
	}
	return most, b.admin.DeleteAllOf(ctx, &batchv1alpha1.CronTab{}, client.InNamespace(namespace))
}

// conflicts is what few runs may add on a busy machine, where a write now and then meets another and is repeated.
const conflicts = 1.1

func (r *cronResult) judge() {
	r.Aims = compare(
		aim{Name: "p50 of the start delay, CronTab / CronJob", Most: 1, Got: r.CronTab.DelaySeconds.P50 / r.CronJob.DelaySeconds.P50},
		aim{Name: "p99 of the start delay, CronTab / CronJob", Most: 1, Got: r.CronTab.DelaySeconds.P99 / r.CronJob.DelaySeconds.P99},
		aim{Name: "requests per run, CronTab / CronJob", Most: 1, Got: r.CronTab.Requests / r.CronJob.Requests, Enforced: true, Ceiling: conflicts},
		aim{Name: "starts in one second, with H", Most: 60, Got: float64(r.MostWithH), Enforced: true},
		punctuality(r.CronTab.DelaySeconds.P99, r.RawDelaySeconds.P99),
	)
}

func (r *cronResult) judged() []aim { return r.Aims }

// show writes the tables.
func (r *cronResult) show(out io.Writer) {
	fmt.Fprintf(out, "\n%s, %d schedules on one minute\n\n", cronTabName, r.Schedules)
	table(out, tabwriter.AlignRight, func(row func(string, ...any)) {
		row("\tstart delay p50\tp99\trequests per run\tresident memory\t")
		for _, one := range []struct {
			name string
			startStats
		}{{"CronTab", r.CronTab}, {"CronJob", r.CronJob}} {
			row("%s\t%.2f s\t%.2f s\t%.2f\t%.0f MiB\t", one.name, one.DelaySeconds.P50, one.DelaySeconds.P99, one.Requests, one.MemoryMiB)
		}
	})
	table(out, 0, func(row func(string, ...any)) {
		row("  a raw client creates as many Jobs: p50 %.2f s, p99 %.2f s", r.RawDelaySeconds.P50, r.RawDelaySeconds.P99)
		row("  with H, at most %d start in the same second", r.MostWithH)
	})
	printAims(out, r.Aims)
}
