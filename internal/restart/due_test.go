// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// noon is a Wednesday.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return noon.Add(d) }

func dur(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

func times(ds ...time.Duration) []metav1.Time {
	var out []metav1.Time
	for _, d := range ds {
		out = append(out, metav1.NewTime(after(d)))
	}
	return out
}

func pendingSince(since, changed time.Duration) *common.PendingRestart {
	return &common.PendingRestart{Mark: "m", Since: metav1.NewMicroTime(after(since)), Changed: metav1.NewMicroTime(after(changed))}
}

func TestDue(t *testing.T) {
	nights := []common.RestartWindow{{Schedule: "0 2 * * *", Duration: metav1.Duration{Duration: time.Hour}}}
	berlin := []common.RestartWindow{{Schedule: "0 14 * * *", Duration: metav1.Duration{Duration: time.Hour}, TimeZone: "Europe/Berlin"}}
	lastAt := func(d time.Duration) *metav1.Time { return &times(d)[0] }
	for _, tc := range []struct {
		reason  string
		policy  common.RestartPolicy
		status  common.RestartStatus
		pending *common.PendingRestart
		want    string
		at      time.Duration
	}{
		{
			reason: "nothing holds it back", policy: common.RestartPolicy{Debounce: dur(0)}, pending: pendingSince(0, 0),
		},
		{
			reason: "the default debounce is two seconds", pending: pendingSince(0, 0), want: ReasonDebounce, at: 2 * time.Second,
		},
		{
			reason: "the debounce is over", pending: pendingSince(-2*time.Second, -2*time.Second),
		},
		{
			reason: "another change begins the debounce again", pending: pendingSince(-9*time.Second, -time.Second), want: ReasonDebounce, at: time.Second,
		},
		{
			reason: "but not for ever", pending: pendingSince(-20*time.Second, -time.Second),
		},
		{
			reason: "a window of time between two restarts", policy: common.RestartPolicy{MinInterval: dur(time.Minute)},
			status:  common.RestartStatus{LastRestart: lastAt(-20 * time.Second)},
			pending: pendingSince(-time.Minute, -time.Minute), want: ReasonMinInterval, at: 40 * time.Second,
		},
		{
			reason: "the interval is over", policy: common.RestartPolicy{MinInterval: dur(time.Minute)},
			status: common.RestartStatus{LastRestart: lastAt(-time.Minute)}, pending: pendingSince(-time.Minute, -time.Minute),
		},
		{
			reason: "the first restart needs no interval", policy: common.RestartPolicy{MinInterval: dur(time.Minute)},
			pending: pendingSince(-time.Minute, -time.Minute),
		},
		{
			reason: "the later of two reasons counts", policy: common.RestartPolicy{MinInterval: dur(time.Minute), Debounce: dur(time.Hour)},
			status: common.RestartStatus{LastRestart: lastAt(0)}, pending: pendingSince(0, 0), want: ReasonDebounce, at: time.Hour,
		},
		{
			reason: "as many as an hour allows", policy: common.RestartPolicy{MaxPerHour: 2},
			status:  common.RestartStatus{Recent: times(-50*time.Minute, -10*time.Minute)},
			pending: pendingSince(-time.Minute, -time.Minute), want: ReasonSuspended, at: 10 * time.Minute,
		},
		{
			reason: "one of them is an hour ago", policy: common.RestartPolicy{MaxPerHour: 2},
			status: common.RestartStatus{Recent: times(-time.Hour, -10*time.Minute)}, pending: pendingSince(-time.Minute, -time.Minute),
		},
		{
			reason: "there were more than are allowed now", policy: common.RestartPolicy{MaxPerHour: 1},
			status:  common.RestartStatus{Recent: times(-50*time.Minute, -40*time.Minute, -30*time.Minute)},
			pending: pendingSince(-time.Minute, -time.Minute), want: ReasonSuspended, at: 30 * time.Minute,
		},
		{
			reason: "twelve an hour by default", status: common.RestartStatus{Recent: times(slices.Repeat([]time.Duration{-time.Minute}, 12)...)},
			pending: pendingSince(-time.Minute, -time.Minute), want: ReasonSuspended, at: 59 * time.Minute,
		},
		{
			reason: "no window is open", policy: common.RestartPolicy{Windows: nights},
			pending: pendingSince(-time.Minute, -time.Minute), want: ReasonOutsideWindow, at: 14 * time.Hour,
		},
		{
			reason: "a window in its own time zone: 14:00 in Berlin is 13:00 UTC", policy: common.RestartPolicy{Windows: berlin},
			pending: pendingSince(-time.Minute, -time.Minute), want: ReasonOutsideWindow, at: time.Hour,
		},
		{
			reason: "the first of two windows", policy: common.RestartPolicy{Windows: slices.Concat(nights, berlin)},
			pending: pendingSince(-time.Minute, -time.Minute), want: ReasonOutsideWindow, at: time.Hour,
		},
		{
			reason: "a window is open, but the debounce is not over", policy: common.RestartPolicy{Windows: []common.RestartWindow{
				{Schedule: "0 12 * * *", Duration: metav1.Duration{Duration: time.Minute}},
			}, Debounce: dur(30 * time.Second)},
			pending: pendingSince(0, 0), want: ReasonDebounce, at: 30 * time.Second,
		},
		{
			reason: "the window closes before the debounce is over", policy: common.RestartPolicy{Windows: []common.RestartWindow{
				{Schedule: "0 12 * * *", Duration: metav1.Duration{Duration: time.Minute}},
			}, Debounce: dur(time.Minute)},
			pending: pendingSince(0, 0), want: ReasonOutsideWindow, at: 24 * time.Hour,
		},
		{
			reason: "suspended beyond the window", policy: common.RestartPolicy{MaxPerHour: 1, Windows: nights},
			status:  common.RestartStatus{Recent: times(-time.Minute)},
			pending: pendingSince(-time.Minute, -time.Minute), want: ReasonSuspended, at: 14 * time.Hour,
		},
		{
			reason: "what has begun waits for no debounce, interval or hour", policy: common.RestartPolicy{Debounce: dur(time.Hour), MinInterval: dur(time.Hour), MaxPerHour: 1},
			status:  common.RestartStatus{LastRestart: lastAt(0), Recent: times(0)},
			pending: &common.PendingRestart{Started: true, Changed: metav1.NewMicroTime(noon), Since: metav1.NewMicroTime(noon)},
		},
		{
			reason: "what has begun waits when the window has closed", policy: common.RestartPolicy{Windows: nights},
			pending: &common.PendingRestart{Started: true}, want: ReasonOutsideWindow, at: 14 * time.Hour,
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			timing, err := readTiming(tc.policy, "uid")
			if err != nil {
				t.Fatal(err)
			}
			tc.status.Pending = tc.pending
			reason, at := timing.due(&tc.status, noon)
			if reason != tc.want || !at.Equal(after(tc.at)) {
				t.Errorf("%q at %v, want %q at %v", reason, at, tc.want, after(tc.at))
			}
		})
	}
}

func TestReadTiming(t *testing.T) {
	window := func(schedule, zone string, d time.Duration) common.RestartPolicy {
		return common.RestartPolicy{Windows: []common.RestartWindow{{Schedule: schedule, TimeZone: zone, Duration: metav1.Duration{Duration: d}}}}
	}
	for _, tc := range []struct {
		reason string
		policy common.RestartPolicy
		never  bool
		want   string
	}{
		{"a day that does not exist", window("0 0 30 2 *", "", time.Hour), true, "never fires"},
		{"no schedule", window("daily", "", time.Hour), false, "restart.windows[0]"},
		{"no time zone", window("0 0 * * *", "Mars/Olympus", time.Hour), false, "time zone"},
		{"too short", window("0 0 * * *", "", time.Second), false, "at least 1m"},
		{"negative", window("0 0 * * *", "", -time.Hour), false, "at least 1m"},
	} {
		_, err := readTiming(tc.policy, "uid")
		if err == nil || !strings.Contains(err.Error(), tc.want) || errors.As(err, new(neverOpens)) != tc.never {
			t.Errorf("%s: %v", tc.reason, err)
		}
	}
}
