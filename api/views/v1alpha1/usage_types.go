// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// ResourceUsage is how much of one resource is in use, and how much may be.
type ResourceUsage struct {
	// used is the amount in use. Absent until the quota's status has it.
	// +optional
	Used *resource.Quantity `json:"used,omitempty"`

	// hard is the least limit of the quotas. Absent if there is none.
	// +optional
	Hard *resource.Quantity `json:"hard,omitempty"`

	// percent is used as a share of hard in percent, rounded up; at most 2147483647. Absent if hard is absent or 0.
	// +optional
	Percent *int32 `json:"percent,omitempty"`
}

// ScopedUsage is the usage that a ResourceQuota with scopes counts: that of a part of the pods or claims.
type ScopedUsage struct {
	// quota is the name of the ResourceQuota.
	// +required
	Quota string `json:"quota"`

	// scopes are what the ResourceQuota counts, as in NotBestEffort or PriorityClass In (high).
	// +optional
	// +listType=atomic
	Scopes []string `json:"scopes,omitempty"`

	// resources is the usage for each resource.
	// +optional
	Resources map[corev1.ResourceName]ResourceUsage `json:"resources,omitempty"`
}

// NamespaceUsage is what a namespace uses of its ResourceQuotas. It is visible to users who may list the ResourceQuotas of the
// namespace; its labels, tenant, acmeNamespace and tier only to those who may get the Namespace too.
//
// +kubebuilder:object:root=true
type NamespaceUsage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// tenant is who pays: the label tenancy.acme.com/tenant of the AcmeNamespace, or else its adminUsername. Empty if no
	// AcmeNamespace owns the Namespace.
	// +optional
	Tenant string `json:"tenant,omitempty"`

	// acmeNamespace is the name of the AcmeNamespace that owns the Namespace.
	// +optional
	AcmeNamespace string `json:"acmeNamespace,omitempty"`

	// tier is the deployment tier of the AcmeNamespace.
	// +optional
	Tier common.TierName `json:"tier,omitempty"`

	// resources is the usage for each resource over all ResourceQuotas without scopes.
	// +optional
	Resources map[corev1.ResourceName]ResourceUsage `json:"resources,omitempty"`

	// scoped is the usage that ResourceQuotas with scopes count, sorted by the name of the quota.
	// +optional
	// +listType=map
	// +listMapKey=quota
	Scoped []ScopedUsage `json:"scoped,omitempty"`
}

// NamespaceUsageList is a list of NamespaceUsages.
//
// +kubebuilder:object:root=true
type NamespaceUsageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NamespaceUsage `json:"items"`
}

// TenantUsage is what all namespaces of a tenant use together. It is visible to users who may list the ResourceQuotas of every one
// of them and get every one of them: there are no partial sums.
//
// +kubebuilder:object:root=true
type TenantUsage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// tenant is who pays: the label tenancy.acme.com/tenant of the AcmeNamespaces, or else their adminUsername. The name of this
	// object is the same if that is a DNS subdomain, else made from it.
	// +required
	Tenant string `json:"tenant"`

	// namespaces are the names of the tenant's namespaces, sorted.
	// +optional
	// +listType=set
	Namespaces []string `json:"namespaces,omitempty"`

	// resources is the sum for each resource over the namespaces. hard is absent if a namespace has none.
	// +optional
	Resources map[corev1.ResourceName]ResourceUsage `json:"resources,omitempty"`
}

// TenantUsageList is a list of TenantUsages.
//
// +kubebuilder:object:root=true
type TenantUsageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TenantUsage `json:"items"`
}
