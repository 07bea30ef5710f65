// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

// Critical tells why, and since when, the operator should not be replaced because of this object: billing knows that the
// namespace is given back, but it is not gone. An operator of another version should not find it half-way.
func Critical(n *v1alpha1.AcmeNamespace) (since time.Time, why string) {
	told := meta.FindStatusCondition(n.Status.Conditions, BillingReleased)
	if n.DeletionTimestamp.IsZero() || told == nil || told.Status != metav1.ConditionTrue {
		return time.Time{}, ""
	}
	return told.LastTransitionTime.Time, "its namespace is released and not gone yet"
}
