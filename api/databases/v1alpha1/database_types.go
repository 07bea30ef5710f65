// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Type is the type of a database server.
// +kubebuilder:validation:Enum=postgres;mysql
type Type string

const (
	// Postgres is PostgreSQL.
	Postgres Type = "postgres"
	// MySQL is MySQL.
	MySQL Type = "mysql"
)

// DeletionPolicy is what happens to the data when its Database is deleted.
// +kubebuilder:validation:Enum=Retain;Delete
type DeletionPolicy string

const (
	// DeletionRetain keeps claim, volume and administration Secret.
	DeletionRetain DeletionPolicy = "Retain"
	// DeletionDelete deletes everything.
	DeletionDelete DeletionPolicy = "Delete"
)

// PasswordReference names a key of a Secret in the same namespace.
type PasswordReference struct {
	// name is the name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a Secret: lower-case letters, digits, '-' and '.'"
	Name string `json:"name"`

	// key is the key of the password in the Secret. Default password.
	// +optional
	// +kubebuilder:default=password
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a key of a Secret: letters, digits, '-', '_' and '.'"
	Key string `json:"key,omitempty"`
}

// Storage is the volume of a database.
type Storage struct {
	// size is how large the volume is, for instance 10Gi. At least 256Mi, default 1Gi. It may grow, if the
	// storage class allows it, and never shrinks.
	// +optional
	// +kubebuilder:default="1Gi"
	// +kubebuilder:validation:XValidation:rule="string(self).contains('-') || quantity(string(self)).compareTo(quantity('256Mi')) >= 0",message="must be at least 256Mi, for instance 1Gi"
	// +kubebuilder:validation:XValidation:rule="string(self).contains('-') || quantity(string(self)).compareTo(quantity(string(oldSelf))) >= 0",message="must not shrink: a volume can only grow. Create another Database and copy the data"
	Size resource.Quantity `json:"size,omitzero"`

	// storageClassName is the StorageClass of the volume. It cannot be changed. Default: that of the cluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a StorageClass: lower-case letters, digits, '-' and '.'"
	StorageClassName *string `json:"storageClassName,omitempty"`
}

// ResourceAmounts are amounts of cpu and memory.
// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['cpu', 'memory'])",message="may only have cpu and memory"
// +kubebuilder:validation:MaxProperties=2
type ResourceAmounts map[string]resource.Quantity

// Resources are those of the database server.
//
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || self.requests.all(k, !(k in self.limits) || (string(self.requests[k]) + string(self.limits[k])).contains('-') || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)",message="must not be less than the request of the same resource",fieldPath=".limits"
type Resources struct {
	// requests is what the server has for sure. Default: cpu 100m, memory 256Mi.
	// +optional
	Requests ResourceAmounts `json:"requests,omitempty"`

	// limits is what the server may use at most. Default: memory 1Gi.
	// +optional
	Limits ResourceAmounts `json:"limits,omitempty"`
}

// Rotation requests a new password.
type Rotation struct {
	// requestedAt requests a new password: each new value makes one. The old password works until the next
	// rotation, or until overlap has passed.
	// +optional
	RequestedAt metav1.Time `json:"requestedAt,omitzero"`

	// overlap is how long the old password works beside the new one, for instance 24h. 1m to 8760h. Default:
	// until the next rotation.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('8760h')",message="must be from 1m to 8760h, for instance 24h"
	Overlap *metav1.Duration `json:"overlap,omitempty"`
}

// DatabaseSpec defines a database.
//
// +kubebuilder:validation:XValidation:rule="!has(self.version) || self.version in (self.type == 'postgres' ? ['14', '15', '16', '17', '18'] : ['8.0', '8.4'])",message="must be a version that is supported: 14, 15, 16, 17 or 18 of postgres, 8.0 or 8.4 of mysql",fieldPath=".version"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.version) || (has(self.version) && self.version == oldSelf.version)",message="cannot be changed: the data belongs to this version. Create another Database and copy the data",fieldPath=".version"
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.passwordSecretRef))",message="must not be set together with spec.passwordSecretRef: choose one, or neither for a password that is generated",fieldPath=".password"
// +kubebuilder:validation:XValidation:rule="!has(self.rotation) || !has(self.rotation.requestedAt) || !(has(self.password) || has(self.passwordSecretRef))",message="needs a password that is generated: with spec.password or spec.passwordSecretRef, change the password there",fieldPath=".rotation"
// +kubebuilder:validation:XValidation:rule="self.type != 'mysql' || size(self.user) <= 32",message="must have at most 32 characters with mysql",fieldPath=".user"
// +kubebuilder:validation:XValidation:rule="self.type != 'postgres' || !self.user.startsWith('pg_')",message="must not begin with pg_, which PostgreSQL keeps for itself; choose another name, for instance app",fieldPath=".user"
// +kubebuilder:validation:XValidation:rule="self.type != 'postgres' || !(self.user in ['public', 'none'])",message="must not be public or none, which PostgreSQL keeps for itself; choose another name, for instance app",fieldPath=".user"
// +kubebuilder:validation:XValidation:rule="!(self.databaseName.lowerAscii() in (self.type == 'postgres' ? ['postgres', 'template0', 'template1'] : ['mysql', 'information_schema', 'performance_schema', 'sys', 'lost+found']))",message="must not be a database of the server itself; choose another name, for instance app",fieldPath=".databaseName"
// +kubebuilder:validation:XValidation:rule="(has(self.storage) && has(self.storage.storageClassName) ? self.storage.storageClassName : '-') == (has(oldSelf.storage) && has(oldSelf.storage.storageClassName) ? oldSelf.storage.storageClassName : '-')",message="cannot be changed: a volume stays in its class. Create another Database and copy the data",fieldPath=".storage.storageClassName"
type DatabaseSpec struct {
	// type is postgres or mysql. It cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot be changed: the data belongs to this type. Create another Database"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=1,displayName="Type",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:postgres","urn:alm:descriptor:com.tectonic.ui:select:mysql"}
	Type Type `json:"type"`

	// version is the version of the server: 14, 15, 16, 17 or 18 of postgres, 8.0 or 8.4 of mysql. It cannot be
	// changed. Default: the newest one when the database is created; status.version has it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(\.[0-9]+)?$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=2,displayName="Version",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Version string `json:"version,omitempty"`

	// image is the image of the server; any that has the binaries of the type and version works. Default: the
	// official one, from where the operator's configuration has it. A change restarts the server.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$')",message="must be the reference of an image, for instance registry.acme.com/postgres:18"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=10,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Image string `json:"image,omitempty"`

	// user is the account that owns the database. It cannot be changed. At most 63 characters, with mysql 32.
	// Default app. After a rotation, the account USER_b may be the one to use: the connection Secret has it.
	// +optional
	// +kubebuilder:default=app
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot be changed: the tables belong to this user. Create another Database"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[!-~]([ -~]*[!-~])?$')",message="must be printable ASCII, without space at the beginning and the end, for instance app"
	// +kubebuilder:validation:XValidation:rule="!(self in ['acme_agent', 'acme_owner'])",message="must not be an account of the platform; choose another name, for instance app"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=3,displayName="User",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	User string `json:"user,omitempty"`

	// databaseName is the name of the database in the server. It cannot be changed. Default app.
	// +optional
	// +kubebuilder:default=app
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot be changed: the data is in this database. Create another Database"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[!-~]([ -~]*[!-~])?$')",message="must be printable ASCII, without space at the beginning and the end, for instance app"
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() != 'acme_agent'",message="must not be a database of the platform; choose another name, for instance app"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=4,displayName="Database name",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	DatabaseName string `json:"databaseName,omitempty"`

	// password is the password of the user. Everybody who may read this object can read it: prefer
	// passwordSecretRef, or neither, for one that is generated. A change is applied in the database.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[ -~]+$')",message="must be printable ASCII; put any other one into a Secret (spec.passwordSecretRef)"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=6,displayName="Password",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:password","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Password string `json:"password,omitempty"`

	// passwordSecretRef names the Secret with the password of the user. A change is applied in the database.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=5,displayName="Secret of the password",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	PasswordSecretRef *PasswordReference `json:"passwordSecretRef,omitempty"`

	// rotation requests a new password.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=11,displayName="Rotation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Rotation Rotation `json:"rotation,omitzero"`

	// storage is the volume of the database.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=7,displayName="Storage",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Storage Storage `json:"storage,omitzero"`

	// resources are those of the server. A change restarts it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=8,displayName="Resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Resources Resources `json:"resources,omitzero"`

	// suspended stops the server; the data stays. Default false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=9,displayName="Suspended",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Suspended bool `json:"suspended,omitempty"`

	// deletionPolicy is what happens to the data when this object is deleted: Retain (default) keeps it, for a
	// Database of the same name, and Delete deletes it. Delete is the only one that loses data.
	// +optional
	// +kubebuilder:default=Retain
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=12,displayName="Data on deletion",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Retain","urn:alm:descriptor:com.tectonic.ui:select:Delete"}
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// deletionProtection holds this object, and its server, when it is deleted, until it is false. Default false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=13,displayName="Deletion protection",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	DeletionProtection bool `json:"deletionProtection,omitempty"`
}
