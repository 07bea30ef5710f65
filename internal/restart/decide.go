// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// Why a restart has not happened yet.
const (
	// ReasonDebounce: the content may still change.
	ReasonDebounce = "Debounce"
	// ReasonMinInterval: the last restart is too recent.
	ReasonMinInterval = "MinInterval"
	// ReasonOutsideWindow: no window is open.
	ReasonOutsideWindow = "OutsideWindow"
	// ReasonSuspended: there were too many restarts within an hour.
	ReasonSuspended = "Suspended"
	// ReasonMaxConcurrent: other workloads have to become ready first.
	ReasonMaxConcurrent = "MaxConcurrent"
	// ReasonRolloutUnfinished: workloads roll for another reason since the content changed. At the end of that they run with
	// it; rolled back before, they are restarted.
	ReasonRolloutUnfinished = "RolloutUnfinished"
	// ReasonEvicting: pods are still to be evicted or deleted.
	ReasonEvicting = "Evicting"
	// ReasonRefused: a workload could not be restarted; it is tried again.
	ReasonRefused = "Refused"
)

// Why a change restarts nothing at all.
const (
	// SuppressedDryRun: the policy only asks for a report.
	SuppressedDryRun = "DryRun"
	// SuppressedUndone: the content is again what the pods run with, before any of them was restarted.
	SuppressedUndone = "ChangeUndone"
)

// patience is how many times the debounce a change waits for at most when content never is quiet.
const patience = 10

// revision is what is observed now, beside what is recorded.
type revision struct {
	// baseline and target are what is recorded, and the first observation of what was never seen before.
	baseline, target []common.ObservedSource
	// is the content now. A source that is not observed has the value of the target of the pending restart, else of the
	// baseline.
	is []common.ObservedSource
	// changed is the content that differs from the baseline.
	changed []common.ObservedSource
	// sources says for people what differs.
	sources []string
}

// revise compares what is observed with what is recorded.
func revise(key Key, s *common.RestartStatus, seen []Observation, now time.Time) revision {
	r := revision{baseline: slices.Clone(s.Observed)}
	if s.Pending != nil {
		r.target = slices.Clone(s.Pending.Target)
	}
	r.grow(key, seen, now)
	for _, last := range merge(r.baseline, r.target) {
		if i := slices.IndexFunc(seen, func(o Observation) bool { return o.Source == last.Source }); i >= 0 {
			r.is = append(r.is, seen[i].observed(key, last.Keys, now))
		} else {
			r.is = append(r.is, last)
		}
	}
	for _, o := range seen {
		r.target = r.noteWrites(r.target, o)
		if isRecent(s.LastRestart, now) {
			r.baseline = r.noteWrites(r.baseline, o)
		}
	}
	r.compare()
	return r
}

// compare finds what differs from the baseline.
func (r *revision) compare() {
	r.changed, r.sources = nil, nil
	for _, is := range r.is {
		was := find(r.baseline, is.Source)
		if was != nil && was.Hash == is.Hash {
			continue
		}
		r.changed = append(r.changed, is)
		r.sources = append(r.sources, difference(*cmp.Or(was, find(r.target, is.Source), &is), is))
	}
}

// grow records the first observation of each source, and of each key.
func (r *revision) grow(key Key, seen []Observation, now time.Time) {
	for _, o := range seen {
		t, b := find(r.target, o.Source), find(r.baseline, o.Source)
		if t != nil {
			*t = o.grown(key, *t)
		}
		if b != nil {
			*b = o.grown(key, *b)
		}
		if t == nil && b == nil {
			r.baseline = append(r.baseline, o.observed(key, nil, now))
		}
	}
	slices.SortFunc(r.baseline, bySource)
}

// noteWrites looks at content that is as recorded, but was written since. When nobody looked meanwhile, it may have
// changed and changed back, and pods that the last restart has started then run with other content: it counts as changed.
// Otherwise the write has changed nothing.
func (r *revision) noteWrites(recorded []common.ObservedSource, o Observation) []common.ObservedSource {
	is, was := find(r.is, o.Source), find(recorded, o.Source)
	switch {
	case was == nil || was.Hash != is.Hash || was.Written == "" || was.Written == is.Written:
	case o.unattended:
		return without(recorded, []common.ObservedSource{*was})
	default:
		was.Version, was.Written = is.Version, is.Written
	}
	return recorded
}

// recent is how long after its beginning pods of a restart may still start.
const recent = time.Hour

func isRecent(restart *metav1.Time, now time.Time) bool {
	return restart != nil && now.Sub(restart.Time) < recent
}

func bySource(a, b common.ObservedSource) int { return cmp.Compare(a.Source, b.Source) }

// find gives the entry of a source in a list; nil when there is none.
func find(in []common.ObservedSource, source string) *common.ObservedSource {
	if i := slices.IndexFunc(in, func(o common.ObservedSource) bool { return o.Source == source }); i >= 0 {
		return &in[i]
	}
	return nil
}

// merge is the baseline with the target over it, in the order of the sources.
func merge(baseline, target []common.ObservedSource) []common.ObservedSource {
	return slices.SortedFunc(slices.Values(append(without(baseline, target), target...)), bySource)
}

// without are the entries whose sources are not in another list.
func without(all, others []common.ObservedSource) []common.ObservedSource {
	return slices.DeleteFunc(slices.Clone(all), func(o common.ObservedSource) bool { return find(others, o.Source) != nil })
}

// same reports whether two lists hold the same content.
func same(a, b []common.ObservedSource) bool {
	return slices.EqualFunc(a, b, func(a, b common.ObservedSource) bool { return a.Source == b.Source && a.Hash == b.Hash })
}

// replaces reports whether a pending restart that has not started is superseded by what is observed.
func (r revision) replaces(p *common.PendingRestart) bool {
	return p != nil && !p.Started && !same(r.target, r.changed)
}

// facts are what a plan needs to know beside what is observed.
type facts struct {
	// confirmed: the baseline was seen after the last restart had ended. Before, pods of that restart may have started
	// with newer content.
	confirmed bool
	// rolled: a workload has rolled since the restart became pending, and runs with content that is not the baseline.
	rolled bool
}

// plan brings the pending restart up to date with what is observed. Newer content is the next number; a change
// that was undone is no restart, if it is a fact that no pod runs with it. The result reports whether a pending
// restart was dropped.
func plan(key Key, s *common.RestartStatus, r revision, f facts, now time.Time) (undone bool) {
	if f.rolled && r.replaces(s.Pending) {
		r.baseline = without(r.baseline, s.Pending.Target)
		r.compare()
	}
	s.Observed = r.baseline
	correctClock(s, instant(now))
	p := s.Pending
	switch {
	case len(r.changed) == 0:
		s.Pending = nil
		return p != nil
	case p != nil && same(r.target, r.changed):
		p.Target = r.target
		return false
	case p == nil && f.confirmed: // so that no pod has started since with what is observed now
		forgetWrites(s.Observed)
	case p == nil:
		s.Observed = without(s.Observed, r.changed)
	}
	s.Pending = next(key, s, r, now)
	return false
}

// state is what the decision needs to know of a workload.
type state struct {
	id   common.RestartedWorkload // its generation is that of the workload as it is seen
	mark string
	// template is the fingerprint of its pod template; empty when it is not known.
	template string
	// rolling: not all of its pods are new and available yet.
	rolling bool
	// behind: some pods do not have the present template.
	behind bool
	// byItself: a change of its template restarts all of its pods.
	byItself bool
}

func (s state) String() string { return s.id.Kind + "/" + s.id.Name }

// entry is what is recorded of a workload; nil when no restart has reached it.
func entry(s *common.RestartStatus, uid types.UID) *common.RestartedWorkload {
	if i := slices.IndexFunc(s.Workloads, func(w common.RestartedWorkload) bool { return w.UID == uid }); i >= 0 {
		return &s.Workloads[i]
	}
	return nil
}

// turns is whose turn it is in a restart that has started.
type turns struct {
	now        []int
	waiting    int // for those that roll to become ready
	unfinished int // roll for another reason since the content changed: they are restarted if that is rolled back
	rolling    []string
}

func (t turns) done() bool { return t.waiting+t.unfinished == 0 }

// turn tells whose turn it is in a restart that has started. At most maxConcurrent
// workloads roll at once, 0 stands for all; one that was restarted before and still rolls needs no turn of its
// own. A workload that this restart has reached is not restarted again, also when somebody took its mark off.
func turn(s *common.RestartStatus, states []state, maxConcurrent int) (t turns) {
	var others []int
	for i, w := range states {
		late, rolls := inProgress(s, w)
		if rolls {
			t.rolling = append(t.rolling, w.String())
		}
		switch {
		case reached(s, w):
		case w.behind && rolledAlready(s.Pending, w):
			t.unfinished++
		case late && maxConcurrent > 0:
			t.waiting++ // until the cache shows whether it rolls
		case rolls:
			t.now = append(t.now, i)
		default:
			others = append(others, i)
		}
	}
	t.admit(others, states, maxConcurrent)
	return t
}

// admit gives those of the others a turn that there is room for.
func (t *turns) admit(others []int, states []state, maxConcurrent int) {
	room := len(others)
	if maxConcurrent > 0 {
		room = min(room, max(0, maxConcurrent-len(t.rolling)))
	}
	for _, i := range others[:room] {
		t.now, t.rolling = append(t.now, i), append(t.rolling, states[i].String())
	}
	t.waiting += len(others) - room
}

// inProgress reports whether a workload rolls for a restart, as far as is known: a cache that is late does not show
// it yet.
func inProgress(s *common.RestartStatus, w state) (late, rolls bool) {
	e := entry(s, w.id.UID)
	late = e != nil && w.id.Generation < e.Generation
	return late, late || w.rolling && (e != nil || numberOf(w.mark) > 0)
}

// unfinished reports whether a workload still rolls for the last restart.
func unfinished(s *common.RestartStatus, states []state) bool {
	return slices.ContainsFunc(states, func(w state) bool {
		late, rolls := inProgress(s, w)
		return entry(s, w.id.UID) != nil && (late || rolls && w.mark == s.Mark)
	})
}

// reached reports whether a workload needs nothing more from the pending restart: it carries its mark, or did, or
// its template has changed since the content that the restart is for was seen and has reached all of its pods, so
// that they started later.
func reached(s *common.RestartStatus, w state) bool {
	p, e := s.Pending, entry(s, w.id.UID)
	return w.mark == p.Mark || e != nil && e.Number == p.Number || !w.behind && rolledAlready(p, w)
}

func rolledAlready(p *common.PendingRestart, w state) bool {
	was := template(p, w.id.UID)
	// A cache that is late shows an earlier generation, which may have another template, too.
	return was != nil && was.Template != "" && w.template != "" && was.Template != w.template && was.Generation < w.id.Generation && w.byItself
}

// template is what is recorded of a workload's template; nil when nothing is.
func template(p *common.PendingRestart, uid types.UID) *common.WorkloadTemplate {
	if i := slices.IndexFunc(p.Templates, func(t common.WorkloadTemplate) bool { return t.UID == uid }); i >= 0 {
		return &p.Templates[i]
	}
	return nil
}

// anyRolled reports whether pods of any workload may have started since the restart became pending: those of one that
// was changed, if only scaled, was not there then, or was rolling.
func anyRolled(p *common.PendingRestart, states []state) bool {
	return slices.ContainsFunc(states, func(w state) bool {
		was := template(p, w.id.UID)
		return was == nil || was.Generation != w.id.Generation || was.Template == ""
	})
}

// reverted are the workloads that do not carry the mark of the last restart any more.
func reverted(s *common.RestartStatus, states []state) []string {
	var all []string
	for _, w := range states {
		if lost(s, w) {
			all = append(all, w.String())
		}
	}
	return all
}

func lost(s *common.RestartStatus, w state) bool {
	e := entry(s, w.id.UID)
	return e != nil && w.id.Generation >= e.Generation && w.mark != s.Mark
}
