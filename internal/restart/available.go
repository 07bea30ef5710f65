// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/tenancy"
	"github.com/acme/platform-operator/internal/workload"
)

// pods lists, from the API server, the pods that a request selects and that still run and, with a limit, since when each of them
// is ready. Nothing is kept of them beyond the run: a cache of all pods would be large and never quiet. They are read a few at a time, and
// without a limit their metadata only, because tenants may make them many and large.
func (r *Restarter) pods(
	ctx context.Context, req Request, selector labels.Selector,
) (all []metav1.PartialObjectMetadata, ready map[types.UID]metav1.Time, err error) {
	selected := []client.ListOption{
		client.MatchingLabelsSelector{Selector: selector},
		client.MatchingFieldsSelector{Selector: fields.ParseSelectorOrDie("status.phase!=Succeeded,status.phase!=Failed")},
	}
	if req.Policy.MaxConcurrent == 0 {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		_, err = tenancy.Each(ctx, r.Live, req.Object.GetNamespace(), list, math.MaxInt, func(p *metav1.PartialObjectMetadata) {
			all = append(all, essence(p.ObjectMeta))
		}, selected...)
	} else {
		ready = map[types.UID]metav1.Time{}
		_, err = tenancy.Each(ctx, r.Live, req.Object.GetNamespace(), &corev1.PodList{}, math.MaxInt, func(p *corev1.Pod) {
			all = append(all, essence(p.ObjectMeta))
			if since, is := readySince(p); is {
				ready[p.UID] = since
			}
		}, selected...)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("listing pods: %w", err)
	}
	return all, ready, nil
}

// essence is what a restart needs of a pod.
func essence(m metav1.ObjectMeta) metav1.PartialObjectMetadata {
	p := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Labels: m.Labels, OwnerReferences: m.OwnerReferences, DeletionTimestamp: m.DeletionTimestamp,
	}}
	if mirrors, is := m.Annotations[corev1.MirrorPodAnnotationKey]; is {
		p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: mirrors}
	}
	p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return p
}

// readySince is since when a pod is ready, if it is.
func readySince(p *corev1.Pod) (metav1.Time, bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime, true
		}
	}
	return metav1.Time{}, false
}

// lack is how many pods are not available that should be, beside those that the restart has removed and that still are
// going, and whose they are.
type lack struct {
	pods int
	of   []string
}

// lacking finds out, with a limit, which pods are not available. What the API server has of pods tells that at once; the
// status of their owner is late.
func (x *execution) lacking(now time.Time) (l lack) {
	if x.req.Policy.MaxConcurrent == 0 {
		return l
	}
	x.lackingOfWorkloads(now, &l)
	for _, pod := range x.doomed() {
		known := slices.ContainsFunc(x.workloads, func(w workload.Workload) bool { return owns(w, &pod) })
		if metav1.GetControllerOf(&pod) != nil && !known && !x.isReady(&pod) {
			l.add(1, "Pod/"+pod.Name+" is not ready")
		}
	}
	return l
}

// lackingOfWorkloads adds what the selected workloads lack.
func (x *execution) lackingOfWorkloads(now time.Time, l *lack) {
	for i, s := range x.req.states(x.workloads) {
		w := x.workloads[i]
		if _, rolls := inProgress(x.status, s); rolls && x.req.rolls() && !w.OnDelete {
			l.add(1, w.String()+" is rolling")
		}
		if available, going := x.availableOf(w, now); !x.req.rolls() || w.OnDelete {
			l.add(int(w.Want)-available-going, fmt.Sprintf("%s has %d of %s available", w, available, count(int(w.Want), "pod")))
		}
	}
}

func (l *lack) add(n int, what string) {
	if n > 0 {
		l.pods += n
		l.of = append(l.of, what)
	}
}

// availableOf counts the pods of a workload that are available, and those that the restart has removed and that still are
// going.
func (x *execution) availableOf(w workload.Workload, now time.Time) (available, going int) {
	patience := time.Duration(w.MinReady) * time.Second
	for i := range x.pods {
		switch pod := &x.pods[i]; {
		case !owns(w, pod):
		case !pod.DeletionTimestamp.IsZero():
			if slices.Contains(x.status.Pending.Pods, pod.UID) {
				going++
			}
		case x.isReady(pod) && !now.Before(x.ready[pod.UID].Add(patience)):
			available++
		}
	}
	return available, going
}

func (x *execution) isReady(pod *metav1.PartialObjectMetadata) bool {
	_, ready := x.ready[pod.UID]
	return ready
}

// owns reports whether a pod is one of the workload's. Between a Deployment and its pods are ReplicaSets, which are not read.
func owns(w workload.Workload, pod *metav1.PartialObjectMetadata) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || w.Kind != workload.Deployment {
		return owner != nil && owner.UID == w.Meta.UID
	}
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	return err == nil && owner.Kind == "ReplicaSet" && rolledByTemplate(owner, pod) && selector.Matches(labels.Set(pod.Labels))
}
