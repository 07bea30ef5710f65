// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "testing"

func TestValidateSchedulerProfile(t *testing.T) {
	reconciles := func(n int32) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { c.SchedulerProfile.MaxConcurrentReconciles = &n }
	}
	retries := func(d *Duration) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { c.SchedulerProfile.RetryMax = d }
	}
	checkRules(t, []rule{
		{"most reconciles", reconciles(100), nil},
		{"no reconciles", reconciles(0), []string{`schedulerProfile.maxConcurrentReconciles: Invalid value: 0: must be between 1 and 100`}},
		{"too many reconciles", reconciles(101), []string{`schedulerProfile.maxConcurrentReconciles: Invalid value: 101: must be between 1 and 100`}},
		{"every second", retries(seconds(1)), nil},
		{"all the time", retries(seconds(0)), []string{`schedulerProfile.retryMax: Invalid value: "0s": must be more than 0s`}},
	})
}
