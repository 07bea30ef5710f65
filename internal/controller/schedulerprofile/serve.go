// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/scheduling"
	"github.com/acme/platform-operator/internal/workload"
)

// compose applies the children.
func (r *run) compose(ctx context.Context) (engine.Outcome, error) {
	if err := r.look(ctx); err != nil {
		return engine.Outcome{}, err
	}
	if r.Obj.Spec.Program == nil {
		config, err := scheduling.Config(&r.Obj.Spec, lease(r.Obj, r.kind.Namespace), scheduling.Of(&r.Obj.Spec, r.minor))
		if err != nil {
			return engine.Outcome{}, fmt.Errorf("rendering the configuration: %w", err)
		}
		r.in.config = config
	}
	r.in.former = formerOf(r.Obj, r.in.hash(), r.pods, r.coming)
	r.Obj.Status.WantedHash = r.in.hash()
	return r.Compose(func() ([]engine.Child, error) { return desired(r.in), nil })(ctx)
}

// look reads what no cache holds: the pods of the scheduler, and its Lease, which changes every two seconds.
func (r *run) look(ctx context.Context) error {
	r.lease = &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: r.kind.Namespace, Name: childName(r.Obj)}
	if err := r.Live.Get(ctx, key, r.lease); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the Lease %s: %w", key, err)
	}
	list := &corev1.PodList{}
	if err := r.Live.List(ctx, list, client.InNamespace(r.kind.Namespace), client.MatchingLabels(r.in.selector())); err != nil {
		return fmt.Errorf("listing the pods of the scheduler: %w", err)
	}
	d, err := r.deployment(ctx)
	if err != nil {
		return err
	}
	r.pods, r.coming = podsOf(list.Items, r.lease, d)
	return nil
}

// podsOf returns the pods of the scheduler, sorted, and the hashes of configurations with which further ones may come: instead of a pod
// that is being deleted, or since the Deployment has not created them yet.
func podsOf(list []corev1.Pod, l *coordinationv1.Lease, d *appsv1.Deployment) (pods []pod, coming []string) {
	coming = []string{d.Spec.Template.Labels[LabelConfig]}
	for i := range list {
		p := &list[i]
		switch ended := p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded; {
		case ended: // it does not start again
		case p.DeletionTimestamp.IsZero() || isHolder(l, p):
			pods = append(pods, podOf(p))
		default:
			coming = append(coming, p.Labels[LabelConfig])
		}
	}
	slices.SortFunc(pods, func(a, b pod) int { return cmp.Compare(a.name, b.name) })
	return pods, coming
}

// deployment returns the Deployment as it is; an empty one if there is none.
func (r *run) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: r.kind.Namespace, Name: childName(r.Obj)}
	if err := r.Client.Get(ctx, key, d); client.IgnoreNotFound(err) != nil {
		return d, fmt.Errorf("reading the Deployment %s: %w", key, err)
	}
	return d, nil
}

func isHolder(l *coordinationv1.Lease, p *corev1.Pod) bool {
	return strings.HasPrefix(ptr.Deref(l.Spec.HolderIdentity, ""), p.Name+"_")
}

// podOf is what counts of a pod of the scheduler.
func podOf(p *corev1.Pod) pod {
	out := pod{name: p.Name, template: p.Labels[LabelTemplate], hash: p.Labels[LabelConfig]}
	for _, c := range p.Status.Conditions {
		out.ready = out.ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == containerName {
			out.note(c)
		}
	}
	return out
}

// note notes why the scheduler of a pod does not start, or has ended.
func (p *pod) note(c corev1.ContainerStatus) {
	if w := c.State.Waiting; w != nil {
		p.waiting, p.message = w.Reason, lastLine(w.Message)
	}
	for _, t := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
		switch {
		case t == nil || p.failed != "":
		case refusals[t.Reason]: // nothing has run
			p.waiting, p.message = t.Reason, lastLine(t.Message)
		default:
			p.failed = cmp.Or(t.Message, fmt.Sprintf("it has ended with %d (%s)", t.ExitCode, t.Reason))
		}
	}
}

// serve says how far the scheduler is.
func (r *run) serve(ctx context.Context) (engine.Outcome, error) {
	d, err := r.deployment(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	s, v := &r.Obj.Status, r.view(d)
	verdict := decide(v)
	s.ActivePod = verdict.active
	if verdict.state == serves || verdict.serving != "" {
		s.ServingHash = verdict.serving
	}
	switch verdict.state {
	case serves:
		return r.count(ctx)
	case configRefused, imageRefused:
		return engine.BlockFor(soon, string(verdict.state), verdict.message), nil
	default:
		return engine.Wait(soon, string(verdict.state), verdict.message), nil
	}
}

func (r *run) view(d *appsv1.Deployment) view {
	v := view{
		now: r.Clock.Now(), template: r.in.template().Labels[LabelTemplate], wanted: r.in.hash(), served: r.Obj.Status.ServingHash,
		program: r.Obj.Spec.Program != nil, own: r.Obj.Spec.Image != "", replicas: r.in.replicas(), pods: r.pods,
		holder: ptr.Deref(r.lease.Spec.HolderIdentity, ""), renewed: r.kind.renewals.of(r.lease),
		leaseFor: time.Duration(ptr.Deref(r.lease.Spec.LeaseDurationSeconds, 15)) * time.Second,
	}
	for _, c := range d.Status.Conditions {
		v.overdue = v.overdue || c.Reason == workload.ProgressDeadlineExceeded
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			v.rejected = lastLine(c.Message)
		}
	}
	return v
}

// count says on how many nodes the profiles place pods, and how many pods wait for that.
func (r *run) count(ctx context.Context) (engine.Outcome, error) {
	nodes, err := r.kind.nodes(ctx, r.Client)
	if err != nil {
		return engine.Outcome{}, err
	}
	tallies := r.kind.waiting.count(r.Clock.Now())
	var rows []v1alpha1.ProfileStatus
	var none []string
	for i := range r.Obj.Spec.Profiles {
		p := &r.Obj.Spec.Profiles[i]
		t := tallies[p.SchedulerName]
		row := v1alpha1.ProfileStatus{
			SchedulerName: p.SchedulerName, Nodes: matching(p.Nodes, nodes), Pending: t.pending, Unserved: t.unserved,
		}
		if !t.oldest.IsZero() {
			row.OldestPending = &metav1.Time{Time: t.oldest.Truncate(time.Minute)}
		}
		if row.Nodes == 0 {
			none = append(none, p.SchedulerName)
		}
		rows = append(rows, row)
	}
	r.Obj.Status.Profiles = rows
	out := engine.DoneUntil(recheck)
	if len(none) > 0 {
		out = out.Because(ReasonNoNodes).Saying("no node has the labels that these profiles ask for, so that their pods wait: " +
			strings.Join(none, ", "))
	}
	// They are pruned once it is recorded that no pod needs them, but not before pods that are being deleted are gone.
	if slices.ContainsFunc(r.in.former, func(hash string) bool { return !slices.Contains(r.coming, hash) }) {
		out = out.Repeat()
	}
	return out, nil
}
