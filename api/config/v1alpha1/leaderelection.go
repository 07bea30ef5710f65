// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// LeaderElectionsConfig configures the kind LeaderElection.
type LeaderElectionsConfig struct {
	// MaxConcurrentReconciles is how many LeaderElections are reconciled at the same time, and thus how many leaders
	// can change at once. 1 to 100. Default 20.
	// +optional
	MaxConcurrentReconciles *int32 `json:"maxConcurrentReconciles,omitempty"`

	// RetryMax is the longest time between two tries after errors. More than 0. Default 30s.
	// +optional
	RetryMax *Duration `json:"retryMax,omitempty"`
}

// defaultElections is how many LeaderElections are reconciled at once: with a node, many leaders are lost at the same time.
const defaultElections = 20

func (c *LeaderElectionsConfig) setDefaults() {
	defaultPointer(&c.MaxConcurrentReconciles, defaultElections)
	defaultDuration(&c.RetryMax, 30*time.Second)
}

func (c *LeaderElectionsConfig) validate(path *field.Path) field.ErrorList {
	errs := oneTo(path.Child("maxConcurrentReconciles"), *c.MaxConcurrentReconciles, maxReconciles)
	return append(errs, positive(path.Child("retryMax"), c.RetryMax)...)
}
