// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/schedule"
)

// TestPlannedRuns: a plan names the runs that the operator starts, and none that are not known yet.
func TestPlannedRuns(t *testing.T) {
	now := time.Date(2027, 3, 2, 12, 5, 0, 0, time.UTC)
	at := func(after time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(after))) }
	jitter := schedule.Jitter("u", 10*time.Minute)
	for name, c := range map[string]struct {
		change func(*v1alpha1.CronTab)
		want   string
	}{
		"plain":     {func(*v1alpha1.CronTab) {}, "the next ones are at 2027-03-02T13:00:00Z, 2027-03-02T14:00:00Z, 2027-03-02T15:00:00Z"},
		"notBefore": {func(t *v1alpha1.CronTab) { t.Spec.NotBefore = at(115 * time.Minute) }, "at 2027-03-02T14:00:00Z, 2027-03-02T15:00:00Z, 2027-03-02T16"},
		"notAfter":  {func(t *v1alpha1.CronTab) { t.Spec.NotAfter = at(time.Hour) }, "at 2027-03-02T13:00:00Z"},
		"ended":     {func(t *v1alpha1.CronTab) { t.Spec.NotAfter = at(-time.Hour) }, "no run"},
		"jitter": {
			func(t *v1alpha1.CronTab) { t.Spec.Jitter = &metav1.Duration{Duration: 10 * time.Minute} },
			now.Truncate(time.Hour).Add(time.Hour + jitter).Format(time.RFC3339),
		},
		"new": {func(t *v1alpha1.CronTab) { t.ResourceVersion = "" }, "at 2027-03-02T13:00:00Z"},
		"new with H": {
			func(t *v1alpha1.CronTab) { t.ResourceVersion, t.Spec.CronSpec = "", "0,H/20 * * * THU" }, "chosen when it is created",
		},
		"new with a name that has an H": {func(t *v1alpha1.CronTab) { t.ResourceVersion, t.Spec.CronSpec = "", "0 3 * * THU" }, "at 2027-03-04T03:00:00Z"},
		"new with a jitter": {
			func(t *v1alpha1.CronTab) {
				t.ResourceVersion, t.Spec.Jitter = "", &metav1.Duration{Duration: time.Minute}
			}, "chosen when it is created",
		},
	} {
		tab := &v1alpha1.CronTab{ObjectMeta: metav1.ObjectMeta{Name: "t", UID: "u", ResourceVersion: "1", CreationTimestamp: *at(-time.Hour)}}
		tab.Spec.CronSpec = "0 * * * *"
		c.change(tab)
		p, err := planned(tab, now)
		if err != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], c.want) || strings.Contains(c.want, "chosen") && strings.Contains(p.Notes[0], "2027") {
			t.Errorf("%s: %v %q", name, err, p.Notes)
		}
	}
}
