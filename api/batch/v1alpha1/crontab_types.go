// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConcurrencyPolicy is what happens to a slot that arrives while an earlier run is in progress.
// +kubebuilder:validation:Enum=Forbid;Allow;Replace;Queue
type ConcurrencyPolicy string

const (
	// ConcurrencyForbid skips the slot.
	ConcurrencyForbid ConcurrencyPolicy = "Forbid"
	// ConcurrencyAllow starts the run beside the others.
	ConcurrencyAllow ConcurrencyPolicy = "Allow"
	// ConcurrencyReplace stops the earlier run, and starts the new one when its pods are gone.
	ConcurrencyReplace ConcurrencyPolicy = "Replace"
	// ConcurrencyQueue starts the run when the earlier ones have ended.
	ConcurrencyQueue ConcurrencyPolicy = "Queue"
)

// MissedRunsPolicy is which of the slots that passed unnoticed are still run.
// +kubebuilder:validation:Enum=RunLatest;Skip;RunAll
type MissedRunsPolicy string

const (
	// MissedRunLatest runs the latest of them.
	MissedRunLatest MissedRunsPolicy = "RunLatest"
	// MissedSkip runs none of them.
	MissedSkip MissedRunsPolicy = "Skip"
	// MissedRunAll runs them all, up to a cap.
	MissedRunAll MissedRunsPolicy = "RunAll"
)

// DeletionPolicy is what happens to runs in progress when their CronTab is deleted.
// +kubebuilder:validation:Enum=Stop;Await
type DeletionPolicy string

const (
	// DeletionStop stops them.
	DeletionStop DeletionPolicy = "Stop"
	// DeletionAwait lets them end first.
	DeletionAwait DeletionPolicy = "Await"
)

// MissedRuns configures what happens to slots that passed while their runs could not be started.
type MissedRuns struct {
	// policy is RunLatest (default: the latest slot is run, the others are missed), Skip (slots that are late
	// by more than a minute, or by more than startingDeadline, are missed) or RunAll (the latest max slots are
	// run: one after the other, all at once with concurrencyPolicy Allow, only the latest with Replace).
	// +optional
	// +kubebuilder:default=RunLatest
	Policy MissedRunsPolicy `json:"policy,omitempty"`

	// max is the most missed slots that RunAll runs. 1 to 100, default 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Max int32 `json:"max,omitempty"`
}

// History configures how many ended runs are kept, with their pods and logs.
type History struct {
	// succeeded is how many runs that succeeded are kept. 0 to 100, default 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Succeeded *int32 `json:"succeeded,omitempty"`

	// failed is how many runs that failed are kept. 0 to 100, default 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Failed *int32 `json:"failed,omitempty"`

	// maxAge is how long an ended run is kept at most, counted from its end, for instance 72h. 1m to 87600h.
	// Default: no limit.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('87600h')",message="must be from 1m to 87600h, for instance 72h"
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`
}

// CronTabSpec defines what runs, and when.
//
// +kubebuilder:validation:XValidation:rule="!has(self.notBefore) || !has(self.notAfter) || self.notBefore < self.notAfter",message="notBefore must be earlier than notAfter",fieldPath=".notAfter"
type CronTabSpec struct {
	// cronSpec is when to run: five fields, "minute hour day-of-month month day-of-week", or one of @hourly,
	// @daily, @midnight, @weekly, @monthly, @yearly and @annually. A field is a list of values, ranges (1-5),
	// steps (*/15) and names (JAN, MON); 0 and 7 are Sunday. When day-of-month and day-of-week are both
	// restricted, also by a step, either one suffices, as in a CronJob. H stands for a value that is chosen
	// once for each CronTab, so that many of them do not run at the same moment: "H H * * *" is once a day.
	// Default "5 0 * * *", five past midnight. When clocks change, a run at a fixed hour that would be skipped
	// happens right after the change, and one that would happen twice happens once.
	// +optional
	// +kubebuilder:default="5 0 * * *"
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[[:space:]]*([^@[:space:]][^[:space:]]*([[:space:]]+[^[:space:]]+){4}|@(?i:hourly|daily|midnight|weekly|monthly|yearly|annually))[[:space:]]*$')",message="must have five fields, \"minute hour day-of-month month day-of-week\", such as \"5 0 * * *\", or be @hourly, @daily, @midnight, @weekly, @monthly, @yearly or @annually; there are no seconds and no years"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[[:space:]]*[^@[:space:]][^[:space:]]*([[:space:]]+[^[:space:]]+){4}[[:space:]]*$') || self.matches('(?i)^[[:space:]]*([*]|H([(][0-5]?[0-9]-[0-5]?[0-9][)])?|[0-5]?[0-9](-[0-5]?[0-9])?)(/[0-9]{1,2})?(,([*]|H([(][0-5]?[0-9]-[0-5]?[0-9][)])?|[0-5]?[0-9](-[0-5]?[0-9])?)(/[0-9]{1,2})?)*([[:space:]]|$)')",message="minute (the first field) must be 0-59, as a value, range, step or list: 0, 10-20, */15, 0,30, H or H(0-29); write 0 for the full hour"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[[:space:]]*[^@[:space:]][^[:space:]]*([[:space:]]+[^[:space:]]+){4}[[:space:]]*$') || self.matches('(?i)^[[:space:]]*([^[:space:]]+[[:space:]]+){1}([*]|H([(]([01]?[0-9]|2[0-3])-([01]?[0-9]|2[0-3])[)])?|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[0-9]{1,2})?(,([*]|H([(]([01]?[0-9]|2[0-3])-([01]?[0-9]|2[0-3])[)])?|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[0-9]{1,2})?)*([[:space:]]|$)')",message="hour (the second field) must be 0-23, as a value, range, step or list: 9, 8-18, */2, 6,18, H or H(2-4); write 0 for midnight"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[[:space:]]*[^@[:space:]][^[:space:]]*([[:space:]]+[^[:space:]]+){4}[[:space:]]*$') || self.matches('(?i)^[[:space:]]*([^[:space:]]+[[:space:]]+){2}([*]|H([(](0?[1-9]|[12][0-9]|3[01])-(0?[1-9]|[12][0-9]|3[01])[)])?|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[0-9]{1,2})?(,([*]|H([(](0?[1-9]|[12][0-9]|3[01])-(0?[1-9]|[12][0-9]|3[01])[)])?|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[0-9]{1,2})?)*([[:space:]]|$)')",message="day of month (the third field) must be 1-31, as a value, range, step or list: 1, 1-7, */2, 1,15, H or *; there is no ?, L or W: write *, or 28-31 and let the command check the date"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[[:space:]]*[^@[:space:]][^[:space:]]*([[:space:]]+[^[:space:]]+){4}[[:space:]]*$') || self.matches('(?i)^[[:space:]]*([^[:space:]]+[[:space:]]+){3}([*]|H([(](0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)-(0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[)])?|(0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(-(0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))?)(/[0-9]{1,2})?(,([*]|H([(](0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)-(0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[)])?|(0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(-(0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))?)(/[0-9]{1,2})?)*([[:space:]]|$)')",message="month (the fourth field) must be 1-12 or JAN-DEC, in three letters, as a value, range, step or list: 6, JAN-MAR, */3 or *"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[[:space:]]*[^@[:space:]][^[:space:]]*([[:space:]]+[^[:space:]]+){4}[[:space:]]*$') || self.matches('(?i)^[[:space:]]*([^[:space:]]+[[:space:]]+){4}([*]|H([(](0?[0-7]|sun|mon|tue|wed|thu|fri|sat)-(0?[0-7]|sun|mon|tue|wed|thu|fri|sat)[)])?|(0?[0-7]|sun|mon|tue|wed|thu|fri|sat)(-(0?[0-7]|sun|mon|tue|wed|thu|fri|sat))?)(/[0-9]{1,2})?(,([*]|H([(](0?[0-7]|sun|mon|tue|wed|thu|fri|sat)-(0?[0-7]|sun|mon|tue|wed|thu|fri|sat)[)])?|(0?[0-7]|sun|mon|tue|wed|thu|fri|sat)(-(0?[0-7]|sun|mon|tue|wed|thu|fri|sat))?)(/[0-9]{1,2})?)*([[:space:]]|$)')",message="day of week (the fifth field) must be 0-7 or SUN-SAT, in three letters, MON and not MONDAY, as a value, range, step or list: 1, MON-FRI, SUN,WED or *; there is no ?, L or #: write *"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=1,displayName="Schedule",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	CronSpec string `json:"cronSpec,omitempty"`

	// timeZone is the IANA time zone that cronSpec is read in, such as Europe/Berlin. Default UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+:/-]+$`
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9][A-Za-z0-9_+-]*){0,2}$')",message="must be an IANA name such as Europe/Berlin, or UTC; an offset such as +02:00 is none: write Etc/GMT-2, where the sign is the other way round"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=2,displayName="Time zone",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	TimeZone string `json:"timeZone,omitempty"`

	// image is the container image that runs.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^\S+$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=3,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image string `json:"image"`

	// replicas is how many pods one run has, all at the same time. Each finds its number, from 0, in the
	// environment variable JOB_COMPLETION_INDEX; the run has succeeded when all have. 1 to 10, default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=4,displayName="Pods of a run",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas int32 `json:"replicas,omitempty"`

	// command replaces the image's entry point. Default: the image's.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=5,displayName="Command",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Command []string `json:"command,omitempty"`

	// args are the arguments. Default: the image's, unless command is set. Every user who may read Jobs can
	// read them: put secrets into env, from a Secret.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=6,displayName="Arguments",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Args []string `json:"args,omitempty"`

	// env are environment variables of the container.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=7,displayName="Environment variables",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Env []corev1.EnvVar `json:"env,omitempty"`

	// envFrom imports environment variables from whole ConfigMaps and Secrets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=8,displayName="Environment from ConfigMaps and Secrets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// volumeMounts set where the volumes of template.spec.volumes are mounted in the container.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=9,displayName="Volume mounts",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`

	// resources are the container's requests and limits. Default: those of the namespace's LimitRange.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=10,displayName="Requests and limits",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// template configures the pods beyond their container, with the field names of a pod template.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=11,displayName="Pod template",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Template PodTemplate `json:"template,omitzero"`

	// concurrencyPolicy is what happens to a slot that arrives while an earlier run is in progress: Forbid
	// (default) skips it, Allow starts it beside the others, Replace stops the earlier run and starts the new
	// one when its pods are gone, Queue starts it when the earlier ones have ended.
	// +optional
	// +kubebuilder:default=Forbid
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=13,displayName="When an earlier run is in progress",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Forbid","urn:alm:descriptor:com.tectonic.ui:select:Allow","urn:alm:descriptor:com.tectonic.ui:select:Replace","urn:alm:descriptor:com.tectonic.ui:select:Queue"}
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// queueLimit is the most slots that wait with Queue; further ones are skipped. 1 to 100, default 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=14,displayName="Longest queue",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	QueueLimit int32 `json:"queueLimit,omitempty"`

	// missedRuns configures what happens to slots that passed while their runs could not be started, for
	// instance because the operator was down.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=15,displayName="Missed runs",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MissedRuns MissedRuns `json:"missedRuns,omitzero"`

	// startingDeadline is how late a run may start, for instance 10m. A slot that is later, also one in the
	// queue, is missed. 10s to 8760h. Default: no limit.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('8760h')",message="must be from 10s to 8760h, for instance 10m"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=16,displayName="Latest start after its time",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	StartingDeadline *metav1.Duration `json:"startingDeadline,omitempty"`

	// activeDeadline is how long a run may take, for instance 2h; after that it is stopped and has failed. 1s
	// to 8760h. Default: no limit.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="must be from 1s to 8760h, for instance 2h"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=17,displayName="Longest time of a run",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	ActiveDeadline *metav1.Duration `json:"activeDeadline,omitempty"`

	// backoffLimit is how many pods of a run may fail before the run has failed. 0 to 100, default 6.
	// +optional
	// +kubebuilder:default=6
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=18,displayName="Pods that may fail",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`

	// suspend stops the schedule from starting runs; runs in progress continue, and runs by hand are possible.
	// Slots that pass meanwhile are not made up for. Default false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=12,displayName="Suspended",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Suspend bool `json:"suspend,omitempty"`

	// notBefore is when the schedule begins, for instance 2027-01-01T00:00:00Z. Default: at once.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=19,displayName="Not before",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	NotBefore *metav1.Time `json:"notBefore,omitempty"`

	// notAfter is when the schedule ends, for instance 2027-12-31T23:59:59Z. Default: never.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=20,displayName="Not after",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// jitter delays every run by less than this, in whole seconds. The delay is chosen once for each CronTab,
	// so that many of them do not start at the same second. 1s to 24h. Default: no delay.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be from 1s to 24h, for instance 5m"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=21,displayName="Largest delay",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Jitter *metav1.Duration `json:"jitter,omitempty"`

	// history configures how many ended runs are kept, with their pods and logs.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=22,displayName="Ended runs to keep",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	History History `json:"history,omitzero"`

	// deletionPolicy is what happens to runs in progress when this object is deleted: Stop (default) stops
	// them, Await lets them end first. It may be changed while the object waits.
	// +optional
	// +kubebuilder:default=Stop
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=23,displayName="Runs on deletion",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Stop","urn:alm:descriptor:com.tectonic.ui:select:Await"}
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}
