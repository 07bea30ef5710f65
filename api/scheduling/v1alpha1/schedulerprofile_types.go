// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Program is a scheduler of your own.
type Program struct {
	// image is its image.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	Image string `json:"image"`

	// command replaces the image's entry point. At most 64 words.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Command []string `json:"command,omitempty"`

	// args are the arguments. At most 64.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Args []string `json:"args,omitempty"`
}

// WhenUnavailable is what happens to pods that are created while no scheduler serves the profile.
// +kubebuilder:validation:Enum=Wait;UseDefault
type WhenUnavailable string

const (
	// UnavailableWait lets them wait.
	UnavailableWait WhenUnavailable = "Wait"
	// UnavailableUseDefault leaves them to the default scheduler.
	UnavailableUseDefault WhenUnavailable = "UseDefault"
)

// Routing gives pods a scheduler that do not ask for one.
type Routing struct {
	// profile is the schedulerName of the profile, one of this object's.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Profile string `json:"profile"`

	// namespaceLabels select namespaces that have all of these labels. 1 to 8. Pods that are created there get the
	// scheduler, unless they ask for another one or belong to a DaemonSet.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="every key must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	NamespaceLabels map[string]LabelValue `json:"namespaceLabels"`

	// whenUnavailable is what happens while no scheduler serves the profile: Wait (default) routes pods all the
	// same, and they wait, so that the rules on nodes hold; UseDefault leaves new pods to the default scheduler.
	// +optional
	// +kubebuilder:default=Wait
	WhenUnavailable WhenUnavailable `json:"whenUnavailable,omitempty"`
}

// Use limits who may name the profiles.
type Use struct {
	// namespaceLabels select namespaces that have all of these labels. 1 to 8. Pods elsewhere that name one of the
	// profiles are rejected.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="every key must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	NamespaceLabels map[string]LabelValue `json:"namespaceLabels"`
}

// SchedulerProfileSpec defines one scheduler and its profiles.
//
// +kubebuilder:validation:XValidation:rule="!has(self.program) || !has(self.image) && !has(self.pluginNames)",message="must not have image or pluginNames beside it, which are for builds of kube-scheduler",fieldPath=".program"
// +kubebuilder:validation:XValidation:rule="!has(self.program) || self.profiles.all(p, !has(p.nodes) && !has(p.strategy) && !has(p.resources) && !has(p.spread) && !has(p.weights) && !has(p.preemption) && !has(p.percentageOfNodesToScore) && !has(p.raw))",message="must have profiles with schedulerName only: a program of your own gets no configuration of kube-scheduler",fieldPath=".program"
// +kubebuilder:validation:XValidation:rule="!has(self.program) || !has(self.retryAfter)",message="must not have retryAfter beside it, which is a flag of kube-scheduler",fieldPath=".program"
// +kubebuilder:validation:XValidation:rule="!has(self.pluginNames) || has(self.image)",message="needs image, the build that has these plugins",fieldPath=".pluginNames"
// +kubebuilder:validation:XValidation:rule="!has(self.routing) || self.profiles.exists(p, p.schedulerName == self.routing.profile)",message="must be the schedulerName of one of spec.profiles",fieldPath=".routing.profile"
type SchedulerProfileSpec struct {
	// profiles are the ways to choose nodes that this scheduler offers. 1 to 8. Profiles for the same nodes belong
	// into one object: two schedulers do not see what the other one is about to place.
	// +required
	// +listType=map
	// +listMapKey=schedulerName
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=1,displayName="Profiles",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Profiles []Profile `json:"profiles"`

	// image is a build of kube-scheduler of your own, with its flags, for instance one with further plugins. Its
	// version has to fit the cluster, which is not checked. Default: the image of the operator's configuration
	// that fits the cluster's version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=8,displayName="Image of your own",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Image string `json:"image,omitempty"`

	// pluginNames are the names of the plugins that image has in addition to those of kube-scheduler. At most 64.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z][-A-Za-z0-9_.]*$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=9,displayName="Plugins of that image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PluginNames []string `json:"pluginNames,omitempty"`

	// program is a scheduler of your own instead of kube-scheduler. It gets the environment variables
	// SCHEDULER_NAMES (the names of the profiles, separated by commas), LEASE_NAME and LEASE_NAMESPACE (a Lease
	// that it may use to elect one of its replicas).
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=10,displayName="Program of your own",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Program *Program `json:"program,omitempty"`

	// replicas is how many pods the scheduler has, one of which is active. 1 to 3. Default 2; with program 1,
	// because a program need not be able to elect one of them.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=2,displayName="Replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas *int32 `json:"replicas,omitempty"`

	// resources are those of the scheduler's own pods. Default: none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=11,displayName="Resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// priorityClassName is the PriorityClass of the scheduler's own pods. Default: the cluster's.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=12,displayName="Priority class",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// tolerations are taints of nodes that do not keep the scheduler's own pods away.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=13,displayName="Tolerations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// nodeSelector are labels that a node must have to run the scheduler's own pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=14,displayName="Node selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:nodeSelector","urn:alm:descriptor:com.tectonic.ui:advanced"}
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// serviceAccountName is an account in the operator's namespace with further rights, for plugins that need them.
	// It must have the label scheduling.acme.com/allowed. Default platform-operator-scheduler.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a ServiceAccount"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=15,displayName="Service account",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// retryAfter is how long a pod that fits on no node waits until it is tried again although nothing has happened
	// that kube-scheduler knows to matter, for instance because a node has got a label of nodes.labelKeys. It may
	// need up to 30s more. 10s to 5m, default 30s.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('5m')",message="must be from 10s to 5m, for instance 30s"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=5,displayName="Retry after",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	RetryAfter *metav1.Duration `json:"retryAfter,omitempty"`

	// routing gives one of the profiles to pods that do not ask for a scheduler. Default: none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=3,displayName="Routing",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Routing *Routing `json:"routing,omitempty"`

	// use limits who may name the profiles. Default: everybody.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=4,displayName="Use",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Use *Use `json:"use,omitempty"`
}
