// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

func TestCritical(t *testing.T) {
	reported := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	released := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: BillingReleased, Status: status, LastTransitionTime: reported}}
	}
	for _, test := range []struct {
		reason     string
		deleting   bool
		conditions []metav1.Condition
		want       bool
	}{
		{"a namespace in use", false, nil, false},
		{"a namespace that was to be deleted once, restored from a backup with its status", false, released(metav1.ConditionTrue), false},
		{"deletion has only begun", true, nil, false},
		{"billing does not answer: it may take days", true, released(metav1.ConditionFalse), false},
		{"billing knows and the namespace is going", true, released(metav1.ConditionTrue), true},
	} {
		n := &v1alpha1.AcmeNamespace{}
		if test.deleting {
			n.DeletionTimestamp = &metav1.Time{Time: reported.Add(-time.Hour)}
		}
		n.Status.Conditions = test.conditions
		since, why := Critical(n)
		if (why != "") != test.want {
			t.Errorf("%s: critical because of %q, want %t", test.reason, why, test.want)
		}
		if test.want && !since.Equal(reported.Time) {
			t.Errorf("%s: since %s, want since the report to billing", test.reason, since)
		}
	}
}
