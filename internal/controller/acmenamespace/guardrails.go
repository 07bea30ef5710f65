/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package acmenamespace

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/tenancy"
)

// isGuardrail tells whether an object is one of the children, of whatever tier, by its name. In a Namespace that is ours
// these names are ours as well, whoever has made the object: the list is closed, and what tenants make there has other names.
func isGuardrail(_ *v1alpha1.AcmeNamespace, o client.Object) bool {
	switch o.(type) {
	case *corev1.ResourceQuota:
		return isTier(o.GetName())
	case *corev1.LimitRange:
		return o.GetName() == limitRangeName
	case *networkingv1.NetworkPolicy:
		return o.GetName() == networkPolicyName
	case *rbacv1.Role, *rbacv1.RoleBinding:
		return o.GetName() == tenancy.RoleName
	default:
		return false
	}
}

// leavable are the guardrails that an AcmeNamespace of another tier may have left in a Namespace and that this one may
// not want.
func leavable(namespace string) []client.Object {
	all := []client.Object{&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: networkPolicyName}}}
	for _, tier := range tiers {
		all = append(all, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: string(tier)}})
	}
	return all
}

var tiers = []common.TierName{common.TierDev, common.TierStg, common.TierProd}

func isTier(name string) bool { return slices.Contains(tiers, common.TierName(name)) }
