// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/schedule"
)

// rulesOf identifies the rules that determine the slots.
func rulesOf(spec v1alpha1.CronTabSpec, s schedule.Schedule) string {
	bounds := func(t *metav1.Time) string {
		if t == nil {
			return "-"
		}
		return t.UTC().Format(time.RFC3339)
	}
	rules := fmt.Sprintf("%s|%s|%t|%s|%s", s, spec.TimeZone, spec.Suspend, bounds(spec.NotBefore), bounds(spec.NotAfter))
	if spec.Jitter != nil {
		rules += "|" + spec.Jitter.Duration.String()
	}
	return names.Digest(rules)
}
