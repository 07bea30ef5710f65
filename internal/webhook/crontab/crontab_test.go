// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

func cronTab(spec, zone string, generation int64) *v1alpha1.CronTab {
	return &v1alpha1.CronTab{
		ObjectMeta: metav1.ObjectMeta{Name: "t", Generation: generation},
		Spec:       v1alpha1.CronTabSpec{CronSpec: spec, TimeZone: zone},
	}
}

func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		reason, spec, zone string
		refused            []string // what the refusal names
		warned             string
	}{
		{"well", "5 0 * * *", "Europe/Berlin", nil, ""},
		{"the default zone", "H H * * *", "", nil, ""},
		{"never", "0 0 30 2 *", "", nil, "spec.cronSpec 0 0 30 2 * never fires"},
		{"an unknown zone", "5 0 * * *", "Europe/Bielefeld", []string{"spec.timeZone", `there is no time zone "Europe/Bielefeld"`, `such as "Europe/Berlin"`}, ""},
		{"the machine's zone", "5 0 * * *", "Local", []string{"spec.timeZone", "would depend on the machine"}, ""},
		{"an hour that is none", "5 24 * * *", "", []string{"spec.cronSpec", `hour "24"`, "24 is out of range 0-23; write 0 for midnight"}, ""},
		{"a range that runs backwards", "5 0 * * FRI-MON", "", []string{"spec.cronSpec", "day of week", "runs backwards"}, ""},
		{"both wrong", "5 24 * * *", "Mars", []string{"spec.cronSpec", "spec.timeZone"}, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			warnings, err := webhook{}.ValidateCreate(t.Context(), cronTab(tc.spec, tc.zone, 1))
			if (err != nil) != (tc.refused != nil) || (err != nil && !apierrors.IsInvalid(err)) {
				t.Fatalf("error %v", err)
			}
			for _, part := range tc.refused {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %q", err, part)
				}
			}
			if got := strings.Join(warnings, ""); (got == "") != (tc.warned == "") || !strings.Contains(got, tc.warned) {
				t.Errorf("warned %q, want %q", got, tc.warned)
			}
		})
	}
}

// TestOverwrittenRequests expects a warning about a request for a run by hand that the operator has not seen.
func TestOverwrittenRequests(t *testing.T) {
	const key = "batch.acme.com/run-now"
	long := strings.Repeat("x", 300)
	with := func(request string, s v1alpha1.CronTabStatus) *v1alpha1.CronTab {
		c := cronTab("5 0 * * *", "", 1)
		c.Status = s
		if request != "" {
			c.Annotations = map[string]string{key: request}
		}
		return c
	}
	last := func(request string) v1alpha1.CronTabStatus {
		return v1alpha1.CronTabStatus{RunNow: &v1alpha1.RunNow{Request: request}}
	}
	for _, tc := range []struct {
		reason        string
		before, after string
		status        v1alpha1.CronTabStatus
		warned        bool
	}{
		{"the first", "", "a", v1alpha1.CronTabStatus{}, false},
		{"not seen, another", "a", "b", v1alpha1.CronTabStatus{}, true},
		{"not seen, taken off", "a", "", v1alpha1.CronTabStatus{}, true},
		{"not seen, though an earlier one was", "b", "c", last("a"), true},
		{"not seen, the same", "a", "a", v1alpha1.CronTabStatus{}, false},
		{"seen", "a", "b", last("a"), false},
		{"waits", "a", "b", v1alpha1.CronTabStatus{RunNow: last("b").RunNow, Requests: []v1alpha1.RunNow{{Request: "a"}}}, false},
		{"long, and seen", long, "b", last(names.Request(long)), false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			warnings, err := webhook{}.ValidateUpdate(t.Context(), with(tc.before, tc.status), with(tc.after, tc.status))
			if err != nil || (len(warnings) == 1) != tc.warned {
				t.Errorf("warns %q, error %v", warnings, err)
			}
		})
	}
}

func TestUpdates(t *testing.T) {
	bad := func(generation int64) *v1alpha1.CronTab { return cronTab("5 24 * * *", "", generation) }
	if _, err := (webhook{}).ValidateUpdate(t.Context(), bad(1), bad(2)); err == nil {
		t.Error("a bad change is let in")
	}
	if _, err := (webhook{}).ValidateUpdate(t.Context(), bad(1), bad(1)); err != nil {
		t.Errorf("a change of metadata is held back: %v", err)
	}
	deleted := bad(2)
	deleted.DeletionTimestamp = &metav1.Time{}
	deleted.DeletionTimestamp.Time = deleted.DeletionTimestamp.AddDate(2026, 0, 0)
	if _, err := (webhook{}).ValidateUpdate(t.Context(), bad(1), deleted); err != nil {
		t.Errorf("an object that is being deleted is held back: %v", err)
	}
	if _, err := (webhook{}).ValidateDelete(t.Context(), bad(1)); err != nil {
		t.Errorf("a deletion is held back: %v", err)
	}
}
