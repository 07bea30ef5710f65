/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// configWatcher is the name of the benchmark of ConfigWatchers. It measures restarts, not creations.
const configWatcher = "configwatcher"

const (
	watchedNamespace = "bench-watched"
	// sourcesPerWatcher is how many ConfigMaps there are for each one that is watched.
	sourcesPerWatcher = 10
	// steadyRate and steadyFor are the changes of the first measurement.
	steadyRate = 5
	steadyFor  = 40 * time.Second
)

// watcherResult is what was found about ConfigWatchers, with the debounce off.
type watcherResult struct {
	Watchers   int `json:"watchers"`
	ConfigMaps int `json:"configMaps"`
	Replicas   int `json:"replicas"`
	// Steady is from a change, five a second, to the new pod template; Burst is the same for all at once.
	Steady percentiles `json:"steadySeconds"`
	Burst  percentiles `json:"burstSeconds"`
	// LastSeconds is from the first change of the burst to the last new pod template.
	LastSeconds float64 `json:"burstLastSeconds"`
	// PerRestart are the requests for each restart of the burst, and the load of the machine meanwhile.
	PerRestart requests `json:"requestsPerRestart"`
	BurstLoad  load     `json:"burstLoad"`
	// Unwatched is what changes of ConfigMaps cost that nobody watches.
	Unwatched unwatchedResult `json:"unwatched"`
	MemoryMiB memory          `json:"memoryMiB"`
	Secrets   secretsResult   `json:"secrets"`
	Aims      []aim           `json:"aims"`
}

type unwatchedResult struct {
	Changes    int     `json:"changes"`
	Requests   float64 `json:"requests"`
	CPUSeconds float64 `json:"cpuSeconds"`
}

// measureWatchers measures ConfigWatchers on a cluster of their own.
func measureWatchers(ctx context.Context, l *lab) (res *watcherResult, err error) {
	defer func() { err = errors.Join(err, l.cleanUp(context.WithoutCancel(ctx))) }()
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	b := &bench{lab: l, subject: subject{name: configWatcher}}
	if b.cluster, err = b.up(ctx); err != nil {
		return nil, err
	}
	res = &watcherResult{Watchers: l.count, ConfigMaps: l.count * sourcesPerWatcher, Replicas: l.replicas}
	l.say("%s: %d ConfigMaps, %d watchers with a Deployment of %d pods each\n", configWatcher, res.ConfigMaps, res.Watchers, res.Replicas)
	if err := b.populate(ctx, res); err != nil {
		return nil, err
	}
	err = b.withOperator(ctx, func(p *process) error {
		if _, _, err := p.awaitIdle(ctx, res.Watchers); err != nil {
			return err
		}
		for _, one := range []func(context.Context, *process, *watcherResult) error{b.steady, b.burst, b.unwatched, b.unrelated} {
			if err := one(ctx, p, res); err != nil {
				return err
			}
		}
		return nil
	})
	res.judge()
	return res, err
}

// populate makes what is watched, what is not, what restarts, and the watchers.
func (b *bench) populate(ctx context.Context, res *watcherResult) error {
	if err := b.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: watchedNamespace}}); err != nil {
		return fmt.Errorf("creating a Namespace: %w", err)
	}
	inNamespace := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: watchedNamespace, Name: name} }
	for i, list := range [][]string{nameList("unwatched", res.ConfigMaps-res.Watchers), nameList("app", res.Watchers)} {
		err := each(ctx, b.workers, list, func(ctx context.Context, name string) error {
			all := []client.Object{&corev1.ConfigMap{ObjectMeta: inNamespace(name), Data: map[string]string{"key": "0"}}}
			if i == 1 {
				labels := map[string]string{"app": name}
				all = append(all, &appsv1.Deployment{ObjectMeta: inNamespace(name), Spec: appsv1.DeploymentSpec{
					Replicas: new(int32(res.Replicas)), //nolint:gosec // so many pods are not asked for
					Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
						Containers: []corev1.Container{{Name: "main", Image: "example.com/app"}},
					}},
				}}, &autorebootv1alpha1.ConfigWatcher{ObjectMeta: inNamespace(name), Spec: autorebootv1alpha1.ConfigWatcherSpec{
					ConfigMap: name, PodSelector: map[string]autorebootv1alpha1.LabelValue{"app": autorebootv1alpha1.LabelValue(name)},
					Restart: common.RestartPolicy{Debounce: &metav1.Duration{}, MaxPerHour: 60},
				}})
			}
			for _, o := range all {
				if err := b.admin.Create(ctx, o); err != nil {
					return fmt.Errorf("creating %s: %w", name, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// touch changes a ConfigMap.
func (b *bench) touch(ctx context.Context, name string) error {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: watchedNamespace, Name: name}}
	body := fmt.Sprintf(`{"data":{"key":"%d"}}`, time.Now().UnixNano())
	if err := b.admin.Patch(ctx, o, client.RawPatch(client.Merge.Type(), []byte(body))); err != nil {
		return fmt.Errorf("changing %s: %w", name, err)
	}
	return nil
}

// restarts takes the time of each change, from just before it is sent until a watch shows the new pod
// template of the Deployment of the same name.
type restarts struct {
	mu    sync.Mutex
	marks map[string]string
	sent  map[string]time.Time
	took  map[string]time.Duration
	first time.Time
	last  time.Time
}

// watchRestarts watches the Deployments until the context ends.
func (b *bench) watchRestarts(ctx context.Context) (*restarts, error) {
	list := &appsv1.DeploymentList{}
	if err := b.admin.List(ctx, list, client.InNamespace(watchedNamespace)); err != nil {
		return nil, fmt.Errorf("listing the Deployments: %w", err)
	}
	r := &restarts{marks: map[string]string{}, sent: map[string]time.Time{}, took: map[string]time.Duration{}}
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
	mark := d.Spec.Template.Annotations[names.RestartMark(configWatcher, d.Name)]
	if sent, changed := r.sent[d.Name]; changed && mark != r.marks[d.Name] {
		r.took[d.Name] = now.Sub(sent)
		r.last = now
	}
	r.marks[d.Name] = mark
}

func (r *restarts) change(ctx context.Context, b *bench, name string) error {
	r.mu.Lock()
	now := time.Now()
	r.sent[name] = now
	if r.first.IsZero() {
		r.first = now
	}
	r.mu.Unlock()
	return b.touch(ctx, name)
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
	var all []time.Duration
	for _, took := range r.took {
		all = append(all, took)
	}
	slices.Sort(all)
	return all, err
}

// steady changes five ConfigMaps a second.
func (b *bench) steady(ctx context.Context, p *process, res *watcherResult) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := b.watchRestarts(ctx)
	if err != nil {
		return err
	}
	list := nameList("app", min(res.Watchers, int(steadyFor.Seconds()*steadyRate)))
	tick := time.NewTicker(time.Second / steadyRate)
	defer tick.Stop()
	for _, name := range list {
		<-tick.C
		if err := r.change(ctx, b, name); err != nil {
			return err
		}
	}
	times, err := r.await(ctx, len(list))
	if err != nil {
		return err
	}
	res.Steady = percentiles{percentile(times, 50).Seconds(), percentile(times, 99).Seconds()}
	_, _, err = p.awaitIdle(ctx, 0)
	return err
}

// burst changes all that is watched at once.
func (b *bench) burst(ctx context.Context, p *process, res *watcherResult) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := b.watchRestarts(ctx)
	if err != nil {
		return err
	}
	before, err := p.count(ctx)
	if err != nil {
		return err
	}
	loadBefore, err := b.usage(p)
	if err != nil {
		return err
	}
	list := nameList("app", res.Watchers)
	if err := each(ctx, b.workers, list, func(ctx context.Context, name string) error { return r.change(ctx, b, name) }); err != nil {
		return err
	}
	times, err := r.await(ctx, len(list))
	if err != nil {
		return err
	}
	loadAfter, err := b.usage(p)
	if err != nil {
		return err
	}
	res.Burst = percentiles{percentile(times, 50).Seconds(), percentile(times, 99).Seconds()}
	res.LastSeconds, res.BurstLoad = r.last.Sub(r.first).Seconds(), loadAfter.since(loadBefore)
	_, after, err := p.awaitIdle(ctx, 0)
	res.PerRestart = after.since(before, len(list))
	return err
}

// unwatched changes what nobody watches.
func (b *bench) unwatched(ctx context.Context, p *process, res *watcherResult) error {
	// The operator looks once more at what it restarted, 20 seconds later.
	_, before, err := p.idleFor(ctx, 0, 25*time.Second)
	if err != nil {
		return err
	}
	list := nameList("unwatched", res.ConfigMaps-res.Watchers)
	for res.Unwatched.Changes < res.ConfigMaps {
		part := list[:min(len(list), res.ConfigMaps-res.Unwatched.Changes)]
		if err := each(ctx, b.workers, part, b.touch); err != nil {
			return err
		}
		res.Unwatched.Changes += len(part)
	}
	_, after, err := p.awaitIdle(ctx, 0)
	res.Unwatched.Requests = after.since(before, 1).Total
	res.Unwatched.CPUSeconds = after.cpu - before.cpu
	return err
}

// unrelated makes Secrets that are none of the operator's business.
func (b *bench) unrelated(ctx context.Context, p *process, res *watcherResult) error {
	before, err := p.memory()
	if err != nil {
		return err
	}
	if err := b.createSecrets(ctx); err != nil {
		return err
	}
	if _, _, err := p.awaitIdle(ctx, 0); err != nil {
		return err
	}
	res.MemoryMiB, err = p.memory()
	res.Secrets = secretsResult{Secrets: b.secrets, GrowthMiB: res.MemoryMiB.Resident - before.Resident}
	return err
}

// judge compares with the aims. The requests that may happen while nobody's ConfigMaps change are renewals
// of watches, which the API server ends now and then.
func (r *watcherResult) judge() {
	for _, a := range []aim{
		{Name: "five changes a second, p99, seconds", Most: 0.034, Got: r.Steady.P99},
		{Name: "all at once, the last, seconds", Most: 8, Got: r.LastSeconds},
		{Name: "writes per restart, without events", Most: 2, Got: r.PerRestart.Patch + r.PerRestart.Apply + r.PerRestart.Delete},
		{Name: "requests for unwatched changes", Most: 0, Got: r.Unwatched.Requests},
		{Name: "resident memory, MiB", Most: 80, Got: r.MemoryMiB.Resident},
		{Name: "growth by unrelated Secrets, MiB", Most: 20, Got: r.Secrets.GrowthMiB},
	} {
		a.OK = a.Got <= a.Most
		r.Aims = append(r.Aims, a)
	}
}

// show writes the tables.
func (r *watcherResult) show(out io.Writer) {
	fmt.Fprintf(out, "\n%s, %d ConfigMaps, %d watchers\n\n", configWatcher, r.ConfigMaps, r.Watchers)
	table(out, tabwriter.TabIndent, func(row func(string, ...any)) {
		row("  %d changes a second\tp50 %.1f ms, p99 %.1f ms", steadyRate, 1000*r.Steady.P50, 1000*r.Steady.P99)
		row("  all at once\tp50 %.2f s, p99 %.2f s, the last after %.2f s", r.Burst.P50, r.Burst.P99, r.LastSeconds)
		q := r.PerRestart
		row("  requests per restart\t%.2f: patch %.2f, events %.2f, get %.2f", q.Total, q.Patch, q.Events, q.Get)
		row("  load by others meanwhile\t%.0f %%", 100*r.BurstLoad.Others)
		row("  %d unwatched changes\t%.0f requests, %.2f s of processor time", r.Unwatched.Changes, r.Unwatched.Requests, r.Unwatched.CPUSeconds)
		row("  resident memory\t%.0f MiB, at its peak %.0f MiB", r.MemoryMiB.Resident, r.MemoryMiB.Peak)
		row("  %d Secrets of %d KiB\tmemory %+.1f MiB", r.Secrets.Secrets, secretSize>>10, r.Secrets.GrowthMiB)
	})
	printAims(out, r.Aims)
}
