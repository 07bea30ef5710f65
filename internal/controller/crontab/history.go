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
