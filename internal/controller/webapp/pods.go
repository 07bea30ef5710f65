// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/tenancy"
)

// annotationRollout numbers the versions of a Deployment, on it and on its ReplicaSets.
const annotationRollout = "deployment.kubernetes.io/revision"

// examination is what was found out about pods, one after the other. Of all that it has seen it keeps the worst, and one pod that may
// wait for a volume: pods may be many and large.
type examination struct {
	worst finding
	// starting is a pod of which the containers are being created, and volumes are what it has.
	starting string
	volumes  []corev1.Volume
}

// see adds a pod.
func (e *examination) see(p *corev1.Pod) {
	is := diagnosePod(p)
	e.worst = worse(e.worst, is)
	if is.rank == 0 && len(e.volumes) == 0 && isStarting(p) {
		e.starting, e.volumes = p.Name, p.Spec.Volumes
	}
}

// isStarting reports whether containers of a pod are being created, for which its volumes have to be mounted.
func isStarting(p *corev1.Pod) bool {
	isCreated := func(s corev1.ContainerStatus) bool {
		w := s.State.Waiting
		return w != nil && (w.Reason == "ContainerCreating" || w.Reason == "PodInitializing")
	}
	return p.DeletionTimestamp.IsZero() &&
		slices.ContainsFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses), isCreated)
}

// findFaults finds the worst of what is wrong with the pods of the present version. Those of earlier ones do not keep it back.
func (r *run) findFaults(ctx context.Context) (finding, error) {
	set, err := r.findSet(ctx)
	if err != nil {
		return finding{}, err
	}
	var found examination
	_, err = tenancy.Each(ctx, r.Live, r.Obj.Namespace, &corev1.PodList{}, maxPods, func(p *corev1.Pod) {
		if set == "" || p.Labels[appsv1.DefaultDeploymentUniqueLabelKey] == set {
			found.see(p)
		}
	}, client.MatchingLabels(selectorOf(r.Obj)))
	if err != nil {
		return finding{}, fmt.Errorf("listing the pods: %w", err)
	}
	return r.conclude(ctx, found)
}

// conclude is the worst of what is wrong with pods. If that is nothing, they may wait for a volume.
func (r *run) conclude(ctx context.Context, found examination) (finding, error) {
	if found.worst.rank > 0 {
		return found.worst, nil
	}
	return r.findMissing(ctx, found)
}

// findSet finds the hash of the ReplicaSet of the present version; empty when it cannot be told.
func (r *run) findSet(ctx context.Context) (hash string, err error) {
	d := r.seen.deployment
	number := d.Annotations[annotationRollout]
	if number == "" {
		return "", nil
	}
	sets := &metav1.PartialObjectMetadataList{}
	sets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	_, err = tenancy.Each(ctx, r.Live, d.Namespace, sets, maxPods, func(s *metav1.PartialObjectMetadata) {
		if metav1.IsControlledBy(s, d) && s.Annotations[annotationRollout] == number {
			hash = s.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		}
	}, client.MatchingLabels(selectorOf(r.Obj)))
	if err != nil {
		return "", fmt.Errorf("listing the ReplicaSets: %w", err)
	}
	return hash, nil
}

// findMissing finds out which volume of a pod cannot be mounted. Only events say that. Claims are not looked at: no node takes a
// pod without its claims.
func (r *run) findMissing(ctx context.Context, found examination) (finding, error) {
	for _, v := range found.volumes {
		var what string
		var err error
		switch {
		case v.Secret != nil && !ptr.Deref(v.Secret.Optional, false):
			s := &corev1.Secret{}
			err = r.Live.Get(ctx, client.ObjectKey{Namespace: r.Obj.Namespace, Name: v.Secret.SecretName}, s)
			what = lackingFiles("Secret "+v.Secret.SecretName, v.Secret.Items, err, func(key string) bool { _, has := s.Data[key]; return has })
		case v.ConfigMap != nil && !ptr.Deref(v.ConfigMap.Optional, false):
			c := &corev1.ConfigMap{}
			err = r.Live.Get(ctx, client.ObjectKey{Namespace: r.Obj.Namespace, Name: v.ConfigMap.Name}, c)
			what = lackingFiles("ConfigMap "+v.ConfigMap.Name, v.ConfigMap.Items, err, func(key string) bool {
				_, has := c.Data[key]
				_, binary := c.BinaryData[key]
				return has || binary
			})
		}
		if client.IgnoreNotFound(err) != nil {
			return finding{}, fmt.Errorf("reading what the volume %s shows: %w", v.Name, err)
		}
		if what != "" {
			return finding{7, ReasonConfigMissing, fmt.Sprintf("the volume %s of the pod %s cannot be mounted: the %s", v.Name, found.starting, what)}, nil
		}
	}
	return finding{}, nil
}

// lackingFiles says what of an object is missing that a volume shows; empty when nothing is.
func lackingFiles(object string, items []corev1.KeyToPath, err error, has func(key string) bool) string {
	if apierrors.IsNotFound(err) {
		return object + " does not exist"
	}
	for _, i := range items {
		if err == nil && !has(i.Key) {
			return fmt.Sprintf("%s has no key %q", object, i.Key)
		}
	}
	return ""
}
