// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// DatabaseType is a type of database.
// +kubebuilder:validation:Enum=postgres;mysql
type DatabaseType string

const (
	// DatabasePostgres is PostgreSQL.
	DatabasePostgres DatabaseType = "postgres"
	// DatabaseMySQL is MySQL or MariaDB.
	DatabaseMySQL DatabaseType = "mysql"
)

// TLSMode is how connections are encrypted.
// +kubebuilder:validation:Enum=VerifyFull;Disable
type TLSMode string

const (
	// TLSVerifyFull encrypts, and verifies the server's certificate and its name.
	TLSVerifyFull TLSMode = "VerifyFull"
	// TLSDisable sends everything in clear text.
	TLSDisable TLSMode = "Disable"
)

// DatabaseSource is the database that the value is read from: a Database, or any other by type, host, database
// and credentialsSecretRef.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !has(self.database) || self.type == 'postgres' || size(self.database) <= 64",message="database must have at most 64 characters with the type mysql"
// +kubebuilder:validation:XValidation:rule="has(self.databaseRef) || (has(self.type) && has(self.host) && has(self.database) && has(self.credentialsSecretRef))",message="must have databaseRef, for a Database in this namespace, or else type, host, database and credentialsSecretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.databaseRef) || !(has(self.type) || has(self.host) || has(self.port) || has(self.database) || has(self.credentialsSecretRef) || has(self.tls))",message="must have nothing beside databaseRef: the Database has the rest. Remove type, host, port, database, credentialsSecretRef and tls, or databaseRef"
type DatabaseSource struct {
	// databaseRef names a Database in the same namespace, instead of all other fields: the value is read from
	// it, as the user that its connection Secret has. The author of the policy must be allowed to get that Secret.
	// +optional
	DatabaseRef *DatabaseReference `json:"databaseRef,omitempty"`

	// type is postgres, or mysql for MySQL and MariaDB. Required without databaseRef.
	// +optional
	Type DatabaseType `json:"type,omitempty"`

	// host is the DNS name or the IP address of the server, without a port, for instance db.team-a.svc.
	// Loopback, link-local and metadata addresses are rejected, unless the operator's configuration allows
	// them. So are addresses that NetworkPolicies block for all pods of the namespace. Required without
	// databaseRef.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="isIP(self) || self.matches('^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?[.]?$')",message="must be a DNS name or an IP address without a port, for instance db.team-a.svc"
	Host string `json:"host,omitempty"`

	// port is the port of the server. Default 5432 for postgres, 3306 for mysql.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// database is the name of the database. Required without databaseRef.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\x00]*$`
	Database string `json:"database,omitempty"`

	// credentialsSecretRef names the Secret, in the same namespace, with the user name and the password. Grant
	// that user read access to the watched value and nothing else. Required without databaseRef.
	// +optional
	CredentialsSecretRef CredentialsReference `json:"credentialsSecretRef,omitzero"`

	// tls configures the encryption of connections. Default: the server's certificate and name are verified
	// with the public certificate authorities.
	// +optional
	TLS *SourceTLS `json:"tls,omitempty"`
}

// DatabaseReference names a Database.
type DatabaseReference struct {
	// name is the name of the Database.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a Database: lower-case letters, digits, '-' and '.', for instance ledger"
	Name string `json:"name"`
}

// CredentialsReference names the Secret with a user name and a password.
type CredentialsReference struct {
	// name is the name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a Secret: lower-case letters, digits, '-' and '.', for instance webapp-db"
	Name string `json:"name"`

	// usernameKey is the key of the Secret that holds the user name. Default username.
	// +optional
	// +kubebuilder:default=username
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]*$`
	UsernameKey string `json:"usernameKey,omitempty"`

	// passwordKey is the key of the Secret that holds the password. Default password.
	// +optional
	// +kubebuilder:default=password
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]*$`
	PasswordKey string `json:"passwordKey,omitempty"`
}

// SourceTLS configures the encryption of connections.
//
// +kubebuilder:validation:XValidation:rule="self.mode != 'Disable' || (!has(self.caSecretRef) && !has(self.serverName))",message="caSecretRef and serverName have no effect with the mode Disable: leave them out, or use VerifyFull"
type SourceTLS struct {
	// mode is VerifyFull (default), which verifies the server's certificate and name; or Disable, with which
	// everything, including the value and the proof of the password, can be read and changed in transit.
	// +optional
	// +kubebuilder:default=VerifyFull
	Mode TLSMode `json:"mode,omitempty"`

	// caSecretRef names the key of a Secret, in the same namespace, with the certificate authorities to trust,
	// in PEM form. Default: the public ones of the operator's container, or else those built into the operator.
	// +optional
	CASecretRef *CAReference `json:"caSecretRef,omitempty"`

	// serverName is the name in the server's certificate, if it differs from host.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-A-Za-z0-9_.:]*$`
	ServerName string `json:"serverName,omitempty"`
}

// CAReference names the key of a Secret with certificate authorities.
type CAReference struct {
	// name is the name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a Secret: lower-case letters, digits, '-' and '.', for instance webapp-db"
	Name string `json:"name"`

	// key is the key of the Secret. Default ca.crt.
	// +optional
	// +kubebuilder:default=ca.crt
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]*$`
	Key string `json:"key,omitempty"`
}

// Watch selects the value to read.
//
// +kubebuilder:validation:XValidation:rule="has(self.query) != (has(self.table) || has(self.column) || has(self.where))",message="must be either query, or table and column (and where)"
// +kubebuilder:validation:XValidation:rule="has(self.table) == has(self.column)",message="table and column must be given together"
type Watch struct {
	// table is the table, as TABLE or SCHEMA.TABLE, in the database's own spelling and without quotes. In
	// PostgreSQL a table without schema is looked up in public only; in MySQL the schema is a database.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=257
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^.\\\\x00]+([.][^.\\\\x00]+)?$')",message="must be TABLE or SCHEMA.TABLE; use query for names with a dot in them"
	Table string `json:"table,omitempty"`

	// column is the column, in the database's own spelling and without quotes. Its value may be of any type:
	// text, number, time, boolean, bytes. NULL is a value, too.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\x00]*$`
	Column string `json:"column,omitempty"`

	// where is an SQL condition that exactly one row fulfils, for instance name = 'release'. Without it the
	// table must have exactly one row.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^[^\x00]*$`
	Where string `json:"where,omitempty"`

	// query is an SQL query, instead of table and column, that returns one row with one column. It begins with
	// SELECT, WITH, VALUES or TABLE. It runs alone, in a read-only transaction that is rolled back, for at most
	// five seconds.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	// +kubebuilder:validation:Pattern=`^[^\x00]*$`
	Query string `json:"query,omitempty"`
}

// Target identifies a workload.
type Target struct {
	// kind is Deployment, StatefulSet or DaemonSet.
	// +required
	// +kubebuilder:validation:Enum=Deployment;StatefulSet;DaemonSet
	Kind string `json:"kind"`

	// name is its name, in the namespace of the RebootPolicy.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of an object: lower-case letters, digits, '-' and '.', for instance webapp"
	Name string `json:"name"`
}

// RebootPolicySpec defines which value is watched, and what is restarted when it changes.
//
// +kubebuilder:validation:XValidation:rule="has(self.podSelector) != has(self.target)",message="must have either podSelector or target: they select what is restarted"
type RebootPolicySpec struct {
	// source is the database that the value is read from.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=1,displayName="Database",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Source DatabaseSource `json:"source"`

	// watch selects the value to read: one row and one column.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=2,displayName="Value to watch",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Watch Watch `json:"watch"`

	// interval is the time between two readings. Default 30s, from 5s to 24h. Policies with the same interval
	// read at different moments of it. A value that changes and changes back between two readings is not
	// noticed.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s') && duration(self) <= duration('24h')",message="must be from 5s to 24h"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=3,displayName="Time between readings",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Interval *metav1.Duration `json:"interval,omitempty"`

	// podSelector selects the pods to restart by their labels; all must match. Workloads (Deployments,
	// StatefulSets, DaemonSets) are selected by the labels of their pod templates, other pods by their own.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="every key must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))",message="every value must be a label value: at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=4,displayName="Labels of the pods",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	PodSelector map[string]LabelValue `json:"podSelector,omitempty"`

	// target is the one workload to restart, instead of podSelector.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=5,displayName="Workload",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Target *Target `json:"target,omitempty"`

	// restart controls how, and how often, pods are restarted.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=6,displayName="How to restart",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Restart common.RestartPolicy `json:"restart,omitzero"`
}

// RebootPolicyStatus is the observed state of a RebootPolicy. It holds neither values nor credentials.
type RebootPolicyStatus struct {
	common.Status `json:",inline"`

	common.RestartStatus `json:",inline"`

	// watching identifies the watched source and value. When either changes, the next value is the new
	// baseline, without a restart.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=10,displayName="Watched value",xDescriptors={"urn:alm:descriptor:text"}
	Watching string `json:"watching,omitempty"`

	// valueType is the type of the last value: text, integer, number, boolean, time or bytes. A value of
	// another type is a new baseline, without a restart.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=11,displayName="Type of the value",xDescriptors={"urn:alm:descriptor:text"}
	ValueType string `json:"valueType,omitempty"`
}

// RebootPolicy restarts an application when a value in a database changes: once for each change, and never for
// anything else. The first value that it reads is the baseline and restarts nothing. Neither does a database
// that cannot be reached, or that returns with the same value.
//
// +operator-sdk:csv:customresourcedefinitions:order=4,displayName="Reboot Policy",resources={{Secret,v1,""},{Deployment,v1,""},{StatefulSet,v1,""},{DaemonSet,v1,""},{Pod,v1,""}}
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=rp,categories=acme
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Restarts",type=integer,JSONPath=`.status.restarts`
// +kubebuilder:printcolumn:name="Last Restart",type=date,JSONPath=`.status.lastRestart`
// +kubebuilder:printcolumn:name="Pending",type=string,JSONPath=`.status.pending.reason`
// +kubebuilder:printcolumn:name="Host",type=string,priority=1,JSONPath=`.spec.source.host`
// +kubebuilder:printcolumn:name="Database",type=string,priority=1,JSONPath=`.spec.source.databaseRef.name`
// +kubebuilder:printcolumn:name="Interval",type=string,priority=1,JSONPath=`.spec.interval`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RebootPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines which value is watched, and what is restarted when it changes.
	// +required
	Spec RebootPolicySpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status RebootPolicyStatus `json:"status,omitempty"`
}

// CommonStatus is the part of the status that every kind has.
func (p *RebootPolicy) CommonStatus() *common.Status { return &p.Status.Status }

// Restarts is the recorded state of restarts.
func (p *RebootPolicy) Restarts() *common.RestartStatus { return &p.Status.RestartStatus }

// Selector returns podSelector as plain strings, nil when there is none.
func (p *RebootPolicy) Selector() map[string]string {
	if len(p.Spec.PodSelector) == 0 {
		return nil
	}
	out := make(map[string]string, len(p.Spec.PodSelector))
	for k, v := range p.Spec.PodSelector {
		out[k] = string(v)
	}
	return out
}

// EffectiveInterval returns the time between two readings: the configured one or the default, and never one
// that keeps the database busy.
func (p *RebootPolicy) EffectiveInterval() time.Duration {
	if p.Spec.Interval == nil {
		return 30 * time.Second
	}
	return max(p.Spec.Interval.Duration, 5*time.Second)
}

// EffectivePort returns the port of the server: the configured one or the default of the type.
func (s *DatabaseSource) EffectivePort() int32 {
	switch {
	case s.Port != 0:
		return s.Port
	case s.Type == DatabaseMySQL:
		return 3306
	default:
		return 5432
	}
}

// RebootPolicyList is a list of RebootPolicies.
// +kubebuilder:object:root=true
type RebootPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RebootPolicy `json:"items"`
}
