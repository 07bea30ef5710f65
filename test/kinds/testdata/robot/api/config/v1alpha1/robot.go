// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RobotConfig configures the kind Robot.
type RobotConfig struct {
	// RetryMax is the longest time between two tries after errors. More than 0. Default 5m.
	// +optional
	RetryMax *Duration `json:"retryMax,omitempty"`
}

func (c *RobotConfig) setDefaults() { defaultDuration(&c.RetryMax, 5*time.Minute) }

func (c *RobotConfig) validate(path *field.Path) field.ErrorList {
	return positive(path.Child("retryMax"), c.RetryMax)
}
