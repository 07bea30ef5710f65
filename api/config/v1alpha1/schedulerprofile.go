// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// SchedulerProfileConfig configures the kind SchedulerProfile.
type SchedulerProfileConfig struct {
	// MaxConcurrentReconciles is how many SchedulerProfiles are reconciled at the same time. 1 to 100. Default 2.
	// +optional
	MaxConcurrentReconciles *int32 `json:"maxConcurrentReconciles,omitempty"`

	// RetryMax is the longest time between two tries after errors. More than 0. Default 30s.
	// +optional
	RetryMax *Duration `json:"retryMax,omitempty"`
}

// defaultProfiles is how many SchedulerProfiles are reconciled at once: a cluster has few of them.
const defaultProfiles = 2

func (c *SchedulerProfileConfig) setDefaults() {
	defaultPointer(&c.MaxConcurrentReconciles, defaultProfiles)
	defaultDuration(&c.RetryMax, 30*time.Second)
}

func (c *SchedulerProfileConfig) validate(path *field.Path) field.ErrorList {
	errs := oneTo(path.Child("maxConcurrentReconciles"), *c.MaxConcurrentReconciles, maxReconciles)
	return append(errs, positive(path.Child("retryMax"), c.RetryMax)...)
}
