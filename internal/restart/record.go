// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

const (
	// maxHistory is how many restarts the status records.
	maxHistory = 10
	// maxRecent is the most that maxPerHour may be.
	maxRecent = 60
	// clockWasWrong is how far a restart may be ahead of the clock. Up to that the clock was set back, and the
	// restart counts; beyond it the clock had been wrong before.
	clockWasWrong = time.Hour
)

// Forget drops what is recorded of sources that do not count any more. A restart that has started continues to
// its end.
func Forget(s *common.RestartStatus, counts func(source string) bool) {
	gone := func(o common.ObservedSource) bool { return !counts(o.Source) }
	s.Observed = slices.DeleteFunc(s.Observed, gone)
	if p := s.Pending; p != nil && !p.Started {
		p.Target = slices.DeleteFunc(p.Target, gone)
	}
}

// Rebase makes the present content the baseline, without a restart: for an object whose spec now asks for
// something else. A restart that is pending is dropped.
func Rebase(s *common.RestartStatus) {
	s.Observed, s.Pending, s.Mark, s.Workloads = nil, nil, "", nil
}

// next is the restart for what is observed, with a number that none had before.
func next(key Key, s *common.RestartStatus, r revision, now time.Time) *common.PendingRestart {
	at := instant(now)
	n := &common.PendingRestart{Since: at, Changed: at, Target: r.changed, Sources: r.sources}
	switch p := s.Pending; {
	case p != nil && p.Started:
		conclude(s, common.OutcomeCancelled, "")
	case p != nil:
		n.Since, n.Reason, n.NotBefore = p.Since, p.Reason, p.NotBefore
	}
	s.Number++
	n.Number, n.Mark = s.Number, markOf(key, s.Number, r.changed)
	return n
}

// markOf is the mark of a restart. It begins with the number, by which peers know an older one.
func markOf(key Key, number int64, target []common.ObservedSource) string {
	parts := [][]byte{[]byte("mark"), fmt.Append(nil, number)}
	for _, o := range target {
		parts = append(parts, []byte(o.Source), []byte(o.Hash))
	}
	return fmt.Sprintf("%d.%s", number, key.text(parts...)[:32])
}

// maxNumber is more than any restart's number. A mark with a larger one was not set by the operator.
const maxNumber = 1 << 40

// numberOf reads the number of a mark. Marks of version 0.1.0 have none, and count as 0.
func numberOf(mark string) int64 {
	var number int64
	var hash string
	if n, _ := fmt.Sscanf(mark, "%d.%s", &number, &hash); n != 2 || number < 0 || number > maxNumber {
		return 0
	}
	return number
}

// countFrom makes the numbers of an object that had no restart yet larger than those that one of its name, deleted
// since, has left on workloads: peers put a mark only over one with a smaller number.
func countFrom(s *common.RestartStatus, states []state) {
	for _, w := range states {
		s.Number = max(s.Number, numberOf(w.mark))
	}
}

// begin records that the pending restart begins. What it is for is not the baseline any more: some pods run
// with it from now on.
func begin(s *common.RestartStatus, reason string, now time.Time) {
	p := s.Pending
	p.Started, p.Reason, p.NotBefore = true, "", nil
	s.Mark, s.Observed = p.Mark, without(s.Observed, p.Target)
	at := metav1.NewTime(now.Truncate(time.Second))
	s.LastRestart, s.Restarts = &at, s.Restarts+1
	s.Recent = append(within(s.Recent, now), at)
	s.Recent = s.Recent[max(0, len(s.Recent)-maxRecent):]
	remember(s, reason, now)
}

// remember puts the pending restart into the history.
func remember(s *common.RestartStatus, reason string, now time.Time) {
	s.History = slices.Insert(s.History, 0, common.RestartRecord{
		Time: metav1.NewTime(now.Truncate(time.Second)), Source: join(s.Pending.Sources), Reason: reason, Outcome: common.OutcomeRestarting,
	})
	s.History = s.History[:min(len(s.History), maxHistory)]
}

// conclude records what has become of the restart that began last.
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

// reach records that the pending restart has reached a workload.
func reach(s *common.RestartStatus, id common.RestartedWorkload) {
	id.Number = s.Pending.Number
	if e := entry(s, id.UID); e == nil {
		s.Workloads = append(s.Workloads, id)
	} else if e.Number != id.Number {
		*e = id
	}
}

// recordTemplates records the templates of workloads for the pending restart. One that has not reached all pods proves
// nothing when it changes later: a rollback keeps the pods that are older than the rollout.
func recordTemplates(s *common.RestartStatus, states []state) {
	s.Pending.Templates = make([]common.WorkloadTemplate, 0, len(states))
	for _, w := range states {
		if w.behind {
			w.template = ""
		}
		s.Pending.Templates = append(s.Pending.Templates, common.WorkloadTemplate{UID: w.id.UID, Generation: w.id.Generation, Template: w.template})
	}
}

// settle makes the target the baseline: all pods run with it from now on.
func settle(s *common.RestartStatus) {
	p := s.Pending
	s.Observed = merge(s.Observed, p.Target)
	s.Pending = nil
	s.Workloads = slices.DeleteFunc(s.Workloads, func(w common.RestartedWorkload) bool { return p.Started && w.Number != p.Number })
}

// forgetWrites drops when sources were written: no pod has started since that might have seen other content.
func forgetWrites(all []common.ObservedSource) {
	for i := range all {
		all[i].Written = ""
	}
}

// instant is a time as a status holds it.
func instant(t time.Time) metav1.MicroTime { return metav1.NewMicroTime(t.Truncate(time.Microsecond)) }

// correctClock corrects times that are ahead of the clock: they would hold restarts back.
func correctClock(s *common.RestartStatus, now metav1.MicroTime) {
	if p := s.Pending; p != nil {
		p.Changed, p.Since = earlier(p.Changed, now), earlier(p.Since, now)
		if p.Started && p.NotBefore != nil && p.NotBefore.Sub(now.Time) > askBudgetLast+time.Second {
			p.NotBefore = nil // of an eviction, which is never put off for longer
		}
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
