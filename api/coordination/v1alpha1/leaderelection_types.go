// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LabelValue is the value of a label.
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// Label is a label of pods.
type Label struct {
	// key is the label's key. Default leader.
	// +optional
	// +kubebuilder:default=leader
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([^/]*[.])?(kubernetes[.]io|k8s[.]io|acme[.]com)/')",message="must not have a prefix of Kubernetes (kubernetes.io, k8s.io) or of the platform (acme.com); use a prefix of your own, or none"
	// +kubebuilder:validation:XValidation:rule="!(self in ['pod-template-hash', 'controller-revision-hash', 'pod-template-generation', 'controller-uid', 'job-name'])",message="must not be a label by which Kubernetes' controllers find their pods; choose another one, for instance leader"
	Key string `json:"key,omitempty"`

	// value is the label's value. Default "true".
	// +optional
	// +kubebuilder:default="true"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="must be a label value: at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
	Value string `json:"value,omitempty"`
}

// ServicePort is a port of a Service.
type ServicePort struct {
	// name is the port's name, which is required if there are several.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Label().validate(self).hasValue()",message="must be at most 63 lower-case letters, digits and '-', beginning and ending with a letter or digit"
	Name string `json:"name,omitempty"`

	// protocol is TCP (default), UDP or SCTP.
	// +optional
	// +kubebuilder:default=TCP
	// +kubebuilder:validation:Enum=TCP;UDP;SCTP
	Protocol corev1.Protocol `json:"protocol,omitempty"`

	// appProtocol is a hint for load balancers, for instance http or kubernetes.io/h2c.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.qualifiedName().validate(self).hasValue()",message="must be a name such as http, or one with a DNS prefix such as kubernetes.io/h2c"
	AppProtocol string `json:"appProtocol,omitempty"`

	// port is the port of the Service. 1 to 65535.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`

	// targetPort is the port of the pods: a number, 1 to 65535. Default: port.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	TargetPort int32 `json:"targetPort,omitempty"`
}

// LeaderService is the Service that reaches the leader.
//
// +kubebuilder:validation:XValidation:rule="self.ports.size() == 1 || self.ports.all(p, has(p.name) && size(p.name) > 0)",message="must have names for all ports if there are several",fieldPath=".ports"
// +kubebuilder:validation:XValidation:rule="self.ports.all(p, self.ports.exists_one(o, has(o.name) && has(p.name) ? o.name == p.name : has(o.name) == has(p.name)))",message="must not have two ports of one name",fieldPath=".ports"
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || (has(self.type) && self.type != 'ClusterIP')",message="needs the type NodePort or LoadBalancer",fieldPath=".externalTrafficPolicy"
type LeaderService struct {
	// name is the Service's name. Default: the name of this object, followed by -leader.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1035Label().validate(self).hasValue()",message="must be the name of a Service: at most 63 lower-case letters, digits and '-', beginning with a letter, for instance ledger-leader"
	Name string `json:"name,omitempty"`

	// type is ClusterIP (default), NodePort or LoadBalancer.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// ports are the ports of the Service. At least one, at most 20.
	// +required
	// +listType=map
	// +listMapKey=port
	// +listMapKey=protocol
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	Ports []ServicePort `json:"ports"`

	// annotations are those of the Service, for instance for a load balancer. At most 32.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k.lowerAscii()).hasValue())",message="every key must be an annotation key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches('^([^/]*[.])?acme[.]com/'))",message="must not have keys of the platform (acme.com)"
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// sessionAffinity is None (default) or ClientIP.
	// +optional
	// +kubebuilder:validation:Enum=None;ClientIP
	SessionAffinity corev1.ServiceAffinity `json:"sessionAffinity,omitempty"`

	// externalTrafficPolicy is Cluster or Local, for the types NodePort and LoadBalancer. Default Cluster.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
}

// AnnotationValue is the value of an annotation.
// +kubebuilder:validation:MaxLength=4096
type AnnotationValue string

// Members configures the headless Service of all candidates.
type Members struct {
	// ports are the ports of the headless Service NAME-members, which lists all candidates. At most 20; default none.
	// +optional
	// +listType=map
	// +listMapKey=port
	// +listMapKey=protocol
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:XValidation:rule="self.size() < 2 || self.all(p, has(p.name) && p.name != '' && self.exists_one(o, has(o.name) && o.name == p.name))",message="must have a name of its own for each port if there are several"
	Ports []ServicePort `json:"ports,omitempty"`
}

// Switch is Disabled or Enabled.
// +kubebuilder:validation:Enum=Disabled;Enabled
type Switch string

const (
	// Disabled switches something off.
	Disabled Switch = "Disabled"
	// Enabled switches something on.
	Enabled Switch = "Enabled"
)

// Discovery configures how applications that know nothing of Kubernetes learn who leads.
type Discovery struct {
	// configMap Enabled makes the ConfigMap NAME-leader with the keys leader, address, epoch and members (one
	// on each line), for pods that mount it as files. Default Disabled.
	// +optional
	// +kubebuilder:default=Disabled
	ConfigMap Switch `json:"configMap,omitempty"`
}

// StopOld is what happens to the old leader's pod.
// +kubebuilder:validation:Enum=Never;Delete
type StopOld string

const (
	// StopNever leaves the pod alone.
	StopNever StopOld = "Never"
	// StopDelete deletes the pod, and awaits its end.
	StopDelete StopOld = "Delete"
)

// Unreachable is what happens when the end of the old leader is never confirmed.
// +kubebuilder:validation:Enum=Wait;Take
type Unreachable string

const (
	// UnreachableWait waits for ever.
	UnreachableWait Unreachable = "Wait"
	// UnreachableTake chooses a new leader after a time.
	UnreachableTake Unreachable = "Take"
)

// Handover configures when and how the leader changes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.unreachable) || self.unreachable == 'Wait' || self.stopOld == 'Delete'",message="needs stopOld: Delete, without which no end is awaited",fieldPath=".unreachable"
// +kubebuilder:validation:XValidation:rule="!has(self.takeAfter) || (has(self.unreachable) && self.unreachable == 'Take')",message="needs unreachable: Take",fieldPath=".takeAfter"
type Handover struct {
	// notReadyFor is how long the leader may be not Ready, for instance 10s. 0s to 10m, default 5s. A leader
	// that terminates is replaced at once.
	// +optional
	// +kubebuilder:default="5s"
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('10m')",message="must be from 0s to 10m, for instance 5s"
	NotReadyFor *metav1.Duration `json:"notReadyFor,omitempty"`

	// stopOld is Never (default) or Delete: the old leader's pod is deleted, and there is no new leader before
	// it is gone.
	// +optional
	// +kubebuilder:default=Never
	StopOld StopOld `json:"stopOld,omitempty"`

	// unreachable is what happens with stopOld: Delete when the end of the old pod is not confirmed, because
	// its node is lost. Wait (default) waits for ever, which is consistent; Take chooses a new leader after
	// takeAfter, which is available: the old one may still act.
	// +optional
	// +kubebuilder:default=Wait
	Unreachable Unreachable `json:"unreachable,omitempty"`

	// takeAfter is how long the end of the old pod may be overdue with unreachable: Take. 2m to 1h, default 5m.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('2m') && duration(self) <= duration('1h')",message="must be from 2m to 1h, for instance 5m"
	TakeAfter *metav1.Duration `json:"takeAfter,omitempty"`
}

// Preference gives weight to some of the candidates.
//
// +kubebuilder:validation:XValidation:rule="[has(self.podName), has(self.zone), has(self.podLabels)].filter(x, x).size() == 1",message="must have exactly one of podName, zone and podLabels"
type Preference struct {
	// weight is added for each candidate that this selects. 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// podName selects the pod of this name, for instance that of a StatefulSet.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a pod, for instance ledger-0"
	PodName string `json:"podName,omitempty"`

	// zone selects pods on nodes of this zone (topology.kubernetes.io/zone).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="must be the value of the label topology.kubernetes.io/zone, for instance europe-west4-a"
	Zone string `json:"zone,omitempty"`

	// podLabels selects pods that have all of these labels. 1 to 8.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="every key must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))",message="every value must be a label value: at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
	PodLabels map[string]LabelValue `json:"podLabels,omitempty"`
}

// FailbackPolicy is whether a better candidate takes over from a leader that is well.
// +kubebuilder:validation:Enum=Never;Prefer
type FailbackPolicy string

const (
	// FailbackNever leaves the leader in place.
	FailbackNever FailbackPolicy = "Never"
	// FailbackPrefer hands over to the better candidate.
	FailbackPrefer FailbackPolicy = "Prefer"
)

// Failback configures whether a better candidate takes over from a leader that is well.
type Failback struct {
	// policy is Never (default: the leader stays) or Prefer.
	// +optional
	// +kubebuilder:default=Never
	Policy FailbackPolicy `json:"policy,omitempty"`

	// after is how long a candidate of a higher weight has to be Ready before it takes over with Prefer. 0s to
	// 24h, default 5m.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="must be from 0s to 24h, for instance 5m"
	After *metav1.Duration `json:"after,omitempty"`
}

// DeletionPolicy is what happens to the marks on pods when their LeaderElection is deleted.
// +kubebuilder:validation:Enum=Clear;Keep
type DeletionPolicy string

const (
	// DeletionClear takes the label off.
	DeletionClear DeletionPolicy = "Clear"
	// DeletionKeep leaves label and annotation as they are.
	DeletionKeep DeletionPolicy = "Keep"
)

// LeaderElectionSpec defines who may lead, and how that is published.
//
// +kubebuilder:validation:XValidation:rule="!((has(self.label) && has(self.label.key) ? self.label.key : 'leader') in self.podSelector)",message="must not have the key of spec.label: the label is put on one of the pods that are selected",fieldPath=".podSelector"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.label) || (has(self.label) && self.label == oldSelf.label)",message="cannot be changed: pods and Services would be left with the old one. Create another LeaderElection and delete this one",fieldPath=".label"
type LeaderElectionSpec struct {
	// podSelector selects the candidates by their labels; all must match. 1 to 8 labels. Pods of Jobs are no
	// candidates, because they end. At most 1,000 pods may match.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="every key must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))",message="every value must be a label value: at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=1,displayName="Labels of the pods",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	PodSelector map[string]LabelValue `json:"podSelector"`

	// label is what the leader is marked with. It cannot be changed. Default leader=true. Neither the selector
	// nor the pod template of a workload may have its key.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=5,displayName="Label of the leader",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Label Label `json:"label,omitzero"`

	// service is a Service that reaches the leader. Default: none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=2,displayName="Service of the leader",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Service *LeaderService `json:"service,omitempty"`

	// members configures the headless Service NAME-members, which always exists: whether pods are Ready is
	// read from its EndpointSlices.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=6,displayName="Service of all candidates",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Members Members `json:"members,omitzero"`

	// discovery configures how applications that know nothing of Kubernetes learn who leads.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=7,displayName="Files about the leader",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Discovery Discovery `json:"discovery,omitzero"`

	// handover configures when and how the leader changes.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=3,displayName="Hand-over",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Handover Handover `json:"handover,omitzero"`

	// preferred gives weight to candidates: of those that are Ready, the one with the highest sum leads. If
	// several have it, those of the newest pod template come first, then those that are Ready for longest, then
	// the first by name. At most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=4,displayName="Preferred candidates",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Preferred []Preference `json:"preferred,omitempty"`

	// failback configures whether a better candidate takes over from a leader that is well.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=8,displayName="Failback",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Failback Failback `json:"failback,omitzero"`

	// deletionPolicy is what happens to the marks on pods when this object is deleted: Clear (default) takes
	// the label off, Keep leaves it.
	// +optional
	// +kubebuilder:default=Clear
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=9,displayName="Marks on deletion",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Clear","urn:alm:descriptor:com.tectonic.ui:select:Keep"}
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}
