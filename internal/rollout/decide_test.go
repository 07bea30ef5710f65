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

package rollout

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
			reason: "another change begins the debounce anew", pending: pendingSince(-9*time.Second, -time.Second), want: ReasonDebounce, at: time.Second,
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

func TestAdvance(t *testing.T) {
	changed := func(mark string) view { return view{changes: []string{"ConfigMap/c: k"}, mark: mark} }
	same := view{mark: "same"}
	earlier := metav1.NewMicroTime(after(-time.Minute))
	now := metav1.NewMicroTime(noon)
	pending := func(mark string, started, replaces bool) *common.PendingRestart {
		return &common.PendingRestart{Mark: mark, Since: earlier, Changed: earlier, Sources: []string{"first"}, Started: started, Replaces: replaces}
	}
	for _, tc := range []struct {
		reason  string
		pending *common.PendingRestart
		view    view
		want    *common.PendingRestart
		undone  bool
	}{
		{reason: "nothing has changed", view: same},
		{
			reason: "a first change", view: changed("b"),
			want: &common.PendingRestart{Mark: "b", Since: now, Changed: now, Sources: []string{"ConfigMap/c: k"}},
		},
		{reason: "the same change is seen again", pending: pending("b", false, false), view: changed("b"), want: pending("b", false, false)},
		{
			reason: "another change joins it", pending: pending("b", false, false), view: changed("c"),
			want: &common.PendingRestart{Mark: "c", Since: earlier, Changed: now, Sources: []string{"ConfigMap/c: k"}},
		},
		{reason: "the change is undone in time", pending: pending("b", false, false), view: same, undone: true},
		{reason: "a restart goes on", pending: pending("b", true, false), view: changed("b"), want: pending("b", true, false)},
		{
			reason: "a change during the restart is one more", pending: pending("b", true, false), view: changed("c"),
			want: &common.PendingRestart{Mark: "c", Since: now, Changed: now, Sources: []string{"ConfigMap/c: k"}, Replaces: true},
		},
		{
			reason: "a change undone during the restart is one more", pending: pending("b", true, false), view: same,
			want: &common.PendingRestart{Mark: "same", Since: now, Changed: now, Sources: []string{"first"}, Replaces: true},
		},
		{
			reason: "a change undone that had reached workloads is one more", pending: pending("b", false, true), view: same,
			want: &common.PendingRestart{Mark: "same", Since: earlier, Changed: now, Sources: []string{"first"}, Replaces: true},
		},
		{reason: "which then waits for its turn", pending: pending("same", false, true), view: same, want: pending("same", false, true)},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := &common.RestartStatus{Pending: tc.pending, History: []common.RestartRecord{{Outcome: common.OutcomeRestarting}}}
			wasStarted := tc.pending != nil && tc.pending.Started
			if got := advance(s, tc.view, noon); got != tc.undone {
				t.Errorf("undone is %v", got)
			}
			if diff := cmp.Diff(tc.want, s.Pending); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			replaced := wasStarted && !s.Pending.Started
			if cancelled := s.History[0].Outcome == common.OutcomeCancelled; cancelled != replaced {
				t.Errorf("the history says %s", s.History[0].Outcome)
			}
		})
	}
}

func TestBegin(t *testing.T) {
	s := &common.RestartStatus{
		Pending: &common.PendingRestart{Mark: "new", Sources: []string{"a", "b"}, Reason: ReasonDebounce, NotBefore: &times(0)[0]},
		Mark:    "old", Workloads: []common.RestartedWorkload{{Name: "w"}}, Restarts: 7,
		Recent:  times(-2*time.Hour, -time.Minute),
		History: slices.Repeat([]common.RestartRecord{{Source: "older"}}, maxHistory),
	}
	begin(s, "ContentChanged", true, noon)
	if s.Mark != "new" || s.Workloads != nil || s.Restarts != 8 || !s.LastRestart.Time.Equal(noon) {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff(times(-time.Minute, 0), s.Recent); diff != "" {
		t.Errorf("recent, -want +got:\n%s", diff)
	}
	if len(s.History) != maxHistory || s.History[0].Source != "a; b" || s.History[0].Outcome != common.OutcomeRestarting {
		t.Errorf("history %+v", s.History)
	}
	if p := s.Pending; !p.Started || p.Reason != "" || p.NotBefore != nil {
		t.Errorf("pending %+v", p)
	}
	for range maxRecent + 10 {
		begin(s, "ContentChanged", true, noon)
	}
	if len(s.Recent) != maxRecent {
		t.Errorf("%d recent restarts are kept", len(s.Recent))
	}
	was := s.Restarts
	begin(s, "ContentChanged", false, noon)
	if s.Restarts != was {
		t.Error("a restart of nothing counts")
	}
}

func TestWave(t *testing.T) {
	id := func(name string) common.RestartedWorkload {
		return common.RestartedWorkload{Kind: "Deployment", Name: name}
	}
	for _, tc := range []struct {
		reason  string
		limit   int
		reached []string
		states  []state
		todo    []int
		room    int
	}{
		{reason: "nothing is selected"},
		{reason: "all at once", states: []state{{id: id("a")}, {id: id("b"), mark: "old"}}, todo: []int{0, 1}, room: 2},
		{reason: "who has the mark is done", states: []state{{id: id("a"), mark: "m"}, {id: id("b")}}, todo: []int{1}, room: 1},
		{reason: "one at a time", limit: 1, states: []state{{id: id("a")}, {id: id("b")}}, todo: []int{0, 1}, room: 1},
		{reason: "the first one still rolls", limit: 1, states: []state{{id: id("a"), mark: "m", rolling: true}, {id: id("b")}}, todo: []int{1}},
		{reason: "the first one is ready", limit: 1, states: []state{{id: id("a"), mark: "m"}, {id: id("b")}}, todo: []int{1}, room: 1},
		{
			reason: "what rolls for another reason does not count", limit: 1,
			states: []state{{id: id("a"), mark: "old", rolling: true}, {id: id("b")}}, todo: []int{0, 1}, room: 1,
		},
		{
			reason: "the limit was lowered meanwhile", limit: 1,
			states: []state{{id: id("a"), mark: "m", rolling: true}, {id: id("b"), mark: "m", rolling: true}, {id: id("c")}}, todo: []int{2},
		},
		{
			reason: "who lost the mark to somebody else in this wave is not marked again", reached: []string{"a"},
			states: []state{{id: id("a"), mark: "theirs"}, {id: id("b")}}, todo: []int{1}, room: 1,
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := &common.RestartStatus{Pending: &common.PendingRestart{Mark: "m"}}
			for _, name := range tc.reached {
				s.Workloads = append(s.Workloads, id(name))
			}
			todo, room := wave(s, tc.states, tc.limit)
			if !slices.Equal(todo, tc.todo) || room != tc.room {
				t.Errorf("%v, room for %d; want %v and %d", todo, room, tc.todo, tc.room)
			}
		})
	}
}

func TestUnrecorded(t *testing.T) {
	here, there := common.RestartedWorkload{Kind: "Deployment", Name: "here", UID: "1"}, common.RestartedWorkload{Kind: "Deployment", Name: "there", UID: "2"}
	for _, tc := range []struct {
		reason string
		is     state
		want   bool
	}{
		{"the mark of the last restart", state{id: here, mark: "last", ours: true}, false},
		{"the mark of the pending one", state{id: there, mark: "pending", ours: true}, true},
		{"that mark, set by somebody else", state{id: there, mark: "pending"}, false},
		{"another mark of ours where the last restart was", state{id: here, mark: "other", ours: true}, true},
		{"another mark of ours where it was not", state{id: there, mark: "other", ours: true}, false},
		{"another mark of somebody else", state{id: here, mark: "other"}, false},
		{"no mark", state{id: here}, false},
	} {
		s := &common.RestartStatus{Mark: "last", Workloads: []common.RestartedWorkload{here}, Pending: &common.PendingRestart{Mark: "pending"}}
		if got := unrecorded(s, []state{{id: there}, tc.is}); got != tc.want {
			t.Errorf("%s: %v", tc.reason, got)
		}
	}
}

func TestReverted(t *testing.T) {
	w := func(name string) common.RestartedWorkload {
		return common.RestartedWorkload{Kind: "Deployment", Name: name, UID: "1"}
	}
	s := &common.RestartStatus{Mark: "m", Workloads: []common.RestartedWorkload{w("kept"), w("lost"), w("gone")}}
	again := w("gone")
	again.UID = "2"
	got := reverted(s, []state{{id: w("kept"), mark: "m"}, {id: w("lost")}, {id: w("new")}, {id: again}})
	if diff := cmp.Diff([]string{"Deployment/lost"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestJoin(t *testing.T) {
	for want, sources := range map[string][]string{
		"": nil, "a": {"a"}, "a; b": {"a", "b"}, "a; b; c; d; e": {"a", "b", "c", "d", "e"}, "a; b; c; d; e and 2 more": {"a", "b", "c", "d", "e", "f", "g"},
	} {
		if got := join(sources); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSoon(t *testing.T) {
	for at, want := range map[time.Duration]time.Duration{
		-time.Hour: atOnce, 0: atOnce, 2 * time.Second: 2 * time.Second, 10 * time.Hour: 9 * time.Hour,
	} {
		if got := soon(after(at), noon); got != want {
			t.Errorf("in %v: %v, want %v", at, got, want)
		}
	}
	if got := soon(time.Time{}, noon); got != lookAgain {
		t.Errorf("for no time: %v", got)
	}
}
