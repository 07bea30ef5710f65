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

// patient is a pod with which something is wrong, or of which the containers are being created.
type patient struct {
	finding
	name string
	// set is the hash of the ReplicaSet.
	set string
	// volumes may be what the pod waits for.
	volumes []corev1.Volume
}

// examine finds out whether something may be wrong with a pod.
func examine(p *corev1.Pod) (is patient, may bool) {
	is = patient{diagnosePod(p), p.Name, p.Labels[appsv1.DefaultDeploymentUniqueLabelKey], nil}
	if is.rank == 0 && isStarting(p) {
		is.volumes = p.Spec.Volumes
	}
	return is, is.rank > 0 || len(is.volumes) > 0
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
	var all []patient
	_, err := tenancy.Each(ctx, r.Live, r.Obj.Namespace, &corev1.PodList{}, maxPods, func(p *corev1.Pod) {
		if is, may := examine(p); may {
			all = append(all, is)
		}
	}, client.MatchingLabels(selectorOf(r.Obj)))
	if err != nil {
		return finding{}, fmt.Errorf("listing the pods: %w", err)
	}
	if len(all) == 0 {
		return finding{}, nil
	}
	set, err := r.findSet(ctx)
	if err != nil {
		return finding{}, err
	}
	return r.worst(ctx, slices.DeleteFunc(all, func(p patient) bool { return set != "" && p.set != set }))
}

// worst is the worst of what is wrong with pods. If that is nothing, they may wait for a volume.
func (r *run) worst(ctx context.Context, all []patient) (worst finding, err error) {
	for _, p := range all {
		worst = worse(worst, p.finding)
	}
	if worst.rank > 0 || len(all) == 0 {
		return worst, nil
	}
	return r.findMissing(ctx, all[0])
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
func (r *run) findMissing(ctx context.Context, p patient) (finding, error) {
	for _, v := range p.volumes {
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
			return finding{7, ReasonConfigMissing, fmt.Sprintf("the volume %s of the pod %s cannot be mounted: the %s", v.Name, p.name, what)}, nil
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
