// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CronTabConfig configures the kind CronTab.
type CronTabConfig struct {
	// MaxConcurrentReconciles is how many CronTabs are reconciled at the same time, and thus how many runs can
	// be started at once. 1 to 100. Default 20.
	// +optional
	MaxConcurrentReconciles *int32 `json:"maxConcurrentReconciles,omitempty"`

	// RetryMax is the longest time between two tries to start a run, after errors. More than 0. Default 1m.
	// +optional
	RetryMax *Duration `json:"retryMax,omitempty"`
}

// defaultStarts is how many CronTabs are reconciled at once: many schedules fire at the same time.
const defaultStarts = 20

func (c *CronTabConfig) setDefaults() {
	defaultPointer(&c.MaxConcurrentReconciles, defaultStarts)
	defaultDuration(&c.RetryMax, time.Minute)
}

func (c *CronTabConfig) validate(path *field.Path) field.ErrorList {
	errs := oneTo(path.Child("maxConcurrentReconciles"), *c.MaxConcurrentReconciles, maxReconciles)
	return append(errs, positive(path.Child("retryMax"), c.RetryMax)...)
}
