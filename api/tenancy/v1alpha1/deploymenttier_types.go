// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodSecurityLevel is a level of the Pod Security Standards.
// +kubebuilder:validation:Enum=privileged;baseline;restricted
type PodSecurityLevel string

// The levels of the Pod Security Standards.
const (
	PodSecurityPrivileged PodSecurityLevel = "privileged"
	PodSecurityBaseline   PodSecurityLevel = "baseline"
	PodSecurityRestricted PodSecurityLevel = "restricted"
)

// Isolation is which traffic of a namespace is restricted.
// +kubebuilder:validation:Enum=None;Ingress;IngressAndEgress
type Isolation string

const (
	// IsolationNone creates no NetworkPolicy.
	IsolationNone Isolation = "None"
	// IsolationIngress restricts traffic to the pods; traffic from them is not restricted.
	IsolationIngress Isolation = "Ingress"
	// IsolationIngressAndEgress restricts both directions.
	IsolationIngressAndEgress Isolation = "IngressAndEgress"
)

// ContainerLimits are the defaults and bounds that a LimitRange sets for containers.
type ContainerLimits struct {
	// default are the limits of containers that state none.
	// +optional
	Default corev1.ResourceList `json:"default,omitempty"`
	// defaultRequest are the requests of containers that state none.
	// +optional
	DefaultRequest corev1.ResourceList `json:"defaultRequest,omitempty"`
	// max is the most that one container may request.
	// +optional
	Max corev1.ResourceList `json:"max,omitempty"`
}

// NetworkRules define which traffic to and from the pods of a namespace is allowed. Traffic inside the
// namespace and to the cluster's DNS is always allowed.
type NetworkRules struct {
	// isolation is which directions are restricted: None, Ingress or IngressAndEgress.
	// +required
	Isolation Isolation `json:"isolation"`
	// fromNamespaces select further namespaces, by their labels, whose pods may reach the pods, for instance
	// those of the ingress controller. An empty list adds none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	FromNamespaces []metav1.LabelSelector `json:"fromNamespaces,omitempty"`
	// toNamespaces select further namespaces, by their labels, that the pods may reach. It has an effect with
	// the isolation IngressAndEgress only.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ToNamespaces []metav1.LabelSelector `json:"toNamespaces,omitempty"`
	// toCIDRs are address ranges that the pods may reach, for instance 10.20.0.0/16. They have an effect with
	// the isolation IngressAndEgress only.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="self.all(c, isCIDR(c) && cidr(c) == cidr(c).masked())",message="every entry must be an address range such as 10.20.0.0/16, without bits beyond the prefix length"
	ToCIDRs []string `json:"toCIDRs,omitempty"`
}

// DeploymentTierSpec overrides a built-in tier; what is left out keeps its built-in value.
type DeploymentTierSpec struct {
	// quota overrides the built-in hard limits, resource by resource, in the form of a ResourceQuota's
	// spec.hard, for instance {"cpu": "20", "count/secrets": "500"}. Resources that it does not name keep their
	// built-in limits.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	Quota corev1.ResourceList `json:"quota,omitempty"`
	// limitRange are the defaults and bounds for containers. It replaces the built-in ones as a whole, except
	// for the defaults of ephemeral-storage, which are kept unless it names that resource. A quota on cpu or
	// memory needs defaults here: without them, pods that state none are rejected.
	// +optional
	LimitRange *ContainerLimits `json:"limitRange,omitempty"`
	// priorityClasses are the names of the priority classes that pods may have; pods without one are always
	// allowed. Default: any class except Kubernetes' own, system-cluster-critical and system-node-critical. If
	// the cluster has a global default class, name it as well: pods without a class get it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	PriorityClasses *[]string `json:"priorityClasses,omitempty"`
	// podSecurity is the level of the Pod Security Standards that is enforced in the namespace:
	// privileged, baseline or restricted.
	// +optional
	PodSecurity PodSecurityLevel `json:"podSecurity,omitempty"`
	// network defines which traffic to and from the pods is allowed.
	// +optional
	Network *NetworkRules `json:"network,omitempty"`
	// hostnames are the host names that WebApps of a namespace may have: a name such as shop.acme.com, or *. and
	// a domain for all names below it, such as *.apps.acme.com. An empty list allows none. Left out, any
	// is allowed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^([*][.])?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$`
	Hostnames *[]string `json:"hostnames,omitempty"`
	// ingressAnnotations are the annotations that Ingresses of a namespace may have, those of its WebApps among them:
	// a key such as nginx.ingress.kubernetes.io/proxy-body-size, or a prefix with /* for all keys that begin with
	// it, such as nginx.ingress.kubernetes.io/*. An empty list allows none. Left out, any is allowed but those that take further
	// host names, which this list cannot allow either.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	// +kubebuilder:validation:items:Pattern=`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*/([*]|[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)|[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$`
	IngressAnnotations *[]string `json:"ingressAnnotations,omitempty"`
	// adminRules are what the administrator of a namespace may do. They replace the built-in rules as a whole.
	// Rules that would let the administrator undo the guardrails are rejected: wildcards, the verbs bind,
	// escalate and impersonate, and any write on namespaces, resourcequotas, limitranges and networkpolicies.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	AdminRules []AdminRule `json:"adminRules,omitempty"`
}

// AdminRule is one rule of the administrator's role: the verbs that are allowed on resources of API
// groups.
// +kubebuilder:validation:XValidation:rule="!('*' in self.verbs) && !('*' in self.apiGroups) && !self.resources.exists(r, r.contains('*'))",message="wildcards are rejected: name the verbs, API groups and resources"
// +kubebuilder:validation:XValidation:rule="!self.verbs.exists(v, v in ['bind', 'escalate', 'impersonate'])",message="the verbs bind, escalate and impersonate are rejected: they would let the administrator undo the guardrails"
// +kubebuilder:validation:XValidation:rule="self.verbs.all(v, v in ['get', 'list', 'watch']) || !self.resources.exists(r, r.matches('^(namespaces|resourcequotas|limitranges|networkpolicies)(/|$)'))",message="namespaces, resourcequotas, limitranges and networkpolicies are guardrails: only get, list and watch may be allowed on them"
type AdminRule struct {
	// apiGroups are the API groups; "" is the core group.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[-a-z0-9.*]*$`
	APIGroups []string `json:"apiGroups"`
	// resources are the resources, with a subresource after a slash, for instance pods/log.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[-a-z0-9./*]*$`
	Resources []string `json:"resources"`
	// verbs are the verbs, for instance get, list, watch, create, update, patch, delete.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[-A-Za-z*]*$`
	Verbs []string `json:"verbs"`
}

// PolicyRule returns the rule in the form of RBAC.
func (r AdminRule) PolicyRule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: r.APIGroups, Resources: r.Resources, Verbs: r.Verbs}
}

// DeploymentTier overrides the built-in tier of the same name for every AcmeNamespace of that tier. A change
// takes effect in all of them at once; deleting it restores the built-in tier.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=dtier,categories=acme
// +kubebuilder:validation:XValidation:rule="self.metadata.name in ['dev', 'stg', 'prod']",message="metadata.name must be dev, stg or prod: a DeploymentTier overrides the built-in tier of that name"
// +kubebuilder:printcolumn:name="CPU",type=string,JSONPath=`.spec.quota.cpu`
// +kubebuilder:printcolumn:name="Memory",type=string,JSONPath=`.spec.quota.memory`
// +kubebuilder:printcolumn:name="Pods",type=string,JSONPath=`.spec.quota.pods`
// +kubebuilder:printcolumn:name="Security",type=string,JSONPath=`.spec.podSecurity`
// +kubebuilder:printcolumn:name="Network",type=string,JSONPath=`.spec.network.isolation`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DeploymentTier struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what differs from the built-in tier.
	// +required
	Spec DeploymentTierSpec `json:"spec"`
}

// DeploymentTierList is a list of DeploymentTiers.
// +kubebuilder:object:root=true
type DeploymentTierList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DeploymentTier `json:"items"`
}
