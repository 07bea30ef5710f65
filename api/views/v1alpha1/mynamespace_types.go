// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// MyNamespace is a Namespace that the user who asks may get. It has the name, UID, labels and times of the Namespace, and none of
// its annotations.
//
// +kubebuilder:object:root=true
type MyNamespace struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// phase is that of the Namespace: Active, or Terminating while it is being deleted.
	// +optional
	Phase corev1.NamespacePhase `json:"phase,omitempty"`

	// tier is the deployment tier of the AcmeNamespace that owns the Namespace. Empty if none does.
	// +optional
	Tier common.TierName `json:"tier,omitempty"`

	// roles are the roles of the user who asks, as Role/NAME and ClusterRole/NAME: those that RoleBindings in the Namespace give,
	// and those that ClusterRoleBindings give if they allow to get the Namespace. Roles that do not exist are left out. It is *
	// for members of the group system:masters.
	// +optional
	// +listType=set
	Roles []string `json:"roles,omitempty"`
}

// MyNamespaceList is a list of MyNamespaces.
//
// +kubebuilder:object:root=true
type MyNamespaceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MyNamespace `json:"items"`
}
