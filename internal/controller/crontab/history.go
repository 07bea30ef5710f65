// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
)

// defaultHistory is how many ended runs are kept by default.
const defaultHistory = 3

// prunable returns the ended runs that are no longer kept, and when the next of the others will be too old.
func prunable(v view) (gone []string, again time.Time) {
	history := v.tab.Spec.History
	for outcome, keep := range map[v1alpha1.Outcome]*int32{
		v1alpha1.OutcomeSucceeded: history.Succeeded, v1alpha1.OutcomeFailed: history.Failed,
	} {
		limit := defaultHistory
		if keep != nil {
			limit = int(*keep)
		}
		for i, j := range ended(v.jobs, outcome) {
			expires := expiry(j, history.MaxAge)
			switch over := i >= limit || (!expires.IsZero() && !expires.After(v.now)); {
			case j.deleting:
			case over && v.recorded(j):
				gone = append(gone, j.name)
			case over:
				again = sooner(again, v.now.Add(time.Second)) // once the status shows how it ended
			default:
				again = sooner(again, expires)
			}
		}
	}
	slices.Sort(gone)
	return gone, again
}

// ended returns the runs with an outcome, the latest first.
func ended(jobs []job, outcome v1alpha1.Outcome) []job {
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return j.outcome != outcome })
	slices.SortFunc(jobs, func(a, b job) int { return cmp.Or(b.ended.Compare(a.ended), cmp.Compare(a.name, b.name)) })
	return jobs
}

// expiry returns when a run will be too old; zero means never.
func expiry(j job, maxAge *metav1.Duration) time.Time {
	if maxAge == nil {
		return time.Time{}
	}
	return j.ended.Add(maxAge.Duration)
}

// sooner returns the earlier of two instants, of which the zero one means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// recorded reports whether the status before this reconcile has the outcome of a run. A run that is deleted
// earlier would be started again, because its name would be free.
func (v view) recorded(j job) bool {
	s := v.tab.Status
	if s.Ledger == nil || slices.ContainsFunc(s.Active, func(a v1alpha1.ActiveRun) bool { return a.Job == j.name }) {
		return false
	}
	if !j.slot.IsZero() {
		return !j.slot.After(s.Ledger.SettledUntil.Time) && !contains(s.Ledger.Queue, j.slot)
	}
	pending := append(waitingRequests(v.tab), newRequest(v.tab))
	return !slices.ContainsFunc(pending, func(request string) bool { return jobOfRequest(v.tab.Name, request) == j.name })
}

// unknown reports whether the status before this reconcile lacks a run whose slot is settled now: it was
// started by a reconcile that did not write the status, and more has happened since.
func (v view) unknown(j job, d decision) bool {
	s := v.tab.Status
	switch {
	case slices.ContainsFunc(s.Active, func(a v1alpha1.ActiveRun) bool { return a.Job == j.name }),
		slices.ContainsFunc(d.starts, func(st start) bool { return st.job == j.name }):
		return false
	case j.slot.IsZero():
		return v.recorded(j) && (s.LastRun == nil || j.started.After(s.LastRun.Started.Time))
	default:
		dealtWith := !j.slot.After(d.ledger.SettledUntil.Time) && !contains(d.ledger.Queue, j.slot)
		return dealtWith && !v.recorded(j)
	}
}

// settle updates the part of the status about runs after a decision was carried out, and returns the runs that
// are now known to have failed.
func settle(v view, d decision) (s v1alpha1.CronTabStatus, failed []string) {
	s = *v.tab.Status.DeepCopy()
	s.Missed += int64(d.missed)
	s.Skipped += int64(len(d.skipped))
	if !d.ledger.SettledUntil.IsZero() {
		s.Ledger = &d.ledger
	}
	s.NextRuns = nil
	for _, t := range d.next {
		s.NextRuns = append(s.NextRuns, metav1.NewTime(t))
	}
	tracked := slices.Clone(s.Active)
	for _, j := range v.jobs {
		if v.unknown(j, d) {
			run := v.run(start{job: j.name, slot: j.slot})
			tracked = append(tracked, run)
			if s.LastRun == nil || s.LastRun.Started.Before(&run.Started) {
				s.LastRun = &v1alpha1.LastRun{ActiveRun: run, Outcome: v1alpha1.OutcomeRunning}
			}
		}
	}
	for _, st := range d.starts {
		run := v.run(st)
		s.LastRun = &v1alpha1.LastRun{ActiveRun: run, Outcome: v1alpha1.OutcomeRunning}
		tracked = append(tracked, run)
	}
	failed = v.outcomes(&s, tracked)
	s.Active, s.Replicas = v.active(tracked, d)
	s.ActiveRuns = int32(len(s.Active)) //nolint:gosec // There are few.
	return s, failed
}

// run returns the record of a run that is started now, or that was started by a reconcile that did not write
// the status.
func (v view) run(st start) v1alpha1.ActiveRun {
	run := v1alpha1.ActiveRun{Job: st.job, Started: metav1.NewTime(v.now.Truncate(time.Second))}
	if !st.slot.IsZero() {
		run.Slot = &metav1.Time{Time: st.slot}
	}
	if j, ok := v.find(st.job); ok {
		run.Started = metav1.NewTime(j.started)
	}
	return run
}

func (v view) find(name string) (job, bool) {
	i := slices.IndexFunc(v.jobs, func(j job) bool { return j.name == name })
	if i < 0 {
		return job{}, false
	}
	return v.jobs[i], true
}

// outcomes records the outcomes of runs that were in progress.
func (v view) outcomes(s *v1alpha1.CronTabStatus, tracked []v1alpha1.ActiveRun) (failed []string) {
	for _, run := range tracked {
		j, exists := v.find(run.Job)
		switch {
		case !exists:
			j.outcome = v1alpha1.OutcomeStopped
			if !slices.ContainsFunc(s.Active, func(a v1alpha1.ActiveRun) bool { return a.Job == run.Job }) {
				j.outcome = v1alpha1.OutcomeRunning // just started
			}
		case j.outcome == v1alpha1.OutcomeFailed:
			s.LastFailure = later(s.LastFailure, &metav1.Time{Time: j.ended})
			failed = append(failed, j.name)
		case j.outcome == v1alpha1.OutcomeSucceeded:
			s.LastSuccess = later(s.LastSuccess, &metav1.Time{Time: j.ended})
		}
		if s.LastRun != nil && s.LastRun.Job == run.Job {
			s.LastRun.Outcome = j.outcome
			if !j.ended.IsZero() {
				s.LastRun.Ended = &metav1.Time{Time: j.ended}
			}
		}
	}
	return failed
}

func later(a, b *metav1.Time) *metav1.Time {
	if a != nil && b.Before(a) {
		return a
	}
	return b
}

// active returns the runs in progress, and the number of pods that they should have.
func (v view) active(tracked []v1alpha1.ActiveRun, d decision) (list []v1alpha1.ActiveRun, pods int32) {
	for _, j := range v.jobs {
		if j.outcome != v1alpha1.OutcomeRunning {
			continue
		}
		pods += j.pods
		i := slices.IndexFunc(tracked, func(a v1alpha1.ActiveRun) bool { return a.Job == j.name })
		if i >= 0 {
			list = append(list, tracked[i])
		} else {
			list = append(list, v.run(start{job: j.name, slot: j.slot}))
		}
	}
	for _, st := range d.starts {
		if _, ok := v.find(st.job); !ok {
			pods += max(v.tab.Spec.Replicas, 1)
			list = append(list, v.run(st))
		}
	}
	slices.SortFunc(list, func(a, b v1alpha1.ActiveRun) int {
		return cmp.Or(a.Started.Compare(b.Started.Time), cmp.Compare(a.Job, b.Job))
	})
	return list, pods
}
