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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// pods lists, from the API server, the pods that a request selects and that still run. Nothing but their
// metadata is read, and nothing is kept of them: a cache of all pods would be large and never quiet.
func (r *Restarter) pods(ctx context.Context, req Request, selector labels.Selector) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	err := r.Live.List(ctx, list, client.InNamespace(req.Object.GetNamespace()), client.MatchingLabelsSelector{Selector: selector},
		client.MatchingFieldsSelector{Selector: fields.ParseSelectorOrDie("status.phase!=Succeeded,status.phase!=Failed")})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	}
	return list.Items, nil
}

// podSelector selects the pods of a request; nil when there is nothing to select pods by.
func (q Request) podSelector(all []workload) (labels.Selector, error) {
	switch {
	case q.Target == nil:
		return q.Selector, nil
	case len(all) == 0 || q.rolls() && !all[0].onDelete:
		return labels.Nothing(), nil
	}
	return metav1.LabelSelectorAsSelector(all[0].selector)
}

// restartable tells whether a pod is to be evicted or deleted. alone says that it is left alone because
// no controller would make it anew. A workload in onDelete makes its pods anew only when they are gone.
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

// rolledByTemplate tells whether a pod is restarted by the pod template of a workload.
func rolledByTemplate(owner *metav1.OwnerReference, pod *metav1.PartialObjectMetadata) bool {
	switch owner.Kind {
	case kindStatefulSet, kindDaemonSet:
		return owner.APIVersion == "apps/v1"
	case "ReplicaSet":
		_, ofDeployment := pod.Labels["pod-template-hash"]
		return ofDeployment && owner.APIVersion == "apps/v1"
	}
	return false
}

// removal is what came of trying to remove pods.
type removal struct {
	limit   int         // of pods that may be going at once; 0 is none
	going   int         // pods that are going
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
	}
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

// remove evicts or deletes those of the pods that are pending. What is gone is done.
func (r *Restarter) remove(ctx context.Context, req Request, pods []metav1.PartialObjectMetadata) removal {
	out := removal{limit: int(req.Policy.MaxConcurrent)}
	var todo []*metav1.PartialObjectMetadata
	for i := range pods {
		switch pod := &pods[i]; {
		case !slices.Contains(req.Status.Pending.Pods, pod.UID):
		case !pod.DeletionTimestamp.IsZero():
			out.goes(pod)
		default:
			todo = append(todo, pod)
		}
	}
	for _, pod := range todo {
		if out.late || out.limit > 0 && out.going >= out.limit {
			out.left = append(out.left, pod.UID)
			continue
		}
		switch err := r.removeOne(ctx, req.Policy.Strategy, pod); {
		case err == nil:
			out.goes(pod)
			r.tell(req, pod)
		case !r.gone(ctx, pod, err):
			out.kept(pod, err)
		}
	}
	return out
}

// patienceForPod bounds the removal of one pod. While a PodDisruptionBudget has not been looked at yet, the
// API server asks the client to come back later, and the client would wait by itself.
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
	x.pods, err = x.Restarter.pods(ctx, x.req, selector)
	return err
}

// onDelete are the workloads whose pods the mark alone does not restart.
func (x *execution) onDelete() []types.UID {
	var uids []types.UID
	for _, w := range x.workloads {
		if w.onDelete {
			uids = append(uids, w.meta.UID)
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
