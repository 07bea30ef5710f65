// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// ProfileStatus is the observed state of a profile.
type ProfileStatus struct {
	// schedulerName is the name of the profile.
	SchedulerName string `json:"schedulerName"`

	// nodes is how many nodes have the labels that the profile asks for.
	// +optional
	Nodes int32 `json:"nodes,omitempty"`

	// pending is how many pods that name the profile have no node yet.
	// +optional
	Pending int32 `json:"pending,omitempty"`

	// oldestPending is when the oldest of them was created, to the minute.
	// +optional
	OldestPending *metav1.Time `json:"oldestPending,omitempty"`

	// unserved is how many of them no scheduler has looked at for a minute.
	// +optional
	Unserved int32 `json:"unserved,omitempty"`
}

// SchedulerProfileStatus is the observed state of a SchedulerProfile.
type SchedulerProfileStatus struct {
	common.Status `json:",inline"`

	// clusterVersion is the version of the API server that the image was chosen for, for instance 1.36.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=1,displayName="Version of the cluster",xDescriptors={"urn:alm:descriptor:text"}
	ClusterVersion string `json:"clusterVersion,omitempty"`

	// image is the image of the scheduler.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=2,displayName="Image",xDescriptors={"urn:alm:descriptor:text"}
	Image string `json:"image,omitempty"`

	// wantedHash identifies the configuration that the spec asks for.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=3,displayName="Wanted configuration",xDescriptors={"urn:alm:descriptor:text"}
	WantedHash string `json:"wantedHash,omitempty"`

	// servingHash identifies the configuration with which all pods last ran.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=4,displayName="Serving configuration",xDescriptors={"urn:alm:descriptor:text"}
	ServingHash string `json:"servingHash,omitempty"`

	// activePod is the pod that places pods: the holder of the Lease.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=5,displayName="Active pod",xDescriptors={"urn:alm:descriptor:text"}
	ActivePod string `json:"activePod,omitempty"`

	// profiles has a row for each profile.
	// +optional
	// +listType=map
	// +listMapKey=schedulerName
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=6,displayName="Profiles",xDescriptors={"urn:alm:descriptor:text"}
	Profiles []ProfileStatus `json:"profiles,omitempty"`
}

// SchedulerProfile is a scheduler beside the default one, which it never touches: pods that name one of its profiles
// in spec.schedulerName are placed by it. If a rule on nodes is all that you need, a node affinity in the pods is simpler.
//
// +operator-sdk:csv:customresourcedefinitions:order=9,displayName="Scheduler Profile",resources={{Deployment,v1,""},{ConfigMap,v1,""},{Service,v1,""},{PodDisruptionBudget,v1,""},{Lease,v1,""}}
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=sp,categories=acme
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.activePod`
// +kubebuilder:printcolumn:name="Profiles",type=string,JSONPath=`.spec.profiles[*].schedulerName`
// +kubebuilder:printcolumn:name="Pending",type=string,JSONPath=`.status.profiles[*].pending`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.status.image`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type SchedulerProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the scheduler and its profiles.
	// +required
	Spec SchedulerProfileSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status SchedulerProfileStatus `json:"status,omitempty"`
}

// CommonStatus is the part of the status that every kind has.
func (p *SchedulerProfile) CommonStatus() *common.Status { return &p.Status.Status }

// SchedulerProfileList is a list of SchedulerProfiles.
// +kubebuilder:object:root=true
type SchedulerProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SchedulerProfile `json:"items"`
}
