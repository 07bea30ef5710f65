// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// RobotSpec is what is wanted.
type RobotSpec struct {
	// app is the value of the label app of the robot's pods: nothing may connect to them. At most 63 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=1,displayName="App",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	App string `json:"app"`
}

// RobotStatus is what there is.
type RobotStatus struct {
	common.Status `json:",inline"`
}

// Robot lets nothing connect to the pods of an app.
//
// +operator-sdk:csv:customresourcedefinitions:order=9,displayName="Robot",resources={{NetworkPolicy,v1,""}}
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=rbt,categories=acme
// +kubebuilder:printcolumn:name="App",type=string,JSONPath=`.spec.app`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Robot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	// +required
	Spec RobotSpec `json:"spec"`
	// status is what there is.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status RobotStatus `json:"status,omitempty"`
}

// CommonStatus is the part of the status that every kind has.
func (r *Robot) CommonStatus() *common.Status { return &r.Status.Status }

// RobotList is a list of Robots.
// +kubebuilder:object:root=true
type RobotList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Robot `json:"items"`
}
