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
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/schedule"
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
	// ReasonEvicting: pods are still to be evicted or deleted.
	ReasonEvicting = "Evicting"
	// ReasonRefused: a workload could not be restarted; it is tried again.
	ReasonRefused = "Refused"
)

// Why a change restarts nothing at all.
const (
	// SuppressedDryRun: the policy only wants to be told.
	SuppressedDryRun = "DryRun"
	// SuppressedUndone: the content became again what the pods run with before anything was restarted.
	SuppressedUndone = "ChangeUndone"
)

// patience is how many times the debounce a change waits for at most when content never is quiet.
const patience = 10

// maxHistory is how many restarts the status tells of.
const maxHistory = 10

// timing is when a policy allows restarts.
type timing struct {
	debounce, minInterval time.Duration
	maxPerHour            int
	windows               []schedule.Window
}

// readTiming reads a policy. The seed decides what H stands for in schedules.
func readTiming(p common.RestartPolicy, seed string) (timing, error) {
	t := timing{debounce: 2 * time.Second, maxPerHour: 12}
	if p.Debounce != nil {
		t.debounce = p.Debounce.Duration
	}
	if p.MinInterval != nil {
		t.minInterval = p.MinInterval.Duration
	}
	if p.MaxPerHour > 0 {
		t.maxPerHour = int(p.MaxPerHour)
	}
	for i, w := range p.Windows {
		window, err := schedule.ParseWindow(w.Schedule, w.Duration.Duration, w.TimeZone, seed)
		if err != nil {
			return timing{}, fmt.Errorf("restart.windows[%d]: %w", i, err)
		}
		if window.NeverOpens() {
			return timing{}, neverOpens{i, w.Schedule}
		}
		t.windows = append(t.windows, window)
	}
	return t, nil
}

// neverOpens is the error about a window without any opening.
type neverOpens struct {
	index    int
	schedule string
}

func (n neverOpens) Error() string {
	return fmt.Sprintf("restart.windows[%d]: the schedule %.80q never fires, so that nothing would ever be restarted: name days that exist",
		n.index, n.schedule)
}

// advance brings what is pending up to date with what is observed. It tells whether a change that was
// pending has been undone.
func advance(s *common.RestartStatus, v view, now time.Time) (undone bool) {
	at := instant(now)
	s.Observed = v.baseline
	doubt(s, at)
	p := s.Pending
	switch {
	case p == nil && len(v.changes) > 0:
		s.Pending = &common.PendingRestart{Mark: v.mark, Since: at, Changed: at, Sources: v.changes}
	case p == nil:
	case len(v.changes) == 0 && !p.Started && !p.Replaces:
		s.Pending = nil
		return true
	case p.Mark != v.mark:
		s.Pending = instead(s, v, at)
	}
	return false
}

// instant is a time as a status holds it.
func instant(t time.Time) metav1.MicroTime { return metav1.NewMicroTime(t.Truncate(time.Microsecond)) }

// clockWasWrong is how far a restart may be ahead of the clock. Up to that the clock was set back, and the
// restart counts; beyond it the clock had been wrong before.
const clockWasWrong = time.Hour

// doubt corrects what a clock wrote down that was ahead of the time: it would hold restarts back.
func doubt(s *common.RestartStatus, now metav1.MicroTime) {
	if p := s.Pending; p != nil {
		p.Changed, p.Since = earlier(p.Changed, now), earlier(p.Since, now)
	}
	wrong := func(t metav1.Time) bool { return t.Sub(now.Time) > clockWasWrong }
	s.Recent = slices.DeleteFunc(s.Recent, wrong)
	if s.LastRestart != nil && wrong(*s.LastRestart) {
		s.LastRestart = nil
	}
}

func earlier(a, b metav1.MicroTime) metav1.MicroTime {
	if b.Before(&a) {
		return b
	}
	return a
}

// superseded tells whether the restart that is pending gives way to what is observed, as far as is known
// before any workload was restarted; undone, whether nothing has changed any more.
func superseded(s *common.RestartStatus, v view) (yes, undone bool) {
	p := s.Pending
	return p != nil && !p.Started && !p.Replaces && p.Mark != v.mark, len(v.changes) == 0
}

// repeat asks for a restart for the content as it is: workloads were restarted for other content meanwhile.
func repeat(s *common.RestartStatus, v view, now time.Time) {
	at := instant(now)
	s.Pending = &common.PendingRestart{Mark: v.mark, Since: at, Changed: at, Replaces: true}
	for _, o := range v.current {
		s.Pending.Sources = append(s.Pending.Sources, withoutKeys(o.Source))
	}
}

// instead is the restart that takes the place of the one that is pending.
func instead(s *common.RestartStatus, v view, at metav1.MicroTime) *common.PendingRestart {
	p := s.Pending
	next := &common.PendingRestart{Mark: v.mark, Since: p.Since, Changed: at, Sources: v.changes, Replaces: p.Replaces || p.Started}
	if len(v.changes) == 0 {
		next.Sources = p.Sources
	}
	if p.Started {
		next.Since = at
		conclude(s, common.OutcomeCancelled, "")
	}
	return next
}

// due tells whether a pending restart may happen now: then the reason is empty. Otherwise it may at the
// given time, unless something changes.
func (t timing) due(s *common.RestartStatus, now time.Time) (reason string, at time.Time) {
	if !s.Pending.Started {
		reason, at = t.earliest(s, now)
	}
	if !at.After(now) {
		reason, at = "", now
	}
	opens, ok := t.opens(at)
	switch {
	case !ok:
		return ReasonOutsideWindow, time.Time{}
	case opens.After(at) && reason != ReasonSuspended:
		reason = ReasonOutsideWindow
	}
	return reason, opens
}

// earliest is when a restart may begin, were a window open all the time.
func (t timing) earliest(s *common.RestartStatus, now time.Time) (reason string, at time.Time) {
	reason, at = t.quiet(s.Pending)
	if s.LastRestart != nil && t.minInterval > 0 {
		if next := s.LastRestart.Add(t.minInterval); next.After(at) {
			reason, at = ReasonMinInterval, next
		}
	}
	if recent := within(s.Recent, now); len(recent) >= t.maxPerHour {
		if next := recent[len(recent)-t.maxPerHour].Add(time.Hour); next.After(at) {
			reason, at = ReasonSuspended, next
		}
	}
	return reason, at
}

// quiet is when the content has been quiet for long enough.
func (t timing) quiet(p *common.PendingRestart) (string, time.Time) {
	at := p.Changed.Add(t.debounce)
	if limit := p.Since.Add(patience * t.debounce); limit.Before(at) {
		at = limit
	}
	return ReasonDebounce, at
}

// opens is the first time, from one on, at which a window is open.
func (t timing) opens(from time.Time) (first time.Time, ok bool) {
	if len(t.windows) == 0 {
		return from, true
	}
	for _, w := range t.windows {
		if at, opens := w.NextOpen(from); opens && (!ok || at.Before(first)) {
			first, ok = at, true
		}
	}
	return first, ok
}

// within are the times that are less than an hour ago. A time that is still to come, after the clock was
// set back, counts too (see doubt).
func within(times []metav1.Time, now time.Time) []metav1.Time {
	return slices.DeleteFunc(slices.Clone(times), func(t metav1.Time) bool { return !t.After(now.Add(-time.Hour)) })
}

// begin writes down that a restart begins.
func begin(s *common.RestartStatus, reason string, restarts bool, now time.Time) {
	p, at := s.Pending, metav1.NewTime(now.Truncate(time.Second))
	p.Started, p.Reason, p.NotBefore = true, "", nil
	s.Mark, s.Workloads = p.Mark, nil
	s.History = slices.Insert(s.History, 0, common.RestartRecord{
		Time: at, Source: join(p.Sources), Reason: reason, Outcome: common.OutcomeRestarting,
	})
	s.History = s.History[:min(len(s.History), maxHistory)]
	if restarts {
		s.LastRestart, s.Restarts = &at, s.Restarts+1
		s.Recent = append(within(s.Recent, now), at)
		s.Recent = s.Recent[max(0, len(s.Recent)-maxRecent):]
	}
}

// maxRecent is the most that maxPerHour may be.
const maxRecent = 60

// conclude writes down what has become of the restart that began last.
func conclude(s *common.RestartStatus, outcome common.RestartOutcome, message string) {
	if len(s.History) == 0 {
		return
	}
	h := &s.History[0]
	h.Outcome = outcome
	if message != "" {
		h.Message = message
	}
}

// settle takes what is observed as the baseline: the pods run with it from now on.
func settle(s *common.RestartStatus, v view) {
	s.Observed, s.Pending = v.current, nil
}

// state is what the decision needs to know of a workload.
type state struct {
	id      common.RestartedWorkload
	mark    string
	ours    bool // the operator has set the mark
	rolling bool
}

// wave lists, in their order, the workloads that are still to be restarted, and how many of them may be
// now: as many as leave no more than maxConcurrent rolling. Whoever has the mark already, or had it in
// this wave and lost it to somebody else, is not restarted again.
func wave(s *common.RestartStatus, states []state, maxConcurrent int) (todo []int, room int) {
	rolling := 0
	for i, w := range states {
		switch {
		case w.mark == s.Pending.Mark && w.rolling:
			rolling++
		case w.mark != s.Pending.Mark && !slices.Contains(s.Workloads, w.id):
			todo = append(todo, i)
		}
	}
	if maxConcurrent == 0 {
		return todo, len(todo)
	}
	return todo, max(0, maxConcurrent-rolling)
}

// unrecorded tells whether a workload was restarted without the status saying so: by a run that could not
// write it, or along with the restart of another object.
func unrecorded(s *common.RestartStatus, states []state) bool {
	return slices.ContainsFunc(states, func(w state) bool {
		return w.ours && (lost(s, w) || s.Pending != nil && s.Pending.Mark == w.mark)
	})
}

// lost tells whether a workload does not show the mark which the last restart gave it.
func lost(s *common.RestartStatus, w state) bool {
	return w.mark != s.Mark && slices.Contains(s.Workloads, w.id)
}

// reverted are the workloads from which somebody took the mark that the last restart gave them.
func reverted(s *common.RestartStatus, states []state) []string {
	var all []string
	for _, w := range states {
		if lost(s, w) && !w.ours {
			all = append(all, w.id.Kind+"/"+w.id.Name)
		}
	}
	return all
}

// maxSources bounds the list of sources in a message.
const maxSources = 5

// join lists what changed.
func join(sources []string) string {
	text := ""
	for i, s := range sources {
		if i == maxSources {
			return fmt.Sprintf("%s and %d more", text, len(sources)-i)
		}
		if i > 0 {
			text += "; "
		}
		text += s
	}
	return text
}
