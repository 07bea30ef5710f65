// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// Phase summarizes the conditions in one word.
type Phase string

// The phases of a Database.
const (
	// PhasePending: something has to change before the server can be created.
	PhasePending Phase = "Pending"
	// PhaseCreating: the server starts for the first time.
	PhaseCreating Phase = "Creating"
	// PhaseRunning: the server answers.
	PhaseRunning Phase = "Running"
	// PhaseStarting: the server starts again.
	PhaseStarting Phase = "Starting"
	// PhaseSuspended: the server is stopped because the spec says so.
	PhaseSuspended Phase = "Suspended"
	// PhaseFailed: the server does not run, and somebody has to change something.
	PhaseFailed Phase = "Failed"
	// PhaseTerminating: the object is being deleted.
	PhaseTerminating Phase = "Terminating"
)

// Binding names the connection Secret, as the Service Binding specification has it.
type Binding struct {
	// name is the name of the Secret.
	Name string `json:"name"`
}

// StorageStatus is the volume of a database.
type StorageStatus struct {
	// claim is the name of the PersistentVolumeClaim.
	Claim string `json:"claim"`

	// claimUID is its UID. A claim of the same name with another UID is another one, without the data.
	ClaimUID types.UID `json:"claimUID"`

	// volume is the name of the PersistentVolume.
	// +optional
	Volume string `json:"volume,omitempty"`

	// adopted is true if the claim was taken up because an annotation names its volume: it must have data, and the
	// server is not started over an empty one.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// capacity is the size that the volume has.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`
}

// CredentialsStatus is the state of the accounts. It has no password and no hash of one.
type CredentialsStatus struct {
	// user is the account in the connection Secret.
	User string `json:"user"`

	// request is the last request for a rotation that was granted.
	// +optional
	Request string `json:"request,omitempty"`

	// rotatedAt is when the password was changed last by a rotation.
	// +optional
	RotatedAt *metav1.Time `json:"rotatedAt,omitempty"`
}

// DatabaseStatus is the observed state of a Database.
type DatabaseStatus struct {
	common.Status `json:",inline"`

	// phase is Pending, Creating, Running, Starting, Suspended, Failed or Terminating.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=1,displayName="Phase",xDescriptors={"urn:alm:descriptor:io.kubernetes.phase"}
	Phase Phase `json:"phase,omitempty"`

	// version is the version of the server. It stays when a newer one is supported.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=2,displayName="Version",xDescriptors={"urn:alm:descriptor:text"}
	Version string `json:"version,omitempty"`

	// endpoint is where applications reach the server, as HOST:PORT.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=3,displayName="Endpoint",xDescriptors={"urn:alm:descriptor:text"}
	Endpoint string `json:"endpoint,omitempty"`

	// binding names the connection Secret.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=4,displayName="Connection Secret",xDescriptors={"urn:alm:descriptor:text"}
	Binding *Binding `json:"binding,omitempty"`

	// secretName is the name of the connection Secret.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=5,displayName="Connection Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName,omitempty"`

	// storage is the volume.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=6,displayName="Storage",xDescriptors={"urn:alm:descriptor:text"}
	Storage *StorageStatus `json:"storage,omitempty"`

	// credentials is the state of the accounts.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=7,displayName="Credentials",xDescriptors={"urn:alm:descriptor:text"}
	Credentials *CredentialsStatus `json:"credentials,omitempty"`
}

// Database is a database server of one instance, PostgreSQL or MySQL, with one database and one user, kept so that its data is not
// lost by accident.
//
// +operator-sdk:csv:customresourcedefinitions:order=8,displayName="Database",resources={{StatefulSet,v1,""},{Service,v1,""},{Secret,v1,""},{PersistentVolumeClaim,v1,""},{NetworkPolicy,v1,""},{PodDisruptionBudget,v1,""}}
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=db,categories=acme
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Storage",type=string,JSONPath=`.status.storage.capacity`
// +kubebuilder:printcolumn:name="Secret",type=string,priority=1,JSONPath=`.status.binding.name`
// +kubebuilder:printcolumn:name="Endpoint",type=string,priority=1,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(self.spec.version) || !has(self.status) || !has(self.status.version) || self.spec.version == self.status.version",message="spec.version must be the version of the data, which status.version has, or be left out"
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the database.
	// +required
	Spec DatabaseSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status DatabaseStatus `json:"status,omitempty"`
}

// CommonStatus is the part of the status that every kind has.
func (d *Database) CommonStatus() *common.Status { return &d.Status.Status }

// DatabaseList is a list of Databases.
// +kubebuilder:object:root=true
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Database `json:"items"`
}
