// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/schedule"
)

const (
	// onTime is how late a run may start without being missed under the policy Skip of missedRuns.
	onTime = time.Minute
	// clockWasWrong is how far a ledger may be ahead of the clock. Up to this the clock was set back, and no
	// slot is run twice; beyond it the clock was wrong before, and the ledger is discarded.
	clockWasWrong = 24 * time.Hour
	// forecasts is the number of runs in status.nextRuns.
	forecasts = 5
)

// view is the input of a decision.
type view struct {
	now time.Time
	// tab is the object with its status before this reconcile.
	tab      *v1alpha1.CronTab
	schedule schedule.Schedule
	// jobs are all existing runs.
	jobs []job
	// taken are the requests for runs by hand whose Job's name belongs to another object.
	taken []string
}

// job is the relevant part of a Job.
type job struct {
	name     string
	slot     time.Time // zero for a run by hand
	started  time.Time
	ended    time.Time
	outcome  v1alpha1.Outcome
	pods     int32
	deleting bool

	taken time.Time // when the Job controller began to create pods; zero before
	ever  int32     // the pods that were ever created
	begun bool      // a pod runs, or has run
}

// start is a run to be started.
type start struct {
	job     string
	slot    time.Time // zero for a run by hand
	request string    // of a run by hand
}

// decision is what to do now.
type decision struct {
	ledger v1alpha1.Ledger
	starts []start
	// stops are the Jobs to delete to make room.
	stops []string
	// asked is the new request for a run by hand; waiting are the requests that wait, the oldest first.
	asked   string
	waiting []string
	// dropped are requests that are not run.
	dropped []dropped
	// queued and skipped are the slots that were queued or skipped just now; missed is how many were missed.
	queued, skipped []time.Time
	missed          int
	// next are the next runs.
	next []time.Time
}

// decide decides about the slots since the ledger was written.
func decide(v view) decision {
	p := &planner{view: v}
	p.openLedger()
	p.keepQueue()
	p.byHand()
	p.arrive()
	p.drain()
	p.forecast()
	return p.decision
}

// planner computes a decision.
type planner struct {
	view
	decision
}

// openLedger continues the ledger, or begins one: at the object's creation, or now if the rules have changed,
// so that earlier slots are not made up for.
func (p *planner) openLedger() {
	rules := rulesOf(p.tab.Spec, p.schedule)
	now := metav1.NewTime(p.now.Truncate(time.Second))
	switch last := p.tab.Status.Ledger; {
	case last == nil:
		p.ledger = v1alpha1.Ledger{Rules: rules, SettledUntil: p.tab.CreationTimestamp}
	case last.Rules != rules && last.Rules != p.withoutJitter():
		p.ledger = v1alpha1.Ledger{Rules: rules, SettledUntil: p.begin(last.SettledUntil.Time)}
		p.skipped = times(last.Queue)
	case last.SettledUntil.Sub(p.now) > clockWasWrong:
		p.ledger = v1alpha1.Ledger{Rules: rules, SettledUntil: now, Queue: last.Queue}
	default:
		p.ledger = *last.DeepCopy()
		p.ledger.Rules = rules
	}
}

// begin returns up to when slots are settled under new rules: those that would have been run by now, jitter
// included, and those that were settled under the old rules.
func (p *planner) begin(settled time.Time) metav1.Time {
	now := p.now.Truncate(time.Second)
	begin := now.Add(-p.jitter())
	if settled.After(begin) && !settled.After(now) {
		begin = settled
	}
	return metav1.NewTime(begin)
}

// withoutJitter identifies the rules without their jitter. A ledger with these rules continues: jitter that is
// added only delays.
func (p *planner) withoutJitter() string {
	spec := p.tab.Spec
	spec.Jitter = nil
	return rulesOf(spec, p.schedule)
}

// closed returns the ledger of a CronTab whose schedule is invalid: whatever the next schedule is, earlier
// slots are not made up for.
func closed(tab *v1alpha1.CronTab) *v1alpha1.Ledger {
	if tab.Status.Ledger == nil {
		return &v1alpha1.Ledger{SettledUntil: tab.CreationTimestamp}
	}
	l := tab.Status.Ledger.DeepCopy()
	l.Rules = ""
	return l
}

const digestLength = 10

// keepQueue takes out of the queue what was started by a run whose status was not written, and what is too late.
func (p *planner) keepQueue() {
	waiting := times(p.ledger.Queue)
	p.ledger.Queue = nil
	for _, slot := range waiting {
		switch {
		case p.exists(jobOf(p.tab.Name, slot)):
			p.start(slot)
		case p.late(slot, p.deadline()):
			p.missed++
		default:
			p.enqueue(slot)
		}
	}
}

// arrive decides about the slots that have arrived.
func (p *planner) arrive() {
	if p.tab.Spec.Suspend {
		return
	}
	limit, tolerance := 1, p.deadline()
	switch missed := p.tab.Spec.MissedRuns; {
	case missed.Policy == v1alpha1.MissedRunAll:
		limit = max(int(missed.Max), 1)
	case missed.Policy == v1alpha1.MissedSkip && tolerance == 0:
		tolerance = onTime
	}
	after, until := p.from(), p.now.Add(-p.jitter())
	if end := p.tab.Spec.NotAfter; end != nil && end.Time.Before(until) {
		until = end.Time
	}
	slots, total := p.schedule.Between(after, until, limit)
	if total == 0 {
		return
	}
	p.ledger.SettledUntil = metav1.NewTime(slots[len(slots)-1])
	p.missed += max(total-len(slots)-p.startedBetween(after, slots[0]), 0)
	for _, slot := range slots {
		p.place(slot, tolerance, len(slots) > 1)
	}
}

// from returns the instant after which slots count.
func (p *planner) from() time.Time {
	from := p.ledger.SettledUntil.Time
	if begin := p.tab.Spec.NotBefore; begin != nil && begin.Time.After(from) {
		return begin.Add(-time.Nanosecond)
	}
	return from
}

// startedBetween counts the Jobs of slots after one instant and before another: those of a reconcile that did
// not write the status, after which more slots passed.
func (p *planner) startedBetween(after, before time.Time) int {
	n := 0
	for _, j := range p.jobs {
		if j.slot.After(after) && j.slot.Before(before) {
			n++
		}
	}
	return n
}

// place decides about one slot, which may have been started by a reconcile that did not write the status.
func (p *planner) place(slot time.Time, tolerance time.Duration, several bool) {
	switch {
	case p.exists(jobOf(p.tab.Name, slot)):
		p.start(slot)
	case p.late(slot, tolerance):
		p.missed++
	default:
		p.admit(slot, several)
	}
}

// admit enqueues or skips a slot, or leaves it to `drain`, which starts what can run. If several slots arrive
// together, none is skipped because of the others.
func (p *planner) admit(slot time.Time, several bool) {
	full, free := len(p.ledger.Queue) >= int(max(p.tab.Spec.QueueLimit, 1)), len(p.ledger.Queue) == 0 && !p.busy() && len(p.waiting) == 0
	switch p.tab.Spec.ConcurrencyPolicy {
	case v1alpha1.ConcurrencyAllow:
		p.start(slot)
		return
	case v1alpha1.ConcurrencyReplace:
		p.skipped = append(p.skipped, times(p.ledger.Queue)...)
		p.ledger.Queue = nil
		several = true
	case v1alpha1.ConcurrencyQueue:
		free = !full
	case v1alpha1.ConcurrencyForbid:
	}
	if free || several {
		p.enqueue(slot)
	} else {
		p.skipped = append(p.skipped, slot)
	}
}

// drain starts what can run now.
func (p *planner) drain() {
	policy, waiting := p.tab.Spec.ConcurrencyPolicy, times(p.ledger.Queue)
	if policy == v1alpha1.ConcurrencyReplace && len(p.waiting)+len(waiting) > 0 {
		p.makeRoom()
	}
	var before []metav1.Time
	if p.tab.Status.Ledger != nil {
		before = p.tab.Status.Ledger.Queue
	}
	p.ledger.Queue = nil
	for _, slot := range waiting {
		if policy == v1alpha1.ConcurrencyAllow || (!p.busy() && len(p.waiting) == 0) {
			p.start(slot)
			continue
		}
		p.enqueue(slot)
		if !contains(before, slot) {
			p.queued = append(p.queued, slot)
		}
	}
}

// makeRoom stops the runs of the schedule that are in progress, unless they were started just now. Runs by hand
// are never stopped for another run, which waits for them instead.
func (p *planner) makeRoom() {
	for _, j := range p.jobs {
		adopted := slices.ContainsFunc(p.starts, func(s start) bool { return s.job == j.name })
		if j.outcome == v1alpha1.OutcomeRunning && !j.slot.IsZero() && !j.deleting && !adopted {
			p.stops = append(p.stops, j.name)
		}
	}
}

// forecast sets the next runs.
func (p *planner) forecast() {
	if p.tab.Spec.Suspend {
		return
	}
	from := p.from()
	if now := p.now.Add(-p.jitter()); now.After(from) {
		from = now
	}
	for _, slot := range p.schedule.NextN(from, forecasts) {
		if end := p.tab.Spec.NotAfter; end == nil || !slot.After(end.Time) {
			p.next = append(p.next, slot.Add(p.jitter()))
		}
	}
}

func (p *planner) enqueue(slot time.Time) {
	p.ledger.Queue = append(p.ledger.Queue, metav1.NewTime(slot))
}

func (p *planner) start(slot time.Time) {
	p.starts = append(p.starts, start{job: jobOf(p.tab.Name, slot), slot: slot})
}

// busy reports whether a run is in progress or is started now.
func (p *planner) busy() bool {
	return len(p.starts) > 0 || slices.ContainsFunc(p.jobs, func(j job) bool { return j.outcome == v1alpha1.OutcomeRunning })
}

func (p *planner) exists(name string) bool {
	return slices.ContainsFunc(p.jobs, func(j job) bool { return j.name == name })
}

// late reports whether it is too late to start a run. A tolerance of zero means that it never is.
func (p *planner) late(slot time.Time, tolerance time.Duration) bool {
	return tolerance > 0 && p.now.Sub(slot.Add(p.jitter())) > tolerance
}

func (p *planner) deadline() time.Duration {
	if d := p.tab.Spec.StartingDeadline; d != nil {
		return d.Duration
	}
	return 0
}

func (v view) jitter() time.Duration {
	if v.tab.Spec.Jitter == nil {
		return 0
	}
	return schedule.Jitter(string(v.tab.UID), v.tab.Spec.Jitter.Duration)
}

func contains(list []metav1.Time, t time.Time) bool {
	return slices.ContainsFunc(list, func(each metav1.Time) bool { return each.Time.Equal(t) })
}

func times(list []metav1.Time) []time.Time {
	var out []time.Time
	for _, t := range list {
		out = append(out, t.Time)
	}
	return out
}
