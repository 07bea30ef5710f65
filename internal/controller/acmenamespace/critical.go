// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

// Critical returns why, and since when, the operator should not be replaced because of this object: its release
// is reported to billing, but the Namespace still exists. An operator of another version should not start
// half-way.
func Critical(n *v1alpha1.AcmeNamespace) (since time.Time, why string) {
	released := meta.FindStatusCondition(n.Status.Conditions, BillingReleased)
	if n.DeletionTimestamp.IsZero() || released == nil || released.Status != metav1.ConditionTrue {
		return time.Time{}, ""
	}
	return released.LastTransitionTime.Time, "its release is reported to billing, and its namespace still exists"
}
