// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// A clock that was a day ahead when something was written down holds no restart back for a day.
func TestTheClockWasWrong(t *testing.T) {
	const day = 24 * time.Hour
	timeAt := func(d time.Duration) *metav1.Time { return &times(d)[0] }
	for _, tc := range []struct {
		reason string
		policy common.RestartPolicy
		status common.RestartStatus
		want   string
		at     time.Duration
	}{
		{
			reason: "when the change was seen: its debounce begins now",
			status: common.RestartStatus{Pending: pendingSince(day, day)}, want: ReasonDebounce, at: 2 * time.Second,
		},
		{
			reason: "when the last of several changes was seen", policy: common.RestartPolicy{Debounce: dur(time.Minute)},
			status: common.RestartStatus{Pending: pendingSince(-time.Second, time.Second)}, want: ReasonDebounce, at: time.Minute,
		},
		{
			reason: "at the last restart: it counts no more", policy: common.RestartPolicy{MinInterval: dur(day)},
			status: common.RestartStatus{Pending: pendingSince(-time.Minute, -time.Minute), LastRestart: timeAt(day)},
		},
		{
			reason: "or was set back a little since: it counts", policy: common.RestartPolicy{MinInterval: dur(day)},
			status: common.RestartStatus{Pending: pendingSince(-time.Minute, -time.Minute), LastRestart: timeAt(time.Hour)},
			want:   ReasonMinInterval, at: day + time.Hour,
		},
		{
			reason: "at so many restarts: none of them counts", policy: common.RestartPolicy{MaxPerHour: 2},
			status: common.RestartStatus{Pending: pendingSince(-time.Minute, -time.Minute), Recent: times(-time.Minute, day, day)},
		},
		{
			reason: "or was set back a little since: they count", policy: common.RestartPolicy{MaxPerHour: 2},
			status: common.RestartStatus{Pending: pendingSince(-time.Minute, -time.Minute), Recent: times(time.Hour, time.Hour)},
			want:   ReasonSuspended, at: 2 * time.Hour,
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			timing, err := readTiming(tc.policy, "uid")
			if err != nil {
				t.Fatal(err)
			}
			correctClock(&tc.status, instant(noon))
			reason, at := timing.due(&tc.status, noon)
			if reason != tc.want || !at.Equal(after(tc.at)) {
				t.Errorf("%q at %v, want %q at %v", reason, at, tc.want, after(tc.at))
			}
		})
	}
}

// Nor does it keep pods from being evicted that a PodDisruptionBudget guarded then.
func TestTheClockWasWrongWhenABudgetAllowedNothing(t *testing.T) {
	for ahead, kept := range map[time.Duration]bool{5 * time.Second: true, askBudgetLast: true, 24 * time.Hour: false} {
		s := common.RestartStatus{Pending: &common.PendingRestart{Started: true, NotBefore: &times(ahead)[0]}}
		correctClock(&s, instant(noon))
		if (s.Pending.NotBefore != nil) != kept {
			t.Errorf("an eviction that was put off to %s from now: not before %v", ahead, s.Pending.NotBefore)
		}
	}
	s := common.RestartStatus{Pending: &common.PendingRestart{NotBefore: &times(24 * time.Hour)[0]}}
	if correctClock(&s, instant(noon)); s.Pending.NotBefore == nil {
		t.Error("a window that opens tomorrow is forgotten")
	}
}
