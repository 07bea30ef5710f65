// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	coordinationv1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// leaderElection is the name of the benchmark of LeaderElections. It measures hand-overs, not creations.
const leaderElection = "leaderelection"

var _ = join(benchmark{name: leaderElection, small: "--count 20", run: measureElections})

const (
	// electedNamespaces is how many namespaces they are in, since one of them has at most a quarter of the workers.
	electedNamespaces = 10
	// candidatesEach is how many pods each of them has.
	candidatesEach = 3
	// restFor is how long nothing may be requested.
	restFor = 10 * time.Minute
	// smallRest is how long that is for few of them.
	smallRest = 30 * time.Second
)

// electedLabels are those of the Deployments and of the LeaderElections.
var electedLabels = client.MatchingLabels{"bench": leaderElection}

func electedNamespace(n int) string { return fmt.Sprintf("bench-elected-%d", n) }

// electionResult is what was found about LeaderElections.
type electionResult struct {
	Elections int `json:"elections"`
	// AtRest is how many requests there were while nothing happened. Without a reconcile none is for a LeaderElection.
	AtRest      float64 `json:"requestsAtRest"`
	Written     float64 `json:"writesAtRest"`
	Looked      float64 `json:"reconcilesAtRest"`
	RestSeconds float64 `json:"restSeconds"`
	// Electors is what an elector of client-go in every pod would have requested in that time, by what some did in this run.
	Electors float64 `json:"requestsOfElectors"`
	// Lost is what happened when all leaders were deleted at once, and Asked when all were asked to hand over at once.
	Lost      replaced `json:"allLost"`
	Asked     replaced `json:"allAsked"`
	MemoryMiB memory   `json:"memoryMiB"`
	Aims      []aim    `json:"aims"`
}

// replaced is what happened when all leaders were replaced at once.
type replaced struct {
	// Labelled is until another pod has the label, and Endpoint until the Service leads to it.
	Labelled percentiles `json:"secondsToLabel"`
	Endpoint percentiles `json:"secondsToEndpoint"`
	// Leases, Marks and Statuses are what was written for each hand-over. Reads are requests, too.
	Leases   float64 `json:"writesOfLease"`
	Marks    float64 `json:"writesOfPods"`
	Statuses float64 `json:"writesOfStatus"`
	Reads    float64 `json:"reads"`
}

// measureElections measures LeaderElections on a cluster of their own.
func measureElections(ctx context.Context, l *lab) (_ outcome, err error) {
	defer func() { err = errors.Join(err, l.cleanUp(context.WithoutCancel(ctx))) }()
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	b := &bench{lab: l, subject: subject{name: leaderElection}}
	if b.cluster, err = b.up(ctx, 2*l.count*candidatesEach); err != nil {
		return nil, err
	}
	res := &electionResult{Elections: l.count}
	l.say("%s: %d of %d pods each\n", leaderElection, res.Elections, candidatesEach)
	if err := b.populateElections(ctx, res); err != nil {
		return nil, err
	}
	if err := b.awaitPods(ctx, res.Elections*candidatesEach); err != nil {
		return nil, err
	}
	rate, err := b.electors(ctx)
	if err != nil {
		return nil, err
	}
	l.say("  an elector of client-go sends %.2f requests a second\n", rate)
	err = b.withOperator(ctx, func(p *process) error { return b.elections(ctx, p, res) })
	res.Electors = rate * res.RestSeconds * float64(candidatesEach*res.Elections)
	res.judge()
	return res, err
}

// elections measures an operator that has just been started.
func (b *bench) elections(ctx context.Context, p *process, res *electionResult) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h, err := b.watchHandOvers(ctx)
	if err != nil {
		return err
	}
	settled := func(ctx context.Context) error {
		if err := poll(ctx, "all have leaders", 100*time.Millisecond, func(context.Context) (bool, error) {
			return h.settled(res.Elections), nil
		}); err != nil {
			return err
		}
		_, _, err := p.awaitIdle(ctx, res.Elections)
		return err
	}
	if err := settled(ctx); err != nil {
		return err
	}
	b.say("  all have leaders %s after the operator was started; it is left alone now for %s\n", time.Since(p.started).Round(time.Second), res.rest())
	if err := b.atRest(ctx, p, res); err != nil {
		return err
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+names.AnnotationHandOver+`":"bench"}}}`))
	if res.Asked, err = b.replaceAll(ctx, p, h, func(ctx context.Context, leader *corev1.Pod) error {
		e := &coordinationv1alpha1.LeaderElection{ObjectMeta: metav1.ObjectMeta{Namespace: leader.Namespace, Name: leader.Labels["app"]}}
		return b.admin.Patch(ctx, e, patch)
	}); err != nil {
		return err
	}
	if err := settled(ctx); err != nil {
		return err
	}
	res.Lost, err = b.replaceAll(ctx, p, h, func(ctx context.Context, leader *corev1.Pod) error {
		return b.admin.Delete(ctx, leader, client.GracePeriodSeconds(0))
	})
	return err
}

// populateElections makes the pods and their LeaderElections.
func (b *bench) populateElections(ctx context.Context, res *electionResult) error {
	for n := range electedNamespaces {
		if err := b.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: electedNamespace(n)}}); err != nil {
			return fmt.Errorf("creating a Namespace: %w", err)
		}
	}
	var next atomic.Int32
	return each(ctx, b.workers, nameList("app", res.Elections), func(ctx context.Context, name string) error {
		labels := map[string]string{"app": name}
		at := metav1.ObjectMeta{Namespace: electedNamespace(int(next.Add(1)) % electedNamespaces), Name: name, Labels: electedLabels}
		for _, o := range []client.Object{
			&appsv1.Deployment{ObjectMeta: at, Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(candidatesEach)), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "main", Image: "example.com/app"}},
				}},
			}},
			&coordinationv1alpha1.LeaderElection{ObjectMeta: at, Spec: coordinationv1alpha1.LeaderElectionSpec{
				PodSelector: map[string]coordinationv1alpha1.LabelValue{"app": coordinationv1alpha1.LabelValue(name)},
				Service:     &coordinationv1alpha1.LeaderService{Ports: []coordinationv1alpha1.ServicePort{{Port: 80}}},
			}},
		} {
			if err := b.admin.Create(ctx, o); err != nil {
				return fmt.Errorf("creating %s: %w", name, err)
			}
		}
		return nil
	})
}

// awaitPods waits until so many pods are Ready, so that what follows is not what their start takes.
func (b *bench) awaitPods(ctx context.Context, n int) error {
	return poll(ctx, "all pods are Ready", time.Second, func(ctx context.Context) (bool, error) {
		list := &appsv1.DeploymentList{}
		err := b.admin.List(ctx, list, electedLabels)
		ready := 0
		for _, d := range list.Items {
			ready += int(d.Status.ReadyReplicas)
		}
		return ready >= n, err
	})
}

// rest is how long nothing happens.
func (r *electionResult) rest() time.Duration {
	if r.Elections > 100 {
		return restFor
	}
	return smallRest
}

// atRest counts what is requested while nothing happens.
func (b *bench) atRest(ctx context.Context, p *process, res *electionResult) error {
	before, err := p.count(ctx)
	if err != nil {
		return err
	}
	if err := sleepUntil(ctx, time.Now().Add(res.rest())); err != nil {
		return err
	}
	after, err := p.count(ctx)
	if err != nil {
		return err
	}
	res.RestSeconds = res.rest().Seconds()
	b.say("  %v requests, %v of them writes\n", after.since(before, 1).Total, after.written()-before.written())
	res.AtRest, res.Written, res.Looked = after.since(before, 1).Total, after.written()-before.written(), after.reconciles-before.reconciles
	res.MemoryMiB, err = p.memory()
	return err
}

// replaceAll has all leaders replaced at once, and counts what that takes.
func (b *bench) replaceAll(ctx context.Context, p *process, h *handOvers, act func(context.Context, *corev1.Pod) error) (r replaced, err error) {
	read := func() (own counters, marks, statuses float64) {
		if err == nil {
			own, err = p.count(ctx)
		}
		if err == nil {
			marks, err = b.patchesOf(ctx, "pods", "")
		}
		if err == nil {
			statuses, err = b.patchesOf(ctx, "leaderelections", "status")
		}
		return own, marks, statuses
	}
	own, marks, statuses := read()
	if err == nil {
		r.Labelled, r.Endpoint, err = h.all(ctx, b, act)
	}
	if err == nil {
		_, _, err = p.awaitIdle(ctx, 0)
	}
	ownNow, marksNow, statusesNow := read()
	n := float64(b.count)
	r.Leases = (ownNow.methods[http.MethodPut] - own.methods[http.MethodPut]) / n
	r.Reads = (ownNow.methods[http.MethodGet] - own.methods[http.MethodGet]) / n
	r.Marks, r.Statuses = (marksNow-marks)/n, (statusesNow-statuses)/n
	return r, err
}

// judge compares with the aims. A hand-over is four writes, two of the Lease and one of each pod, of which one that is gone needs none;
// then it is recorded in the status, as are pods that go and come.
func (r *electionResult) judge() {
	r.Aims = compare(
		aim{Name: "writes at rest", Most: 0, Enforced: true, Got: r.Written},
		aim{Name: "reconciles at rest", Most: 0, Enforced: true, Got: r.Looked},
		aim{Name: "writes of Lease and pods per hand-over that was asked for", Most: 4, Enforced: true, Got: r.Asked.Leases + r.Asked.Marks},
		aim{Name: "the same, leaders that are lost", Most: 3, Enforced: true, Got: r.Lost.Leases + r.Lost.Marks},
		aim{Name: "writes of the status per hand-over that was asked for", Most: 1, Enforced: true, Got: r.Asked.Statuses},
		aim{Name: "the same, leaders that are lost", Most: 2, Got: r.Lost.Statuses},
		aim{Name: "reads per hand-over", Most: 12, Got: max(r.Asked.Reads, r.Lost.Reads)},
		aim{Name: "resident memory, MiB", Most: 100, Got: r.MemoryMiB.Resident},
	)
}

func (r *electionResult) judged() []aim { return r.Aims }

// show writes the tables.
func (r *electionResult) show(out io.Writer) {
	fmt.Fprintf(out, "\n%s, %d of %d pods each\n\n", leaderElection, r.Elections, candidatesEach)
	table(out, tabwriter.AlignRight, func(row func(string, ...any)) {
		row("\tto the label, p50\tp99\tto the endpoint, p50\tp99\tLease\tpods\tstatus\treads\t")
		for _, each := range []struct {
			what string
			replaced
		}{{"all asked to hand over at once", r.Asked}, {"all leaders lost at once", r.Lost}} {
			row("%s\t%.2f s\t%.2f s\t%.2f s\t%.2f s\t%.2f\t%.2f\t%.2f\t%.2f\t", each.what, each.Labelled.P50, each.Labelled.P99,
				each.Endpoint.P50, each.Endpoint.P99, each.Leases, each.Marks, each.Statuses, each.Reads)
		}
	})
	table(out, 0, func(row func(string, ...any)) {
		row("  requests in %.0f s of rest\t%.0f, %.0f of them writes; %d reconciles", r.RestSeconds, r.AtRest, r.Written, int(r.Looked))
		row("  the same of an elector of client-go in each pod\t%.0f", r.Electors)
		row("  resident memory\t%.0f MiB, at its peak %.0f MiB", r.MemoryMiB.Resident, r.MemoryMiB.Peak)
	})
	printAims(out, r.Aims)
}
