// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"fmt"
	"slices"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// maxWaiting is the most requests for runs by hand that wait.
const maxWaiting = 10

// dropped is a request that is not run, and the reason.
type dropped struct{ request, why string }

// byHand starts the runs that were requested by hand, the oldest first. If runs exclude each other, requests
// wait for their turn, ahead of the queue.
func (p *planner) byHand() {
	requests := waitingRequests(p.tab)
	if p.asked = newRequest(p.tab); p.asked != "" && len(requests) >= maxWaiting {
		p.drop(p.asked, fmt.Sprintf("%d requests wait already; ask again when fewer wait", len(requests)))
	} else if p.asked != "" {
		requests = append(requests, p.asked)
	}
	for _, request := range requests {
		name := jobOfRequest(p.tab.Name, request)
		switch {
		case slices.Contains(p.taken, request):
			p.drop(request, fmt.Sprintf("the Job %s exists and does not belong to this object; ask again with another value", name))
		case p.exists(name) || p.tab.Spec.ConcurrencyPolicy == v1alpha1.ConcurrencyAllow || !p.busy() && len(p.waiting) == 0:
			p.starts = append(p.starts, start{job: name, request: request})
		default:
			p.waiting = append(p.waiting, request)
		}
	}
}

// byHandOnly returns the decision while the schedule is invalid.
func byHandOnly(v view) decision {
	p := &planner{view: v}
	p.byHand()
	return p.decision
}

func (p *planner) drop(request, why string) { p.dropped = append(p.dropped, dropped{request, why}) }

// waitingRequests returns the requests that wait according to the status. Version 0.1.0 recorded one, as the
// last.
func waitingRequests(tab *v1alpha1.CronTab) []string {
	var all []string
	for _, r := range tab.Status.Requests {
		all = append(all, r.Request)
	}
	if last := tab.Status.RunNow; last != nil && last.Job == "" && last.Dropped == "" && !slices.Contains(all, last.Request) {
		return append(all, last.Request)
	}
	return all
}

// newRequest returns the annotation's request, unless the status has recorded it already.
func newRequest(tab *v1alpha1.CronTab) string {
	asked := names.Request(tab.Annotations[names.AnnotationRunNow])
	if last := tab.Status.RunNow; last != nil && last.Request == asked || slices.Contains(waitingRequests(tab), asked) {
		return ""
	}
	return asked
}

// postponed returns what is left of a decision that could not be carried out: the ledger is unchanged, so that
// its slots are decided again, and the requests for runs by hand wait.
func postponed(last *v1alpha1.Ledger, d decision) decision {
	later := decision{asked: d.asked, dropped: d.dropped, next: d.next}
	if last != nil {
		later.ledger = *last
	}
	for _, st := range d.starts {
		if st.request != "" {
			later.waiting = append(later.waiting, st.request)
		}
	}
	later.waiting = append(later.waiting, d.waiting...)
	return later
}

// recordRequests records in the status which requests wait, and the outcome of the last one. asked is the
// record of a new request.
func recordRequests(s *v1alpha1.CronTabStatus, d decision, asked *v1alpha1.RunNow) {
	known := slices.Clone(s.Requests)
	if s.RunNow != nil {
		known = append(known, *s.RunNow)
	}
	if asked != nil {
		known = append(known, *asked)
		s.RunNow = asked.DeepCopy()
	}
	s.Requests = nil
	for _, request := range d.waiting {
		record := v1alpha1.RunNow{Request: request}
		if i := slices.IndexFunc(known, func(r v1alpha1.RunNow) bool { return r.Request == request }); i >= 0 {
			record = known[i]
		}
		s.Requests = append(s.Requests, record)
	}
	recordLast(s.RunNow, d)
}

// recordLast records the outcome of the last request.
func recordLast(last *v1alpha1.RunNow, d decision) {
	if last == nil {
		return
	}
	for _, st := range d.starts {
		if st.request == last.Request {
			last.Job = st.job
		}
	}
	for _, x := range d.dropped {
		if x.request == last.Request {
			last.Dropped = x.why
		}
	}
}
