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

// settle brings the part of the status that is about runs up to date with a decision that was carried out, and
// gives the runs that are now known to have failed.
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

// run is the record of a run that is started now, or was by a run whose status was not written.
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

// outcomes records how runs ended that were in progress.
func (v view) outcomes(s *v1alpha1.CronTabStatus, tracked []v1alpha1.ActiveRun) (failed []string) {
	for _, run := range tracked {
		j, exists := v.find(run.Job)
		switch {
		case !exists:
			j.outcome = v1alpha1.OutcomeStopped
			if !slices.ContainsFunc(s.Active, func(a v1alpha1.ActiveRun) bool { return a.Job == run.Job }) {
				j.outcome = v1alpha1.OutcomeRunning // it is started just now
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

// active lists the runs in progress, and counts the pods that they should have.
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
