// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/tenancy"
)

// Holds are the guardrails of all tiers: each has one name in every namespace, except for quotas, one of which
// is named after the tier.
var Holds = []engine.Held{
	{Of: &corev1.LimitRange{}, Names: []string{limitRangeName}},
	{Of: &corev1.ResourceQuota{}, Names: append(quotaNames(), tenancy.PriorityQuotaName)},
	{Of: &rbacv1.Role{}, Names: []string{tenancy.RoleName}},
	{Of: &rbacv1.RoleBinding{}, Names: []string{tenancy.RoleName}},
	{Of: &networkingv1.NetworkPolicy{}, Names: []string{networkPolicyName}},
}

// quotaNames returns the names that the quota of a tier may have.
func quotaNames() []string {
	return []string{string(common.TierDev), string(common.TierStg), string(common.TierProd)}
}

// isGuardrail reports whether an object is one of the guardrails by its name. In an owned Namespace these names
// are the operator's, whatever created the object: the list is closed, and tenants use other names.
func isGuardrail(_ *v1alpha1.AcmeNamespace, o client.Object) bool {
	return slices.ContainsFunc(Holds, func(h engine.Held) bool {
		return reflect.TypeOf(h.Of) == reflect.TypeOf(o) && slices.Contains(h.Names, o.GetName())
	})
}

// leavable returns the guardrails that a former AcmeNamespace of another tier may have left in a Namespace and
// that this one may not want.
func leavable(namespace string) []client.Object {
	all := []client.Object{&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: networkPolicyName}}}
	for _, tier := range quotaNames() {
		all = append(all, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tier}})
	}
	return all
}
