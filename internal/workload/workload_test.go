// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/internal/names"
)

func TestRolling(t *testing.T) {
	three, done := new(int32(3)), appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}
	deploymentOf := func(s appsv1.DeploymentStatus, paused bool) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.DeploymentSpec{Replicas: three, Paused: paused}, Status: s}
	}
	with := func(f func(*appsv1.DeploymentStatus)) appsv1.DeploymentStatus {
		s := done
		f(&s)
		return s
	}
	setOf := func(f func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
		o := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.StatefulSetSpec{Replicas: three}}
		o.Status = appsv1.StatefulSetStatus{ObservedGeneration: 2, AvailableReplicas: 3, UpdatedReplicas: 1, CurrentRevision: "a", UpdateRevision: "b"}
		f(o)
		return o
	}
	for _, tc := range []struct {
		reason string
		is     Workload
		want   bool
	}{
		{"all are new and available", deployment(deploymentOf(done, false)), false},
		{"not seen yet", deployment(deploymentOf(with(func(s *appsv1.DeploymentStatus) { s.ObservedGeneration = 1 }), false)), true},
		{"some are old", deployment(deploymentOf(with(func(s *appsv1.DeploymentStatus) { s.UpdatedReplicas = 2 }), false)), true},
		{"old ones are still there", deployment(deploymentOf(with(func(s *appsv1.DeploymentStatus) { s.Replicas = 4 }), false)), true},
		{"some are not available", deployment(deploymentOf(with(func(s *appsv1.DeploymentStatus) { s.AvailableReplicas = 2 }), false)), true},
		{"paused", deployment(deploymentOf(appsv1.DeploymentStatus{}, true)), false},
		{"stuck: it is still waited for", deployment(deploymentOf(with(func(s *appsv1.DeploymentStatus) {
			s.UpdatedReplicas, s.Conditions = 2, []appsv1.DeploymentCondition{{Reason: ProgressDeadlineExceeded}}
		}), false)), true},
		{"a StatefulSet in the middle", statefulSet(setOf(func(*appsv1.StatefulSet) {})), true},
		{"a StatefulSet at its end", statefulSet(setOf(func(o *appsv1.StatefulSet) { o.Status.CurrentRevision = "b" })), false},
		{"a StatefulSet of which one is not available", statefulSet(setOf(func(o *appsv1.StatefulSet) {
			o.Status.CurrentRevision, o.Status.AvailableReplicas = "b", 2
		})), true},
		{"a StatefulSet up to its partition", statefulSet(setOf(func(o *appsv1.StatefulSet) {
			o.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(2))}
		})), false},
		{"a StatefulSet that is updated by hand", statefulSet(setOf(func(o *appsv1.StatefulSet) {
			o.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		})), false},
		{"a DaemonSet in the middle", daemonSet(&appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, UpdatedNumberScheduled: 1}}), true},
		{"a DaemonSet at its end", daemonSet(&appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{
			DesiredNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberAvailable: 2,
		}}), false},
	} {
		if tc.is.Rolling != tc.want {
			t.Errorf("%s: rolling is %v", tc.reason, tc.is.Rolling)
		}
	}
}

func TestHeldBack(t *testing.T) {
	old := appsv1.StatefulSetStatus{ObservedGeneration: 2, AvailableReplicas: 3, UpdatedReplicas: 1, CurrentRevision: "a", UpdateRevision: "b"}
	set := func(partition int32, s appsv1.StatefulSetStatus) Workload {
		o := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}, Status: s}
		o.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}
		return statefulSet(o)
	}
	paused := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.DeploymentSpec{Paused: true}}
	rolled := paused.DeepCopy()
	rolled.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1}
	stuck := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	stuck.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 1}
	stuck.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: "False", Reason: ProgressDeadlineExceeded}}
	before, late := stuck.DeepCopy(), stuck.DeepCopy()
	before.Generation, late.Status.Replicas = 3, 1
	for _, tc := range []struct {
		reason string
		is     Workload
		want   bool
	}{
		{"a Deployment that is paused before it rolled", deployment(paused), true},
		{"a Deployment that was paused after it had rolled", deployment(rolled), false},
		{"a StatefulSet with a partition", set(2, old), true},
		{"a StatefulSet with the partition 0", set(0, old), false},
		{"a StatefulSet whose pods are all new", set(2, appsv1.StatefulSetStatus{ObservedGeneration: 2, UpdatedReplicas: 3, CurrentRevision: "b", UpdateRevision: "b"}), false},
		{"a Deployment that has exceeded its progress deadline", deployment(stuck), true},
		{"one whose rollout before had", deployment(before), false},
		{"one whose rollout has ended late", deployment(late), false},
	} {
		if got := tc.is.Held(); (got != "") != tc.want {
			t.Errorf("%s: %q", tc.reason, got)
		}
	}
}

func TestFingerprint(t *testing.T) {
	one, two := &corev1.PodTemplateSpec{}, &corev1.PodTemplateSpec{}
	one.Spec.Containers = []corev1.Container{{Image: "one"}}
	two.Spec.Containers = []corev1.Container{{Image: "two"}}
	if Fingerprint(one) == Fingerprint(two) || Fingerprint(one) != Fingerprint(one.DeepCopy()) {
		t.Error("a fingerprint identifies a template")
	}
	live := deployment(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: *one}})
	cached := deployment(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.AnnotationTemplate: Fingerprint(one)}}})
	if live.Fingerprint() != cached.Fingerprint() {
		t.Error("the cache and the API server differ")
	}
}
