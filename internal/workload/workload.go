// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload reads what Deployments, StatefulSets and DaemonSets have in common: which pods they make, and how far
// their rollouts are.
package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/names"
)

// The kinds of workloads that do rolling updates.
const (
	Deployment  = "Deployment"
	StatefulSet = "StatefulSet"
	DaemonSet   = "DaemonSet"
)

// Workload is what a Deployment, a StatefulSet and a DaemonSet have in common. It refers to the cache's
// own object, which is not to be changed.
type Workload struct {
	// Kind is Deployment, StatefulSet or DaemonSet.
	Kind     string
	Meta     *metav1.ObjectMeta
	Template *corev1.PodTemplateSpec
	Selector *metav1.LabelSelector
	// Rolling: not all of its pods are new and available yet.
	Rolling bool
	// OnDelete: its pods stay as they are until somebody deletes them.
	OnDelete bool
	// HeldBy is why a new template does not reach all of its pods: it is paused, or has a partition.
	HeldBy string
	// Stuck: its rollout has exceeded its progress deadline.
	Stuck bool
	// Behind: some pods do not have the present template.
	Behind bool
	// Want is how many pods it shall have.
	Want int32
	// MinReady is for how many seconds a pod must be ready to be available.
	MinReady int32
}

// Fingerprint identifies the pod template. The cache holds it instead of the template.
func (w Workload) Fingerprint() string {
	if len(w.Template.Spec.Containers) == 0 {
		return w.Meta.Annotations[names.AnnotationTemplate]
	}
	return Fingerprint(w.Template)
}

// Fingerprint identifies a pod template.
func Fingerprint(t *corev1.PodTemplateSpec) string {
	text, err := json.Marshal(t)
	if err != nil {
		return "" // a type that was decoded can be encoded
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// String is the kind and the name.
func (w Workload) String() string { return w.Kind + "/" + w.Meta.Name }

// Object stands for the workload in events and patches.
func (w Workload) Object() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(w.Kind))
	o.Namespace, o.Name, o.UID = w.Meta.Namespace, w.Meta.Name, w.Meta.UID
	return o
}

// Of reads a workload of any kind; false when it is none.
func Of(o client.Object) (Workload, bool) {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return deployment(o), true
	case *appsv1.StatefulSet:
		return statefulSet(o), true
	case *appsv1.DaemonSet:
		return daemonSet(o), true
	}
	return Workload{}, false
}

// Types are empty objects of all kinds.
func Types() []client.Object {
	return []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}}
}

// ProgressDeadlineExceeded is the reason of a Deployment's condition when its rollout does not end in time.
const ProgressDeadlineExceeded = "ProgressDeadlineExceeded"

// deployment reads a Deployment. A paused one does not roll, and is not waited for.
func deployment(o *appsv1.Deployment) Workload {
	want, s := replicas(o.Spec.Replicas), o.Status
	w := Workload{Kind: Deployment, Meta: &o.ObjectMeta, Template: &o.Spec.Template, Selector: o.Spec.Selector}
	w.Want, w.MinReady = want, o.Spec.MinReadySeconds
	w.Behind = s.ObservedGeneration < o.Generation || s.UpdatedReplicas < want || s.Replicas > s.UpdatedReplicas
	if o.Spec.Paused {
		w.HeldBy = "it is paused"
	}
	w.Rolling = (w.Behind || s.AvailableReplicas < want) && w.HeldBy == ""
	w.Stuck = s.ObservedGeneration >= o.Generation &&
		slices.ContainsFunc(s.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Reason == ProgressDeadlineExceeded })
	return w
}

// statefulSet reads a StatefulSet. With a partition only the pods from that number on are updated; one that is
// updated OnDelete does not roll, and is not waited for.
func statefulSet(o *appsv1.StatefulSet) Workload {
	want, s := replicas(o.Spec.Replicas), o.Status
	w := Workload{Kind: StatefulSet, Meta: &o.ObjectMeta, Template: &o.Spec.Template, Selector: o.Spec.Selector}
	w.Want, w.MinReady = want, o.Spec.MinReadySeconds
	w.OnDelete = o.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
	updated := want
	if p := partition(o); p > 0 && !w.OnDelete {
		updated = max(0, want-p)
		w.HeldBy = fmt.Sprintf("the partition of its update strategy is %d", p)
	}
	seen := s.ObservedGeneration >= o.Generation
	old := s.UpdateRevision != s.CurrentRevision
	w.Behind = !seen || old && s.UpdatedReplicas < want
	w.Rolling = !w.OnDelete && (!seen || s.AvailableReplicas < want || old && s.UpdatedReplicas < updated)
	return w
}

func partition(o *appsv1.StatefulSet) int32 {
	if u := o.Spec.UpdateStrategy.RollingUpdate; u != nil && u.Partition != nil {
		return *u.Partition
	}
	return 0
}

// daemonSet reads a DaemonSet.
func daemonSet(o *appsv1.DaemonSet) Workload {
	s := o.Status
	w := Workload{Kind: DaemonSet, Meta: &o.ObjectMeta, Template: &o.Spec.Template, Selector: o.Spec.Selector}
	w.Want, w.MinReady = s.DesiredNumberScheduled, o.Spec.MinReadySeconds
	w.OnDelete = o.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
	w.Behind = s.ObservedGeneration < o.Generation || s.UpdatedNumberScheduled < s.DesiredNumberScheduled
	w.Rolling = (w.Behind || s.NumberAvailable < s.DesiredNumberScheduled) && !w.OnDelete
	return w
}

func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// Held says why some pods keep an older template until somebody does something about the workload; empty when they do not.
func (w Workload) Held() string {
	switch {
	case !w.Behind:
		return ""
	case w.Stuck:
		return "its rollout has exceeded its progress deadline"
	}
	return w.HeldBy
}
