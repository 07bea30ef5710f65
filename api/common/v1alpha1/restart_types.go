// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RestartStrategy is how pods are restarted.
// +kubebuilder:validation:Enum=RolloutRestart;Evict;Delete
type RestartStrategy string

const (
	// RestartRollout restarts workloads by their own rolling update; pods of owners other than Deployment,
	// StatefulSet and DaemonSet are evicted.
	RestartRollout RestartStrategy = "RolloutRestart"
	// RestartEvict evicts each pod, which respects PodDisruptionBudgets.
	RestartEvict RestartStrategy = "Evict"
	// RestartDelete deletes each pod, which does not.
	RestartDelete RestartStrategy = "Delete"
)

// RestartPolicy controls how, and how often, pods are restarted after a change.
type RestartPolicy struct {
	// strategy is how pods are restarted. RolloutRestart (default) annotates the pod template of each
	// Deployment, StatefulSet and DaemonSet, which then does its own rolling update, and evicts pods of other
	// controllers. Pods without a controller are left alone, because nothing would recreate them. Evict evicts
	// every selected pod, whatever its owner, and waits while a PodDisruptionBudget allows none. Delete deletes
	// them regardless of budgets. Pods of Jobs and static pods are never touched.
	// +optional
	// +kubebuilder:default=RolloutRestart
	Strategy RestartStrategy `json:"strategy,omitempty"`

	// debounce is how long the content must be unchanged before the restart: ten changes in two seconds are one
	// restart. Content that keeps changing restarts after ten times as long. Default 2s; 0s restarts at once.
	// At most 1h.
	// +optional
	// +kubebuilder:default="2s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be from 0s to 1h"
	Debounce *metav1.Duration `json:"debounce,omitempty"`

	// minInterval is the shortest time between two restarts. A change that comes earlier waits, and
	// later changes join it. Default 0s, at most 24h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="must be from 0s to 24h"
	MinInterval *metav1.Duration `json:"minInterval,omitempty"`

	// maxPerHour is the most restarts in any sixty minutes. It stops loops, such as an application that writes
	// the configuration it is restarted for. Beyond it the next restart waits until the hour allows it, with
	// the reason Suspended. Default 12, from 1 to 60.
	// +optional
	// +kubebuilder:default=12
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	MaxPerHour int32 `json:"maxPerHour,omitempty"`

	// windows are the times in which restarts may happen. A change outside of them waits for the next window.
	// Default: any time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Windows []RestartWindow `json:"windows,omitempty"`

	// maxConcurrent is how many workloads may be rolling at once; the next one begins when one of them is ready
	// again. For pods that are evicted or deleted it is how many may be unavailable at once; pods that are not
	// ready go first. Default 0: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxConcurrent int32 `json:"maxConcurrent,omitempty"`

	// dryRun only reports what would be restarted, in events and status.history. Default false.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
}

// RestartWindow is a recurring span of time.
type RestartWindow struct {
	// schedule is when the window opens, a cron expression of five fields (minute, hour, day, month,
	// weekday). For instance "0 2 * * MON-FRI".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1000
	// +kubebuilder:validation:Pattern=`^[-0-9A-Za-z*,/()@ \t]*$`
	Schedule string `json:"schedule"`

	// duration is how long it stays open, from 1m to 168h.
	// +required
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('168h')",message="must be from 1m to 168h"
	Duration metav1.Duration `json:"duration"`

	// timeZone is the IANA name of the time zone of the schedule, for instance Europe/Berlin. Default UTC.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^([A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9][A-Za-z0-9_+-]*){0,2})?$`
	TimeZone string `json:"timeZone,omitempty"`
}

// RestartOutcome is the state of a restart.
// +kubebuilder:validation:Enum=Restarting;Restarted;Refused;NothingToRestart;DryRun;Cancelled
type RestartOutcome string

const (
	// OutcomeRestarting means that some workloads are still waiting for their turn.
	OutcomeRestarting RestartOutcome = "Restarting"
	// OutcomeRestarted means that every workload was restarted.
	OutcomeRestarted RestartOutcome = "Restarted"
	// OutcomeRefused means that at least one workload could not be restarted; it is tried again.
	OutcomeRefused RestartOutcome = "Refused"
	// OutcomeNothing means that nothing is selected.
	OutcomeNothing RestartOutcome = "NothingToRestart"
	// OutcomeDryRun means that the restart was only reported.
	OutcomeDryRun RestartOutcome = "DryRun"
	// OutcomeCancelled means that newer content superseded the restart before all workloads were restarted.
	OutcomeCancelled RestartOutcome = "Cancelled"
)

// RestartStatus is the recorded state of restarts. The operator keeps no other: what is not in it is lost when
// the operator restarts.
type RestartStatus struct {
	// observed is the content that all selected pods are known to run with: a keyed hash for each source, never
	// the content. A source with a restart in progress is not in it.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=6,displayName="Observed content, as hashes",xDescriptors={"urn:alm:descriptor:text"}
	Observed []ObservedSource `json:"observed,omitempty"`

	// keyID identifies the key of the hashes. Hashes of another key cannot be compared: the content then
	// becomes the baseline, without a restart.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=9,displayName="Key of the hashes",xDescriptors={"urn:alm:descriptor:text"}
	KeyID string `json:"keyID,omitempty"`

	// number is the highest number that was given to a restart. Each planned restart gets the next one, also
	// when its content changes again before it starts.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=12,displayName="Number of the last restart",xDescriptors={"urn:alm:descriptor:text"}
	Number int64 `json:"number,omitempty"`

	// pending is the restart that is due or in progress; absent when there is none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=3,displayName="Pending restart",xDescriptors={"urn:alm:descriptor:text"}
	Pending *PendingRestart `json:"pending,omitempty"`

	// lastRestart is when the last restart began.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=2,displayName="Last restart",xDescriptors={"urn:alm:descriptor:text"}
	LastRestart *metav1.Time `json:"lastRestart,omitempty"`

	// restarts is the number of restarts so far.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=1,displayName="Restarts",xDescriptors={"urn:alm:descriptor:text"}
	Restarts int64 `json:"restarts,omitempty"`

	// recent are the start times of the restarts of the last hour, which maxPerHour counts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=60
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=7,displayName="Restarts of the last hour",xDescriptors={"urn:alm:descriptor:text"}
	Recent []metav1.Time `json:"recent,omitempty"`

	// mark is the restart mark of the last restart: the value of the annotation on pod templates.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=8,displayName="Mark of the last restart",xDescriptors={"urn:alm:descriptor:text"}
	Mark string `json:"mark,omitempty"`

	// workloads are those that the last restart has reached.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=5,displayName="Restarted workloads",xDescriptors={"urn:alm:descriptor:text"}
	Workloads []RestartedWorkload `json:"workloads,omitempty"`

	// history are the last ten restarts, the latest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=4,displayName="Last ten restarts",xDescriptors={"urn:alm:descriptor:text"}
	History []RestartRecord `json:"history,omitempty"`
}

// ObservedSource is the last observed content of one source.
type ObservedSource struct {
	// source names the source, for instance ConfigMap/webapp-config.
	// +required
	Source string `json:"source"`
	// hash is a keyed hash of the watched content.
	// +required
	Hash string `json:"hash"`
	// keys are keyed hashes of the single keys, which show what changed. They are omitted when the source has
	// very many.
	// +optional
	Keys map[string]string `json:"keys,omitempty"`
	// since is when this content was first seen.
	// +optional
	Since metav1.Time `json:"since,omitempty"`
	// version is the resourceVersion of the source in which this content was seen. A source that still has it
	// need not be read again.
	// +optional
	Version string `json:"version,omitempty"`
	// written identifies the last writes of the content, as metadata.managedFields records them. While the last
	// restart is recent, it shows that content changed and changed back while the operator was down.
	// +optional
	Written string `json:"written,omitempty"`
}

// PendingRestart is a restart that is due or in progress.
type PendingRestart struct {
	// number is the number of the restart. It is unique within an object.
	// +optional
	Number int64 `json:"number,omitempty"`
	// mark is the restart mark: the value of the annotation that the restart sets on pod templates. It consists
	// of the number and a keyed hash of the object's UID, the number and the target. A workload that carries it
	// has been reached by this very restart.
	// +required
	Mark string `json:"mark"`
	// target is the content that the restart is for: a keyed hash of each source that changed.
	// +optional
	// +listType=atomic
	Target []ObservedSource `json:"target,omitempty"`
	// since is when the first change of this restart was seen.
	// +required
	Since metav1.MicroTime `json:"since"`
	// changed is when its last change was seen, from which the debounce counts.
	// +required
	Changed metav1.MicroTime `json:"changed"`
	// sources are the changes, for instance "ConfigMap/webapp-config: LOG_LEVEL".
	// +optional
	// +listType=atomic
	Sources []string `json:"sources,omitempty"`
	// reason is why the restart waits: Debounce, MinInterval, OutsideWindow, Suspended, MaxConcurrent,
	// RolloutUnfinished, Evicting, Refused.
	// +optional
	Reason string `json:"reason,omitempty"`
	// notBefore is the earliest time of the next attempt; absent when that does not depend on time alone.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
	// started is true once the restart has begun: from then on newer content is the next restart, and none is
	// taken back. It is written before the first pod is evicted and, unless templates are recorded, whose
	// generations tell the same, before the first workload is patched.
	// +optional
	Started bool `json:"started,omitempty"`
	// templates identify the selected workloads' pod templates, read after the content had changed. A
	// workload whose template differs from that later has rolled since, and runs with this content already.
	// They are recorded while the restart waits. Another object's that has seen the same content of the same
	// source earlier hold, too.
	// +optional
	// +listType=atomic
	Templates []WorkloadTemplate `json:"templates,omitempty"`
	// pods are the UIDs of the pods that are still to be evicted or deleted. They are recorded before the first
	// one is removed, so that their successors are not restarted, too.
	// +optional
	// +listType=atomic
	Pods []types.UID `json:"pods,omitempty"`
	// podCount is the number of pods that the restart evicts or deletes.
	// +optional
	PodCount int32 `json:"podCount,omitempty"`
	// podsListed is true once pods is complete.
	// +optional
	PodsListed bool `json:"podsListed,omitempty"`
	// attempts is how many evictions in a row were blocked by PodDisruptionBudgets.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// replaces was written by version 0.1.0 only.
	// +optional
	Replaces bool `json:"replaces,omitempty"`
}

// WorkloadTemplate identifies the pod template of a workload.
type WorkloadTemplate struct {
	// uid is the workload's.
	// +required
	UID types.UID `json:"uid"`
	// generation is the workload's metadata.generation.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// template is a fingerprint of the pod template.
	// +optional
	Template string `json:"template,omitempty"`
}

// RestartedWorkload is a workload that a restart has reached.
type RestartedWorkload struct {
	// kind is Deployment, StatefulSet or DaemonSet.
	// +required
	Kind string `json:"kind"`
	// name is its name.
	// +required
	Name string `json:"name"`
	// uid distinguishes it from a later workload of the same name.
	// +required
	UID types.UID `json:"uid"`
	// number is the number of the restart that reached it.
	// +optional
	Number int64 `json:"number,omitempty"`
	// generation is the workload's metadata.generation after the restart mark was set.
	// +optional
	Generation int64 `json:"generation,omitempty"`
}

// RestartRecord is one past restart.
type RestartRecord struct {
	// time is when it began.
	// +required
	Time metav1.Time `json:"time"`
	// source is what changed: the source and the keys, never a value.
	// +required
	Source string `json:"source"`
	// reason is why the restart happened: ContentChanged, ValueChanged.
	// +required
	Reason string `json:"reason"`
	// outcome is its outcome.
	// +required
	Outcome RestartOutcome `json:"outcome"`
	// message is how many workloads and pods it reached.
	// +optional
	Message string `json:"message,omitempty"`
}
