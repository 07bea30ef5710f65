// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// Outcome is the state of a run.
// +kubebuilder:validation:Enum=Running;Succeeded;Failed;Stopped
type Outcome string

const (
	// OutcomeRunning means that the run is in progress.
	OutcomeRunning Outcome = "Running"
	// OutcomeSucceeded means that all pods of the run succeeded.
	OutcomeSucceeded Outcome = "Succeeded"
	// OutcomeFailed means that too many pods failed, or that the run took too long.
	OutcomeFailed Outcome = "Failed"
	// OutcomeStopped means that the run was deleted before it ended.
	OutcomeStopped Outcome = "Stopped"
)

// ActiveRun is a run that is in progress.
type ActiveRun struct {
	// job is the name of the Job.
	Job string `json:"job"`

	// slot is the time of the schedule that the run is for, in UTC; absent for a run by hand.
	// +optional
	Slot *metav1.Time `json:"slot,omitempty"`

	// started is when the run was started.
	Started metav1.Time `json:"started"`
}

// LastRun is the run that was started most recently.
type LastRun struct {
	ActiveRun `json:",inline"`

	// ended is when the run ended; absent while it is in progress.
	// +optional
	Ended *metav1.Time `json:"ended,omitempty"`

	// outcome is Running, Succeeded, Failed, or Stopped when the run was deleted before it ended.
	Outcome Outcome `json:"outcome"`
}

// RunNow is the record of the last request for a run by hand.
type RunNow struct {
	// request is the value of the annotation batch.acme.com/run-now, which names the request.
	Request string `json:"request"`

	// by is the field manager that set the annotation, such as kubectl-annotate; "unknown" if the API server
	// recorded none. Kubernetes records user names in its audit log, not in objects.
	By string `json:"by"`

	// at is when the annotation was set.
	At metav1.Time `json:"at"`

	// job is the name of the Job; absent while the request waits for runs in progress.
	// +optional
	Job string `json:"job,omitempty"`

	// dropped is why the request is not run; absent unless it was dropped.
	// +optional
	Dropped string `json:"dropped,omitempty"`
}

// Ledger records how far the slots of a schedule are settled.
type Ledger struct {
	// rules identifies the schedule that the ledger belongs to. When cronSpec, timeZone, suspend, notBefore,
	// notAfter or jitter change, a new ledger begins, and earlier slots are not made up for.
	Rules string `json:"rules"`

	// settledUntil is the time up to which all slots are settled: run, queued, skipped or missed.
	SettledUntil metav1.Time `json:"settledUntil"`

	// queue are the slots, in UTC, that wait for runs in progress.
	// +optional
	// +listType=atomic
	Queue []metav1.Time `json:"queue,omitempty"`
}

// CronTabStatus is the observed state of a CronTab.
type CronTabStatus struct {
	common.Status `json:",inline"`

	// schedule is the schedule in effect: cronSpec with macros written out and each H replaced by the value
	// that was chosen for this object.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=1,displayName="Schedule that holds",xDescriptors={"urn:alm:descriptor:text"}
	Schedule string `json:"schedule,omitempty"`

	// nextRuns are the times of the next five runs, jitter included.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=2,displayName="Next runs",xDescriptors={"urn:alm:descriptor:text"}
	NextRuns []metav1.Time `json:"nextRuns,omitempty"`

	// lastRun is the run that was started most recently.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=3,displayName="Last run",xDescriptors={"urn:alm:descriptor:text"}
	LastRun *LastRun `json:"lastRun,omitempty"`

	// lastSuccess is when a run last succeeded.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=4,displayName="Last success",xDescriptors={"urn:alm:descriptor:text"}
	LastSuccess *metav1.Time `json:"lastSuccess,omitempty"`

	// lastFailure is when a run last failed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=5,displayName="Last failure",xDescriptors={"urn:alm:descriptor:text"}
	LastFailure *metav1.Time `json:"lastFailure,omitempty"`

	// active are the runs in progress, the oldest first.
	// +optional
	// +listType=map
	// +listMapKey=job
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=6,displayName="Runs in progress",xDescriptors={"urn:alm:descriptor:text"}
	Active []ActiveRun `json:"active,omitempty"`

	// activeRuns is the number of runs in progress.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=7,displayName="Number of runs in progress",xDescriptors={"urn:alm:descriptor:text"}
	ActiveRuns int32 `json:"activeRuns"`

	// missed counts the slots for which no run was started because they were too late.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=8,displayName="Missed runs",xDescriptors={"urn:alm:descriptor:text"}
	Missed int64 `json:"missed,omitempty"`

	// skipped counts the slots for which no run was started because of other runs in progress.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=9,displayName="Skipped runs",xDescriptors={"urn:alm:descriptor:text"}
	Skipped int64 `json:"skipped,omitempty"`

	// runNow is the record of the last request for a run by hand.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=10,displayName="Last run by hand",xDescriptors={"urn:alm:descriptor:text"}
	RunNow *RunNow `json:"runNow,omitempty"`

	// requests are the requests for runs by hand that wait for runs in progress, the oldest first. At most ten
	// wait; further ones are dropped.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=14,displayName="Runs by hand that wait",xDescriptors={"urn:alm:descriptor:text"}
	Requests []RunNow `json:"requests,omitempty"`

	// replicas is the number of pods of the runs in progress.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=11,displayName="Pods of runs in progress",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas int32 `json:"replicas"`

	// selector selects the pods of all runs, as a label selector.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=12,displayName="Label selector of the pods",xDescriptors={"urn:alm:descriptor:text"}
	Selector string `json:"selector,omitempty"`

	// ledger is the operator's own record of the slots that are settled.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=13,displayName="Ledger of the schedule",xDescriptors={"urn:alm:descriptor:text"}
	Ledger *Ledger `json:"ledger,omitempty"`
}

// CronTab runs a container on a schedule, in one or several pods at a time. Each run is a Job.
//
// To start a run by hand, set the annotation batch.acme.com/run-now to a value that it never had: it names the
// request. Deleting a CronTab stops or awaits runs in progress (spec.deletionPolicy), and deletes all runs.
//
// +operator-sdk:csv:customresourcedefinitions:order=5,displayName="Cron Tab",resources={{Job,v1,""},{Pod,v1,""}}
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:scope=Namespaced,shortName=ct,categories=acme
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.cronSpec`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextRuns[0]`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.lastRun.started`
// +kubebuilder:printcolumn:name="Outcome",type=string,priority=1,JSONPath=`.status.lastRun.outcome`
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.activeRuns`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CronTab struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines what runs, and when.
	// +required
	Spec CronTabSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status CronTabStatus `json:"status,omitempty"`
}

// CommonStatus is the part of the status that every kind has.
func (c *CronTab) CommonStatus() *common.Status { return &c.Status.Status }

// CronTabList is a list of CronTabs.
// +kubebuilder:object:root=true
type CronTabList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CronTab `json:"items"`
}
