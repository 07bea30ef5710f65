/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CronTabConfig configures the kind CronTab.
type CronTabConfig struct {
	// MaxConcurrentReconciles is how many CronTabs are worked on at the same time: so many runs can be
	// started at once. 1 to 100. Default 20.
	// +optional
	MaxConcurrentReconciles *int32 `json:"maxConcurrentReconciles,omitempty"`

	// RetryMax is the longest time between two tries to start a run, after errors. More than 0. Default 1m.
	// +optional
	RetryMax *Duration `json:"retryMax,omitempty"`
}

// defaultStarts is how many CronTabs are worked on at once: schedules like to fire together.
const defaultStarts = 20

func (c *CronTabConfig) setDefaults() {
	defaultPointer(&c.MaxConcurrentReconciles, defaultStarts)
	defaultDuration(&c.RetryMax, time.Minute)
}

func (c *CronTabConfig) validate(path *field.Path) field.ErrorList {
	errs := oneTo(path.Child("maxConcurrentReconciles"), *c.MaxConcurrentReconciles, maxReconciles)
	return append(errs, positive(path.Child("retryMax"), c.RetryMax)...)
}
