// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/workload"
)

// podSelector selects the pods of a request; nil when there is nothing to select pods by.
func (q Request) podSelector(all []workload.Workload) (labels.Selector, error) {
	switch {
	case q.Target == nil:
		return q.Selector, nil
	case len(all) == 0 || q.rolls() && !all[0].OnDelete:
		return labels.Nothing(), nil
	}
	return metav1.LabelSelectorAsSelector(all[0].Selector)
}

// restartable reports whether a pod is to be evicted or deleted. alone says that it is left alone because
// no controller would make it again. A workload in onDelete makes its pods again only when they are gone.
func restartable(strategy common.RestartStrategy, pod *metav1.PartialObjectMetadata, onDelete []types.UID) (yes, alone bool) {
	owner := metav1.GetControllerOf(pod)
	switch {
	case !pod.DeletionTimestamp.IsZero() || pod.Annotations[corev1.MirrorPodAnnotationKey] != "":
		return false, false
	case owner != nil && (owner.Kind == "Job" || owner.Kind == "Node"):
		return false, false
	case strategy == common.RestartEvict || strategy == common.RestartDelete:
		return true, false
	case owner == nil:
		return false, true
	}
	return slices.Contains(onDelete, owner.UID) || !rolledByTemplate(owner, pod), false
}

// rolledByTemplate reports whether a pod is restarted by the pod template of a workload.
func rolledByTemplate(owner *metav1.OwnerReference, pod *metav1.PartialObjectMetadata) bool {
	switch owner.Kind {
	case workload.StatefulSet, workload.DaemonSet:
		return owner.APIVersion == "apps/v1"
	case "ReplicaSet":
		_, ofDeployment := pod.Labels["pod-template-hash"]
		return ofDeployment && owner.APIVersion == "apps/v1"
	}
	return false
}

// removal is what came of trying to remove pods.
type removal struct {
	limit   int         // of pods that may be away at once; 0 is none
	going   int         // pods that are going
	lack    lack        // pods that are away beside those
	halted  bool        // by what is lacking
	left    []types.UID // still to be removed or, with a limit, to be gone
	guarded int         // of them, that a PodDisruptionBudget holds
	late    bool        // the API server asks for patience
	failed  error
}

// goes counts a pod that is going. With a limit it counts until it is gone.
func (m *removal) goes(pod *metav1.PartialObjectMetadata) {
	m.going++
	if m.limit > 0 {
		m.left = append(m.left, pod.UID)
		m.lack.of = append(m.lack.of, "Pod/"+pod.Name+" is terminating")
	}
}

// holds reports whether the limit holds a pod. One that is not ready is away already: it waits for no other to become
// available, which may need the very content that it is restarted for.
func (m *removal) holds(ready bool) bool {
	switch {
	case m.limit == 0:
		return false
	case m.going >= m.limit || !ready:
		return m.going >= m.limit
	}
	held := m.going+m.lack.pods >= m.limit
	m.halted = m.halted || held
	return held
}

// reason is why pods are left.
func (m *removal) reason() string {
	if m.halted {
		return ReasonMaxConcurrent
	}
	return ReasonEvicting
}

// awaits says which pods are left, and what they wait for.
func (m *removal) awaits() string {
	text := count(len(m.left), "pod") + " to restart, as many at once as restart.maxConcurrent allows"
	if len(m.lack.of) > 0 {
		text += "; waiting for: " + join(m.lack.of)
	}
	return text
}

// kept counts a pod that could not be removed.
func (m *removal) kept(pod *metav1.PartialObjectMetadata, err error) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		m.late = true
		m.guarded++
	case apierrors.IsTooManyRequests(err):
		m.guarded++
	default:
		m.failed = fmt.Errorf("restarting Pod/%s: %w", pod.Name, err)
	}
	m.left = append(m.left, pod.UID)
}

// remove evicts or deletes those of the pods that are pending, those that are not ready first. What is gone is done.
func (x *execution) remove(ctx context.Context, now time.Time) removal {
	out := removal{limit: int(x.req.Policy.MaxConcurrent), lack: x.lacking(now)}
	todo := x.removable(&out)
	if gone := len(x.status.Pending.Pods) - out.going - len(todo); out.limit > 0 && gone > out.lack.pods {
		out.lack.pods = gone // none that its owner makes instead is seen yet
		out.lack.of = append(out.lack.of, "pods in the place of those that are gone")
	}
	for _, pod := range todo {
		if out.late || out.holds(x.isReady(pod)) {
			out.left = append(out.left, pod.UID)
			continue
		}
		switch err := x.removeOne(ctx, x.req.Policy.Strategy, pod); {
		case err == nil:
			out.goes(pod)
			x.tell(x.req, pod)
		case !x.gone(ctx, pod, err):
			out.kept(pod, err)
		default:
			out.lack.pods++
		}
	}
	return out
}

// removable are the pods that are pending and not going yet, those that are not ready first. It notes those that are.
func (x *execution) removable(out *removal) []*metav1.PartialObjectMetadata {
	var todo, ready []*metav1.PartialObjectMetadata
	for i := range x.pods {
		switch pod := &x.pods[i]; {
		case !slices.Contains(x.status.Pending.Pods, pod.UID):
		case !pod.DeletionTimestamp.IsZero():
			out.goes(pod)
		case x.isReady(pod):
			ready = append(ready, pod)
		default:
			todo = append(todo, pod)
		}
	}
	return append(todo, ready...)
}

// patienceForPod bounds the removal of one pod. While a PodDisruptionBudget has not been looked at yet, the
// API server asks the client to retry later, and the client would wait by itself.
const patienceForPod = 5 * time.Second

func (r *Restarter) removeOne(ctx context.Context, strategy common.RestartStrategy, pod *metav1.PartialObjectMetadata) error {
	ctx, cancel := context.WithTimeout(ctx, patienceForPod)
	defer cancel()
	if strategy == common.RestartDelete {
		target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
		return r.Client.Delete(ctx, target, client.Preconditions{UID: &pod.UID}, client.DisableReadYourWritesConsistency)
	}
	// An eviction of another pod of that name fails, and yet uses the budget up for two minutes; a dry run does not.
	if err := r.evict(ctx, pod, metav1.DryRunAll); err != nil {
		return err
	}
	return r.evict(ctx, pod)
}

func (r *Restarter) evict(ctx context.Context, pod *metav1.PartialObjectMetadata, dryRun ...string) error {
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	return r.Client.SubResource("eviction").Create(ctx, target, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}, DryRun: dryRun},
	}, &client.SubResourceCreateOptions{CreateOptions: client.CreateOptions{DryRun: dryRun}})
}

// listPods reads the selected pods, once in a run.
func (x *execution) listPods(ctx context.Context) error {
	if x.listed {
		return nil
	}
	selector, err := x.req.podSelector(x.workloads)
	if err != nil {
		return fmt.Errorf("reading the selector of the workload: %w", err)
	}
	x.listed = true
	if selector.Empty() || selector.String() == "" {
		return nil
	}
	x.pods, x.ready, err = x.Restarter.pods(ctx, x.req, selector)
	return err
}

// onDelete are the workloads whose pods the mark alone does not restart.
func (x *execution) onDelete() []types.UID {
	var uids []types.UID
	for _, w := range x.workloads {
		if w.OnDelete {
			uids = append(uids, w.Meta.UID)
		}
	}
	return uids
}

// doomed are the pods that are to be evicted or deleted.
func (x *execution) doomed() []metav1.PartialObjectMetadata {
	var all []metav1.PartialObjectMetadata
	onDelete := x.onDelete()
	for i := range x.pods {
		if yes, _ := restartable(x.req.Policy.Strategy, &x.pods[i], onDelete); yes {
			all = append(all, x.pods[i])
		}
	}
	return all
}
