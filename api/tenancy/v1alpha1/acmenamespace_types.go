// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// DeletionPolicy is what happens to the Namespace when its AcmeNamespace is deleted.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

const (
	// DeletionDelete deletes the Namespace with everything in it.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionRetain keeps the Namespace and everything in it, and removes the operator's labels and
	// annotations.
	DeletionRetain DeletionPolicy = "Retain"
)

// Phase is a one-word summary of the state of an AcmeNamespace.
// +kubebuilder:validation:Enum=CreationInProgress;Created;Terminating
type Phase string

const (
	// PhaseCreationInProgress lasts until the namespace and all its guardrails exist.
	PhaseCreationInProgress Phase = "CreationInProgress"
	// PhaseCreated means that the namespace exists with all its guardrails.
	PhaseCreated Phase = "Created"
	// PhaseTerminating means that the AcmeNamespace is being deleted.
	PhaseTerminating Phase = "Terminating"
)

// AcmeNamespaceSpec defines the namespace that is requested.
type AcmeNamespaceSpec struct {
	// namespaceName is the name of the Namespace to provide: a DNS-1123 label of at most 63 characters. It
	// cannot be changed. Names that belong to the cluster are rejected: default, kube-*, openshift-*, olm,
	// operators, the operator's own namespace, and those that the operator's configuration protects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be a DNS-1123 label: lower-case letters, digits and '-', beginning and ending with a letter or digit, for instance team-a"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot be changed; create another AcmeNamespace and move the workloads"
	// +kubebuilder:validation:XValidation:rule="!(self in ['default', 'olm', 'operators']) && !self.startsWith('kube-') && !self.startsWith('openshift-')",message="is reserved for the cluster: default, kube-*, openshift-*, olm and operators cannot be handed to a tenant"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=1,displayName="Namespace",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	NamespaceName string `json:"namespaceName"`

	// adminUsername is the user who administers the namespace, exactly as the API server knows the user after
	// authentication: 1 to 256 characters, for instance sam, oidc:sam, sam@acme.com or CN=sam,OU=x. Names that
	// begin with system: belong to Kubernetes; of those only service accounts
	// (system:serviceaccount:NAMESPACE:NAME) are accepted.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.trim() == self && !self.matches('[\\\\p{Cc}\\\\p{Zl}\\\\p{Zp}\\\\x{061c}\\\\x{200e}\\\\x{200f}\\\\x{202a}-\\\\x{202e}\\\\x{2066}-\\\\x{2069}\\\\x{feff}]')",message="must not begin or end with white space or hold control characters, line separators or marks of direction"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('system:') || self.matches('^system:serviceaccount:[^:]+:[^:]+$')",message="system: names belong to Kubernetes; give a user of your identity provider, or system:serviceaccount:NAMESPACE:NAME"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=2,displayName="Admin user",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	AdminUsername string `json:"adminUsername"`

	// adminGroups are groups whose members administer the namespace like the admin user, exactly as the API
	// server knows them. Groups that begin with system: are rejected, except for the service accounts of one
	// namespace (system:serviceaccounts:NAMESPACE).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(g, g.trim() == g && !g.matches('[\\\\p{Cc}\\\\p{Zl}\\\\p{Zp}\\\\x{061c}\\\\x{200e}\\\\x{200f}\\\\x{202a}-\\\\x{202e}\\\\x{2066}-\\\\x{2069}\\\\x{feff}]'))",message="must not begin or end with white space or hold control characters, line separators or marks of direction"
	// +kubebuilder:validation:XValidation:rule="self.all(g, !g.startsWith('system:') || g.matches('^system:serviceaccounts:[^:]+$'))",message="system: groups belong to Kubernetes; give groups of your identity provider, or system:serviceaccounts:NAMESPACE"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=3,displayName="Admin groups",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	AdminGroups []string `json:"adminGroups,omitempty"`

	// deploymentTier sets how much the namespace may use and how strong its guardrails are: dev (default), stg
	// or prod. It may be changed at any time. The tiers are built in and can be overridden by a DeploymentTier
	// object of the same name.
	// +optional
	// +kubebuilder:default=dev
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=4,displayName="Deployment tier",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:dev","urn:alm:descriptor:com.tectonic.ui:select:stg","urn:alm:descriptor:com.tectonic.ui:select:prod"}
	DeploymentTier common.TierName `json:"deploymentTier,omitempty"`

	// deletionPolicy is what happens to the Namespace when this object is deleted: Delete removes it with
	// everything in it, Retain keeps it. Default: Retain for prod and for a Namespace that existed before and
	// was adopted, else Delete. Retain, once status.deletionPolicy shows it, holds until Delete is set here,
	// also after a change of tier.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=5,displayName="Deletion policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Delete","urn:alm:descriptor:com.tectonic.ui:select:Retain"}
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// adopt allows the operator to adopt a Namespace that exists already and that no other AcmeNamespace owns.
	// Default false: an existing Namespace is left alone and this object waits with the reason NameTaken.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=6,displayName="Adopt an existing namespace",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Adopt bool `json:"adopt,omitempty"`

	// quota overrides the tier's hard limits, resource by resource, in the form of a ResourceQuota's spec.hard,
	// for instance {"cpu": "8", "requests.storage": "100Gi"}.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=7,displayName="Quota",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Quota corev1.ResourceList `json:"quota,omitempty"`

	// labels are set on the Namespace in addition to the operator's own. Keys of Kubernetes (kubernetes.io,
	// *.kubernetes.io, k8s.io, *.k8s.io), of this operator (*acme.com) and the key admin are rejected, because
	// guardrails depend on them. So are those that the operator's configuration reserves because other software
	// in the cluster relies on them.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'admin' && !k.matches('^([^/]*[.])?(kubernetes[.]io|k8s[.]io|acme[.]com)/'))",message="keys of *kubernetes.io, *k8s.io and *acme.com and the key admin are reserved: guardrails depend on them; use a prefix of your own"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="every key must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))",message="every value must be a label value: at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=8,displayName="Labels of the namespace",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Labels map[string]LabelValue `json:"labels,omitempty"`
}

// LabelValue is the value of a label.
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// QuotaStatus is what the namespace may use and what it uses, as its ResourceQuota reports.
type QuotaStatus struct {
	// hard is the enforced limit for each resource.
	// +optional
	Hard corev1.ResourceList `json:"hard,omitempty"`
	// used is the amount that is in use of each resource.
	// +optional
	Used corev1.ResourceList `json:"used,omitempty"`
}

// AcmeNamespaceStatus is the observed state of an AcmeNamespace.
type AcmeNamespaceStatus struct {
	common.Status `json:",inline"`

	// phase is a one-word summary: CreationInProgress, Created or Terminating. Programs should read
	// the conditions instead.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=1,displayName="Phase",xDescriptors={"urn:alm:descriptor:io.kubernetes.phase"}
	Phase Phase `json:"phase,omitempty"`

	// namespaceUID is the UID of the Namespace that this object owns; empty while it owns none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=4,displayName="UID of the namespace",xDescriptors={"urn:alm:descriptor:text"}
	NamespaceUID types.UID `json:"namespaceUID,omitempty"`

	// deletionPolicy is what would happen to the Namespace if this object were deleted now. Retain is a record:
	// once shown here, it holds until spec.deletionPolicy is Delete.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=2,displayName="On deletion",xDescriptors={"urn:alm:descriptor:text"}
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// quota is what the namespace may use and what it uses.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=3,displayName="Quota",xDescriptors={"urn:alm:descriptor:text"}
	Quota *QuotaStatus `json:"quota,omitempty"`

	// podSecurity is the Pod Security level that all pods of the namespace were found to meet. They are not
	// checked again while that level is enforced. Empty while some violate it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=5,displayName="Pod Security level of all pods",xDescriptors={"urn:alm:descriptor:text"}
	PodSecurity PodSecurityLevel `json:"podSecurity,omitempty"`

	// administrators are the subjects of the RoleBinding namespace-admin, as "User NAME" and
	// "Group NAME".
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=33
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=5,displayName="Administrators"
	Administrators []string `json:"administrators,omitempty"`

	// adopted is what the Namespace contained at its adoption that guardrails do not cover: RoleBindings,
	// NetworkPolicies that are open to everybody, quotas and limits, and labels of Pod Security. It was left
	// alone; review it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=6,displayName="Found at adoption"
	Adopted *Findings `json:"adopted,omitempty"`

	// formerAdministrators is what was found at the last change of administrators and left alone: the
	// RoleBindings other than namespace-admin, those of former administrators first.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=7,displayName="Found when administrators changed"
	FormerAdministrators *Findings `json:"formerAdministrators,omitempty"`
}

// Findings is what the operator found and left alone.
type Findings struct {
	// count is the number of findings.
	// +required
	Count int32 `json:"count"`
	// items describes the first ten findings.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Items []string `json:"items,omitempty"`
}

// AcmeNamespace requests a namespace with guardrails: a quota, default limits for containers, a role for its
// administrator that cannot undo them, a Pod Security level and a network policy.
//
// Deleting it deletes the Namespace with everything in it, or keeps it (spec.deletionPolicy).
//
// +operator-sdk:csv:customresourcedefinitions:order=1,displayName="Acme Namespace",resources={{Namespace,v1,""},{ResourceQuota,v1,""},{LimitRange,v1,""},{Role,v1,""},{RoleBinding,v1,""},{NetworkPolicy,v1,""}}
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=acmens,categories=acme
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.namespaceName`
// +kubebuilder:printcolumn:name="Tier",type=string,JSONPath=`.spec.deploymentTier`
// +kubebuilder:printcolumn:name="Admin",type=string,JSONPath=`.spec.adminUsername`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Deletion",type=string,priority=1,JSONPath=`.status.deletionPolicy`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AcmeNamespace struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the namespace that is requested.
	// +required
	Spec AcmeNamespaceSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status AcmeNamespaceStatus `json:"status,omitempty"`
}

// CommonStatus is the part of the status that every kind has.
func (n *AcmeNamespace) CommonStatus() *common.Status { return &n.Status.Status }

// EffectiveDeletionPolicy returns the policy in effect: the one in the spec, else a Retain that was recorded
// before, else the tier's.
func (n *AcmeNamespace) EffectiveDeletionPolicy() DeletionPolicy {
	switch {
	case n.Spec.DeletionPolicy != "":
		return n.Spec.DeletionPolicy
	case n.Status.DeletionPolicy == DeletionRetain || n.Spec.DeploymentTier == common.TierProd:
		return DeletionRetain
	default:
		return DeletionDelete
	}
}

// AcmeNamespaceList is a list of AcmeNamespaces.
// +kubebuilder:object:root=true
type AcmeNamespaceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AcmeNamespace `json:"items"`
}
