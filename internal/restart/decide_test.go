// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/workload"
)

var (
	inA = []Observation{whole("ConfigMap/c", "k", "A")}
	inB = []Observation{whole("ConfigMap/c", "k", "B")}
	inC = []Observation{whole("ConfigMap/c", "k", "C")}
)

// history plays what is observed, one after another, and begins and ends restarts in between.
func TestPlan(t *testing.T) {
	type event struct {
		seen          []Observation
		rolled        bool
		unconfirmed   bool
		begins, ended bool
		later         time.Duration
	}
	written := func(o []Observation, when string, unattended bool) event {
		w := o[0]
		w.Written, w.unattended = when, unattended
		return event{seen: []Observation{w}}
	}
	see := func(o []Observation) event { return event{seen: o} }
	begins, ended := event{begins: true}, event{ended: true}
	second := []Observation{whole("ConfigMap/c", "k", "B"), whole("Secret/s", "k", "A")}
	changed := []Observation{whole("ConfigMap/c", "k", "B"), whole("Secret/s", "k", "B")}
	for _, tc := range []struct {
		reason  string
		events  []event
		pending int64 // the number of the pending restart; 0 is none
		started bool
		undone  bool
		target  []string
	}{
		{reason: "the first observation is the baseline", events: []event{see(inA), see(inA)}},
		{reason: "a change", events: []event{see(inA), see(inB)}, pending: 1, target: []string{"ConfigMap/c"}},
		{reason: "the same again", events: []event{see(inA), see(inB), see(inB)}, pending: 1, target: []string{"ConfigMap/c"}},
		{reason: "a source that is not seen keeps what is pending", events: []event{see(inA), see(inB), see(nil)}, pending: 1, target: []string{"ConfigMap/c"}},
		{reason: "and what has started", events: []event{see(inA), see(inB), begins, see(nil)}, pending: 1, started: true, target: []string{"ConfigMap/c"}},
		{reason: "newer content is the next number", events: []event{see(inA), see(inB), see(inC)}, pending: 2, target: []string{"ConfigMap/c"}},
		{reason: "undone in time", events: []event{see(inA), see(inB), see(inA)}, undone: true},
		{
			reason: "undone, but a workload has rolled meanwhile", events: []event{see(inA), see(inB), {seen: inA, rolled: true}},
			pending: 2, target: []string{"ConfigMap/c"},
		},
		{
			reason: "which is kept in mind through another change", events: []event{see(inA), see(inB), {seen: inC, rolled: true}, see(inA)},
			pending: 3, target: []string{"ConfigMap/c"},
		},
		{
			reason: "undone, but a restart before may have started pods with newer content", events: []event{see(inA), {seen: inB, unconfirmed: true}, see(inA)},
			pending: 2, target: []string{"ConfigMap/c"},
		},
		{
			reason: "undone, but a workload has rolled before the content was written unseen", events: []event{
				see(inA), written(inB, "1", false), {seen: written(inB, "3", true).seen, rolled: true}, see(inA),
			}, pending: 3, target: []string{"ConfigMap/c"},
		},
		{reason: "undone after the start", events: []event{see(inA), see(inB), begins, see(inA)}, pending: 2, target: []string{"ConfigMap/c"}},
		{
			reason: "and back again: some workloads may not have been reached", events: []event{see(inA), see(inB), begins, see(inA), see(inB)},
			pending: 3, target: []string{"ConfigMap/c"},
		},
		{reason: "there and back", events: []event{see(inA), see(inB), begins, ended, see(inA), begins, ended, see(inB)}, pending: 3, target: []string{"ConfigMap/c"}},
		{reason: "settled", events: []event{see(inA), see(inB), begins, ended, see(inB)}},
		{reason: "settled while away", events: []event{see(inA), see(inB), begins, ended, see(nil)}},
		{
			reason: "changed and changed back unseen during the restart", events: []event{see(inA), written(inB, "1", false), begins, written(inB, "3", true)},
			pending: 2, target: []string{"ConfigMap/c"},
		},
		{
			reason: "or while it waits: workloads that roll meanwhile prove nothing", events: []event{see(inA), written(inB, "1", false), written(inB, "3", true)},
			pending: 2, target: []string{"ConfigMap/c"},
		},
		{
			reason: "or soon after it", events: []event{see(inA), written(inB, "1", false), begins, ended, written(inB, "3", true)},
			pending: 2, target: []string{"ConfigMap/c"},
		},
		{reason: "written without a change", events: []event{see(inA), written(inB, "1", false), begins, ended, written(inB, "2", false), written(inB, "2", true)}},
		{
			reason: "written without a change during the restart",
			events: []event{see(inA), written(inB, "1", false), begins, written(inB, "2", false), written(inB, "2", true), ended, written(inB, "2", true)},
		},
		{reason: "written and no restart before", events: []event{written(inA, "1", false), written(inA, "2", true)}},
		{
			reason: "written long after the restart", events: []event{
				see(inA), written(inB, "1", false), begins, ended, {later: recent}, written(inB, "2", true),
			},
		},
		{
			reason: "undone unseen, and no pod can have started with it", undone: true, events: []event{
				see(inA), written(inB, "1", false), begins, ended, written(inA, "2", false), written(inB, "3", true),
			},
		},
		{reason: "a source more is no change", events: []event{see(inA), see(inB), begins, see(second)}, pending: 1, started: true, target: []string{"ConfigMap/c"}},
		{
			reason: "that changes during the restart", events: []event{see(inA), see(inB), begins, see(second), see(changed)},
			pending: 2, target: []string{"ConfigMap/c", "Secret/s"},
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s, undone, marks := &common.RestartStatus{}, false, map[string]bool{}
			for _, e := range tc.events {
				switch {
				case e.begins:
					begin(s, "ContentChanged", noon)
				case e.ended:
					settle(s)
				case e.later > 0:
					s.LastRestart = &times(-e.later)[0]
				default:
					undone = plan(testKey, s, revise(testKey, s, e.seen, noon), facts{confirmed: !e.unconfirmed, rolled: e.rolled}, noon)
				}
				if s.Pending != nil {
					marks[s.Pending.Mark] = true
				}
			}
			if undone != tc.undone {
				t.Errorf("undone is %v", undone)
			}
			if len(marks) != int(s.Number) {
				t.Errorf("%d numbers and %d marks", s.Number, len(marks))
			}
			if s.Pending == nil {
				if tc.pending != 0 {
					t.Error("nothing is pending")
				}
				return
			}
			var sources []string
			for _, o := range s.Pending.Target {
				sources = append(sources, o.Source)
			}
			if s.Pending.Number != tc.pending || s.Pending.Started != tc.started || !slices.Equal(sources, tc.target) {
				t.Errorf("pending %+v", s.Pending)
			}
		})
	}
}

func TestNext(t *testing.T) {
	s := &common.RestartStatus{}
	plan(testKey, s, revise(testKey, s, inA, after(-time.Hour)), facts{confirmed: true}, after(-time.Hour))
	plan(testKey, s, revise(testKey, s, inB, noon), facts{confirmed: true}, after(-time.Minute))
	plan(testKey, s, revise(testKey, s, inC, noon), facts{confirmed: true}, noon)
	if p := s.Pending; !p.Since.Time.Equal(after(-time.Minute)) || !p.Changed.Time.Equal(noon) {
		t.Errorf("another change in the debounce: %+v", p)
	}
	begin(s, "ContentChanged", noon)
	plan(testKey, s, revise(testKey, s, inA, noon), facts{confirmed: true}, after(time.Minute))
	if p := s.Pending; !p.Since.Time.Equal(after(time.Minute)) || s.History[0].Outcome != common.OutcomeCancelled {
		t.Errorf("newer content after the start: %+v, %+v", p, s.History)
	}
}

func TestBegin(t *testing.T) {
	s := &common.RestartStatus{
		Pending: &common.PendingRestart{Mark: "new", Sources: []string{"a", "b"}, Reason: ReasonDebounce, NotBefore: &times(0)[0]},
		Mark:    "old", Restarts: 7,
		Recent:  times(-2*time.Hour, -time.Minute),
		History: slices.Repeat([]common.RestartRecord{{Source: "older"}}, maxHistory),
	}
	begin(s, "ContentChanged", noon)
	if s.Mark != "new" || s.Restarts != 8 || !s.LastRestart.Time.Equal(noon) {
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
		begin(s, "ContentChanged", noon)
	}
	if len(s.Recent) != maxRecent {
		t.Errorf("%d recent restarts are kept", len(s.Recent))
	}
}

func TestTurn(t *testing.T) {
	id := func(name string, number, generation int64) common.RestartedWorkload {
		return common.RestartedWorkload{Kind: "Deployment", Name: name, UID: types.UID(name), Number: number, Generation: generation}
	}
	is := func(name, mark string, rolling bool) state {
		return state{id: id(name, 0, 5), mark: mark, rolling: rolling}
	}
	type entries = []common.RestartedWorkload
	for _, tc := range []struct {
		reason   string
		limit    int
		recorded entries
		states   []state
		now      []int
		waiting  int
		rolling  string // those that are waited for

		unfinished int
	}{
		{reason: "nothing is selected"},
		{reason: "all at once", states: []state{is("a", "", false), is("b", "old", false)}, now: []int{0, 1}},
		{reason: "one that has the mark is done", states: []state{is("a", "m", false), is("b", "", false)}, now: []int{1}},
		{reason: "one at a time", limit: 1, states: []state{is("a", "", false), is("b", "", false)}, now: []int{0}, waiting: 1, rolling: "Deployment/a"},
		{
			reason: "the first one still rolls", limit: 1, recorded: entries{id("a", 2, 5)},
			states: []state{is("a", "m", true), is("b", "", false)}, waiting: 1, rolling: "Deployment/a",
		},
		{
			reason: "the first one is ready", limit: 1, recorded: entries{id("a", 2, 5)},
			states: []state{is("a", "m", false), is("b", "", false)}, now: []int{1},
		},
		{
			reason: "the cache does not show yet that the first one rolls", limit: 1, recorded: entries{id("a", 2, 6)},
			states: []state{is("a", "old", false), is("b", "", false)}, waiting: 1, rolling: "Deployment/a",
		},
		{
			reason: "nor whether one still does that an earlier restart reached", limit: 1, recorded: entries{id("a", 1, 6)},
			states: []state{is("a", "old", false), is("b", "", false)}, waiting: 2, rolling: "Deployment/a",
		},
		{
			reason: "one that rolls for another reason takes no turn", limit: 1,
			states: []state{is("a", "old", true), is("b", "", false)}, now: []int{0}, waiting: 1, rolling: "Deployment/a",
		},
		{
			reason: "one that rolls for the restart before this one needs no other turn, and leaves none", limit: 1, recorded: entries{id("b", 1, 5)},
			states: []state{is("a", "", false), is("b", "before", true)}, now: []int{1}, waiting: 1, rolling: "Deployment/b",
		},
		{
			reason: "one that rolls for a restart that could not be recorded counts", limit: 1,
			states: []state{is("a", "", false), is("b", "1.before", true)}, now: []int{1}, waiting: 1, rolling: "Deployment/b",
		},
		{
			reason: "one from which the mark was taken is not marked again", recorded: entries{id("a", 2, 5)},
			states: []state{is("a", "theirs", false), is("b", "", false)}, now: []int{1},
		},
		{reason: "one created again is another one", recorded: entries{id("old", 2, 5)}, states: []state{is("a", "", false)}, now: []int{0}},
		{
			reason: "one that has rolled since the content changed", states: []state{
				{id: id("rolled", 0, 5), template: "new", byItself: true},
				{id: id("same", 0, 5), template: "old", byItself: true},
				{id: id("unknown", 0, 5), template: "new", byItself: true},
				{id: id("rolled", 0, 5), template: "new"},
				{id: id("rolled", 0, 5), byItself: true},
				{id: id("late", 0, 5), template: "before", byItself: true},
			}, now: []int{1, 2, 3, 4, 5},
		},
		{
			reason: "one that rolls since the content changed can still be rolled back, and is waited for",
			states: []state{{id: id("rolled", 0, 5), template: "new", byItself: true, behind: true}, is("b", "", false)}, now: []int{1}, unfinished: 1,
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := &common.RestartStatus{Workloads: tc.recorded, Pending: &common.PendingRestart{
				Mark: "m", Number: 2, Templates: []common.WorkloadTemplate{{UID: "rolled", Template: "old"}, {UID: "same", Template: "old"}, {UID: "late", Template: "old", Generation: 5}},
			}}
			got := turn(s, tc.states, tc.limit)
			if got.waiting > 0 && join(got.rolling) != tc.rolling {
				t.Errorf("%q are waited for, want %q", got.rolling, tc.rolling)
			}
			if !slices.Equal(got.now, tc.now) || got.waiting != tc.waiting || got.unfinished != tc.unfinished {
				t.Errorf("%+v; want %v now, %d waiting and %d unfinished", got, tc.now, tc.waiting, tc.unfinished)
			}
		})
	}
}

// A rollback of a rollout that had not ended keeps the pods from before it.
func TestTemplateOfAWorkloadThatRolls(t *testing.T) {
	is := func(template string, generation int64, behind bool) []state {
		id := common.RestartedWorkload{Kind: "Deployment", Name: "d", UID: "d", Generation: generation}
		return []state{{id: id, template: template, byItself: true, behind: behind}}
	}
	for _, behind := range []bool{true, false} {
		s := &common.RestartStatus{Pending: &common.PendingRestart{Number: 1, Mark: "m"}}
		recordTemplates(s, is("upgrade", 2, behind))
		if restarted := len(turn(s, is("rolled back", 3, false), 0).now) == 1; restarted != behind {
			t.Errorf("when the content changed, its rollout was in progress: %v; restarted: %v", behind, restarted)
		}
	}
}

func TestCountFrom(t *testing.T) {
	s := &common.RestartStatus{}
	countFrom(s, []state{{mark: "7.a"}, {}, {mark: "9.b"}, {mark: "9223372036854775807.forged"}, {mark: "-3.forged"}})
	if s.Number != 9 {
		t.Errorf("numbers begin after %d", s.Number)
	}
}

func TestConfirm(t *testing.T) {
	w := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "d", Generation: 1}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(0))}}
	w.Status.ObservedGeneration = 1
	for reached, want := range map[int64]bool{1: true, 2: false} { // 2: the cache does not show the restart yet
		c := newMemory()
		req := Request{Object: w, Status: &common.RestartStatus{Number: 1, Workloads: []common.RestartedWorkload{{UID: "d", Generation: reached}}}}
		c.confirm(req, req.states([]workload.Workload{of(w)}))
		if c.confirms(req) != want {
			t.Errorf("restarted as generation %d, seen as 1: confirmed is %v", reached, !want)
		}
	}
}

func TestAnyRolled(t *testing.T) {
	is := func(uid string, generation int64) state {
		return state{id: common.RestartedWorkload{UID: types.UID(uid), Generation: generation}}
	}
	p := &common.PendingRestart{Templates: []common.WorkloadTemplate{{UID: "a", Generation: 1, Template: "a"}, {UID: "b", Generation: 1, Template: "b"}, {UID: "rolling", Generation: 1}}}
	for reason, tc := range map[string]struct {
		states []state
		want   bool
	}{
		"as before": {[]state{is("a", 1), is("b", 1)}, false}, "one is gone": {[]state{is("a", 1)}, false},
		"one rolled": {[]state{is("a", 2), is("b", 1)}, true}, "one is new": {[]state{is("c", 1)}, true}, "one was rolling": {[]state{is("rolling", 1)}, true}, "none": {nil, false},
	} {
		if got := anyRolled(p, tc.states); got != tc.want {
			t.Errorf("%s: %v", reason, got)
		}
	}
}

func TestMarks(t *testing.T) {
	target := []common.ObservedSource{{Source: "ConfigMap/c", Hash: "h"}}
	seen := map[string]bool{}
	for _, m := range []string{
		markOf(testKey, 1, target), markOf(testKey, 2, target), markOf(testKey, 1, nil), markOf(otherKey, 1, target),
		markOf(testKey, 1, []common.ObservedSource{{Source: "ConfigMap/c", Hash: "i"}}),
	} {
		if seen[m] {
			t.Errorf("the mark %s is not unique", m)
		}
		seen[m] = true
	}
	for mark, want := range map[string]int64{markOf(testKey, 12, target): 12, "": 0, "0123456789abcdef0123456789abcdef": 0, "x.y": 0, "9223372036854775807.x": 0, "-1.x": 0} {
		if got := numberOf(mark); got != want {
			t.Errorf("%q has the number %d", mark, got)
		}
	}
}

func TestReverted(t *testing.T) {
	w := func(name string) common.RestartedWorkload {
		return common.RestartedWorkload{Kind: "Deployment", Name: name, UID: types.UID(name)}
	}
	late := w("late")
	late.Generation = 1 // the cache shows the one before
	s := &common.RestartStatus{Mark: "m", Workloads: []common.RestartedWorkload{w("kept"), w("lost"), w("gone"), late}}
	again := w("gone")
	again.UID = "2"
	got := reverted(s, []state{{id: w("kept"), mark: "m"}, {id: w("lost")}, {id: w("late")}, {id: again}})
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
