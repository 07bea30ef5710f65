// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/acme/platform-operator/internal/tenancy"
)

func TestHindrances(t *testing.T) {
	const byHand = ". A finalizer is removed by the controller that set it; if that is gone, remove it from the object by hand"
	condition := func(kind corev1.NamespaceConditionType, status corev1.ConditionStatus, message string) corev1.NamespaceCondition {
		return corev1.NamespaceCondition{Type: kind, Status: status, Message: message}
	}
	for _, tc := range []struct {
		reason     string
		finalizers []string
		conditions []corev1.NamespaceCondition
		want       string
	}{
		{"nothing known yet", nil, nil, ""},
		{"all is well", nil, []corev1.NamespaceCondition{
			condition("NamespaceDeletionDiscoveryFailure", "False", "All resources successfully discovered"),
			condition("NamespaceContentRemaining", "False", "All content successfully removed"),
		}, ""},
		{"content with a finalizer", nil, []corev1.NamespaceCondition{
			condition("NamespaceDeletionContentFailure", "False", "All content successfully deleted"),
			condition("NamespaceContentRemaining", "True", "Some resources are remaining: configmaps. has 1 resource instances"),
			condition("NamespaceFinalizersRemaining", "True", "Some content has finalizers remaining: acme.com/x in 1 resource instances"),
		}, ". NamespaceContentRemaining: Some resources are remaining: configmaps. has 1 resource instances" +
			". NamespaceFinalizersRemaining: Some content has finalizers remaining: acme.com/x in 1 resource instances" + byHand},
		{"an aggregated API that is down", nil, []corev1.NamespaceCondition{
			condition("NamespaceDeletionDiscoveryFailure", "True", "Discovery failed for some groups, 1 failing: metrics.k8s.io/v1beta1."),
		}, ". NamespaceDeletionDiscoveryFailure: Discovery failed for some groups, 1 failing: metrics.k8s.io/v1beta1"},
		{"finalizers of its own", []string{"a.com/a", "b.com/b"}, nil, ". The Namespace itself has the finalizers a.com/a, b.com/b" + byHand},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			ns := &corev1.Namespace{}
			ns.Finalizers, ns.Status.Conditions = tc.finalizers, tc.conditions
			if got := tenancy.Hindrances(ns); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
	ns := &corev1.Namespace{}
	ns.Status.Conditions = []corev1.NamespaceCondition{condition("NamespaceFinalizersRemaining", "True", strings.Repeat("山", 100_000))}
	if n := len(tenancy.Hindrances(ns)); n > 1300 {
		t.Errorf("%d bytes", n)
	}
}
