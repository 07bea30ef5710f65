// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// WebAppRollout is the part of a spec that says how a new revision comes, and how an earlier one is restored.
type WebAppRollout struct {
	// rolloutDeadline is how long a new revision may take until all its pods are available, for instance 10m. After
	// that the condition Deployed has the reason RolloutFailed. The time does not count while a migration runs, while
	// the Deployment is paused, and while no pods are wanted. 10s to 24h. Default: 10m with autoRollback, else none.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="must be from 10s to 24h, for instance 10m"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=23,displayName="Rollout deadline",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	RolloutDeadline *metav1.Duration `json:"rolloutDeadline,omitempty"`

	// autoRollback rolls back to the last revision of which all pods were available, when rolloutDeadline has passed.
	// The spec stays as it is. The revision that has failed is not tried again until the spec asks for other pods, or
	// autoRollback or rollbackTo changes. Its migration is not undone. Default false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=24,displayName="Automatic rollback",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	AutoRollback bool `json:"autoRollback,omitempty"`

	// rollbackTo is the number of a revision in status.revisions. While it is set, the pods are made from that revision,
	// and what the spec says of pods does not count. No migration runs, and none is undone. Default: none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=25,displayName="Roll back to revision",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	RollbackTo *int64 `json:"rollbackTo,omitempty"`
}

// WebAppRevisions is the part of a status that says which revisions there are, and which one the pods are made from.
type WebAppRevisions struct {
	// revision is the number of the revision that the pods are made from.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=11,displayName="Revision",xDescriptors={"urn:alm:descriptor:text"}
	Revision int64 `json:"revision,omitempty"`

	// servingRevision is the number of the revision that serves: the last one of which all pods were available.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=12,displayName="Revision that serves",xDescriptors={"urn:alm:descriptor:text"}
	ServingRevision int64 `json:"servingRevision,omitempty"`

	// lastRevision is the highest number that a revision was given.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=13,displayName="Last revision",xDescriptors={"urn:alm:descriptor:text"}
	LastRevision int64 `json:"lastRevision,omitempty"`

	// revisions are those that rollbackTo can name: the ten that were used last, the latest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=14,displayName="Revisions",xDescriptors={"urn:alm:descriptor:text"}
	Revisions []Revision `json:"revisions,omitempty"`

	// rollout is the rollout of revision. It is absent once all pods were available.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=15,displayName="Rollout",xDescriptors={"urn:alm:descriptor:text"}
	Rollout *Rollout `json:"rollout,omitempty"`

	// rolledBack is the revision that has failed, while an automatic rollback holds.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=16,displayName="Automatic rollback",xDescriptors={"urn:alm:descriptor:text"}
	RolledBack *RolledBack `json:"rolledBack,omitempty"`
}

// Revision is a version of all that makes the pods.
type Revision struct {
	// number identifies the revision. It never changes, and no other revision gets it.
	// +required
	Number int64 `json:"number"`

	// image is the image of the application in it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// hash is the SHA-256 hash of the data of its ControllerRevision.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	Hash string `json:"hash"`

	// migrated is the Job of the migration that has succeeded for the revision. That migration does not run again as long as
	// the revision is on record.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Migrated string `json:"migrated,omitempty"`
}

// Rollout is a rollout that is not complete.
type Rollout struct {
	// startedAt is the time from which the deadline counts; absent while it does not count.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
}

// RolledBack is an automatic rollback.
type RolledBack struct {
	// revision is the number of the revision that has failed.
	// +required
	Revision int64 `json:"revision"`

	// to is the number of the revision that the pods are made from instead.
	// +required
	To int64 `json:"to"`

	// at is the time of the rollback.
	// +required
	At metav1.Time `json:"at"`

	// message says what was wrong.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
}
