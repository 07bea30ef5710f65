// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// Leader is the pod that leads.
type Leader struct {
	// pod is its name.
	Pod string `json:"pod"`

	// uid is its UID. A pod of the same name with another UID is another pod.
	UID types.UID `json:"uid"`

	// node is the node that it is on.
	// +optional
	Node string `json:"node,omitempty"`

	// zone is the zone of the node.
	// +optional
	Zone string `json:"zone,omitempty"`

	// address is its IP address.
	// +optional
	Address string `json:"address,omitempty"`

	// since is when it became the leader.
	// +optional
	Since metav1.Time `json:"since,omitzero"`
}

// HandOver is one change of the leader.
type HandOver struct {
	// epoch is the number of the term that began.
	Epoch int64 `json:"epoch"`

	// from is the pod that led before; empty if there was none.
	// +optional
	From string `json:"from,omitempty"`

	// to is the pod that leads since then.
	// +optional
	To string `json:"to,omitempty"`

	// reason is why: FirstLeader, LedgerLost, PodGone, PodTerminating, PodEnded, NotSelected, NotReady,
	// Requested or Failback.
	// +optional
	Reason string `json:"reason,omitempty"`

	// at is when the new leader was marked.
	// +optional
	At metav1.Time `json:"at,omitzero"`

	// took is how long there was no leader, counted from the decision to hand over.
	// +optional
	Took metav1.Duration `json:"took,omitzero"`
}

// Pending is what a change of the leader waits for.
type Pending struct {
	// reason is NotReady, Requested, Failback, NoCandidate, OldStillStopping or NodeUnreachable.
	Reason string `json:"reason"`

	// since is when that began.
	// +optional
	Since metav1.MicroTime `json:"since,omitzero"`

	// due is when the leader changes, if nothing happens before.
	// +optional
	Due *metav1.Time `json:"due,omitempty"`
}

// LeaderElectionStatus is the observed state of a LeaderElection.
type LeaderElectionStatus struct {
	common.Status `json:",inline"`

	// leader is the pod that leads.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=1,displayName="Leader",xDescriptors={"urn:alm:descriptor:text"}
	Leader *Leader `json:"leader,omitempty"`

	// epoch is the number of the leader's term. It grows with every hand-over: storage that rejects smaller
	// numbers is protected from a former leader.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=2,displayName="Epoch",xDescriptors={"urn:alm:descriptor:text"}
	Epoch int64 `json:"epoch,omitempty"`

	// candidates is how many pods are selected.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=3,displayName="Candidates",xDescriptors={"urn:alm:descriptor:podCount"}
	Candidates int32 `json:"candidates,omitempty"`

	// readyCandidates is how many of them are Ready.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=4,displayName="Ready candidates",xDescriptors={"urn:alm:descriptor:podCount"}
	ReadyCandidates int32 `json:"readyCandidates,omitempty"`

	// handOvers counts the changes of the leader, the first one included.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=5,displayName="Hand-overs",xDescriptors={"urn:alm:descriptor:text"}
	HandOvers int64 `json:"handOvers,omitempty"`

	// history has the last ten of them, the newest first.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=6,displayName="Last hand-overs",xDescriptors={"urn:alm:descriptor:text"}
	History []HandOver `json:"history,omitempty"`

	// pending is what a change of the leader waits for.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=7,displayName="Pending",xDescriptors={"urn:alm:descriptor:text"}
	Pending *Pending `json:"pending,omitempty"`

	// request is the last request for a hand-over (annotation coordination.acme.com/hand-over) that was granted.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=8,displayName="Last request",xDescriptors={"urn:alm:descriptor:text"}
	Request string `json:"request,omitempty"`
}

// LeaderElection chooses one of the pods of an application that has no election of its own, marks it with a label,
// routes a Service to it, and publishes who it is. Nothing is added to the pods. A leader that is cut off from the
// API server continues to act: only storage that checks the epoch is protected from it.
//
// +operator-sdk:csv:customresourcedefinitions:order=7,displayName="Leader Election",resources={{Service,v1,""},{ConfigMap,v1,""},{Lease,v1,""},{Pod,v1,""}}
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=lead,categories=acme
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Leader",type=string,JSONPath=`.status.leader.pod`
// +kubebuilder:printcolumn:name="Epoch",type=integer,JSONPath=`.status.epoch`
// +kubebuilder:printcolumn:name="Candidates",type=integer,JSONPath=`.status.readyCandidates`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.leader.since`
// +kubebuilder:printcolumn:name="Node",type=string,priority=1,JSONPath=`.status.leader.node`
// +kubebuilder:printcolumn:name="Pending",type=string,priority=1,JSONPath=`.status.pending.reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type LeaderElection struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines who may lead, and how that is published.
	// +required
	Spec LeaderElectionSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status LeaderElectionStatus `json:"status,omitempty"`
}

// CommonStatus is the part of the status that every kind has.
func (e *LeaderElection) CommonStatus() *common.Status { return &e.Status.Status }

// LeaderElectionList is a list of LeaderElections.
// +kubebuilder:object:root=true
type LeaderElectionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LeaderElection `json:"items"`
}
