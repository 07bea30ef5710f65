// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// past is a run that ended at some time, with a name like "t-202703011200".
func past(t *testing.T, slot, end string, outcome v1alpha1.Outcome) job {
	t.Helper()
	at := instant(t, slot)
	return job{name: jobOf("t", at), slot: at, started: at, ended: instant(t, end), outcome: outcome}
}

func TestPrunable(t *testing.T) {
	const good, bad = v1alpha1.OutcomeSucceeded, v1alpha1.OutcomeFailed
	keep := func(succeeded, failed int32, maxAge time.Duration) change {
		return func(c *v1alpha1.CronTab) {
			c.Spec.History = v1alpha1.History{Succeeded: &succeeded, Failed: &failed}
			if maxAge > 0 {
				c.Spec.History.MaxAge = &metav1.Duration{Duration: maxAge}
			}
		}
	}
	one, two, three := past(t, "10:00:00", "10:05:00", good), past(t, "10:10:00", "10:15:00", good), past(t, "10:20:00", "10:25:00", good)
	four, wrong := past(t, "10:30:00", "10:31:00", good), past(t, "10:40:00", "10:41:00", bad)
	slow := past(t, "09:00:00", "10:45:00", good)
	running := job{name: "t-x", outcome: v1alpha1.OutcomeRunning}
	leaving := one
	leaving.deleting = true
	fresh := past(t, "12:20:00", "12:21:00", good)
	listed := func(c *v1alpha1.CronTab) { c.Status.Active = []v1alpha1.ActiveRun{{Job: one.name}} }
	byHand := job{name: jobOfRequest("t", "one"), ended: one.ended, outcome: good}
	for _, tc := range []struct {
		reason string
		change change
		jobs   []job
		want   string
	}{
		{"the default is three", func(*v1alpha1.CronTab) {}, []job{one, two, three, four}, "1000"},
		{"each outcome has its own", keep(1, 1, 0), []job{one, two, wrong}, "1000"},
		{"none are kept", keep(0, 0, 0), []job{one, wrong}, "1000 1040"},
		{"the latest to end are kept", keep(1, 0, 0), []job{slow, one}, "1000"},
		{"a run in progress is not history", keep(0, 0, 0), []job{running}, ""},
		{"what goes is not deleted again", keep(0, 0, 0), []job{leaving}, ""},
		{"by age", keep(9, 9, 2*time.Hour), []job{one, three}, "1000, then 12:25:00"},
		{"by age, to the second", keep(9, 9, 125*time.Minute), []job{two}, "1010"},
		{"not before the status shows how it ended", both(keep(0, 0, 0), listed), []job{one}, ", then 12:20:01"},
		{"not before the status records its start", keep(0, 0, 0), []job{fresh}, ", then 12:20:01"},
		{"not while the status has it waiting", both(keep(0, 0, 0), queue(one.slot)), []job{one}, ", then 12:20:01"},
		{"by hand", keep(0, 0, 0), []job{byHand}, "run"},
		{"by hand, not before it is recorded", both(keep(0, 0, 0), asked("one")), []job{byHand}, ", then 12:20:01"},
		{"by hand, not while the status has it waiting", both(keep(0, 0, 0), waiting("one", "two")), []job{byHand}, ", then 12:20:01"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := newScene(t, "12:20:00", "12:10:00", tc.change)
			gone, again := prunable(view{now: instant(t, s.now), tab: s.tab, schedule: s.parse(t), jobs: tc.jobs})
			got := strings.NewReplacer("t-20270301", "", "-"+names.Digest("one"), "", "t-run", "run").Replace(strings.Join(gone, " "))
			if !again.IsZero() {
				got += again.Format(", then 15:04:05")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSettle(t *testing.T) {
	type scenery func(t *testing.T) (*scene, decision)
	lasting := func(name string) change {
		return func(c *v1alpha1.CronTab) {
			c.Status.LastRun = &v1alpha1.LastRun{ActiveRun: v1alpha1.ActiveRun{Job: name}, Outcome: v1alpha1.OutcomeRunning}
		}
	}
	const name = "t-202703011210"
	for _, tc := range []struct {
		reason string
		make   scenery
		want   string
	}{
		{"started", func(t *testing.T) (*scene, decision) {
			s := newScene(t, "12:20:00", "12:10:00")
			return s, s.decide(t)
		}, "active t-202703011220, last t-202703011220 Running, 1 pods"},
		{"in progress", func(t *testing.T) (*scene, decision) {
			s := newScene(t, "12:15:00", "12:10:00", lasting(name)).going(t, name)
			return s, s.decide(t)
		}, "active " + name + ", last " + name + " Running, 1 pods"},
		{"succeeded", func(t *testing.T) (*scene, decision) {
			s := newScene(t, "12:15:00", "12:10:00", lasting(name)).going(t, name).ended(t, v1alpha1.OutcomeSucceeded)
			return s, s.decide(t)
		}, "last " + name + " Succeeded, success, 0 pods"},
		{"failed", func(t *testing.T) (*scene, decision) {
			s := newScene(t, "12:15:00", "12:10:00", lasting(name)).going(t, name).ended(t, v1alpha1.OutcomeFailed)
			return s, s.decide(t)
		}, "last " + name + " Failed, failure, failed " + name + ", 0 pods"},
		{"failed, and was reported already", func(t *testing.T) (*scene, decision) {
			s := newScene(t, "12:15:00", "12:10:00", lasting(name)).going(t, name).ended(t, v1alpha1.OutcomeFailed).forgotten()
			return s, s.decide(t)
		}, "last " + name + " Running, 0 pods"},
		{"deleted by a user", func(t *testing.T) (*scene, decision) {
			s := newScene(t, "12:15:00", "12:10:00", lasting(name)).going(t, name)
			s.jobs = nil
			return s, s.decide(t)
		}, "last " + name + " Stopped, 0 pods"},
		{"failed before its start was written down", func(t *testing.T) (*scene, decision) {
			s := newScene(t, "12:15:00", "12:00:00").going(t, name).ended(t, v1alpha1.OutcomeFailed).forgotten()
			return s, s.decide(t)
		}, "last " + name + " Failed, failure, failed " + name + ", 0 pods"},
		{"the same, and another slot has passed since", func(t *testing.T) (*scene, decision) {
			s := newScene(t, "12:25:00", "12:00:00").going(t, name).ended(t, v1alpha1.OutcomeFailed).forgotten()
			return s, s.decide(t)
		}, "active t-202703011220, last t-202703011220 Running, failure, failed " + name + ", 1 pods"},
		{"the same, and the schedule is another since", func(t *testing.T) (*scene, decision) {
			s := newScene(t, "12:25:00", "12:00:00").going(t, name).ended(t, v1alpha1.OutcomeFailed).forgotten()
			s.tab.Spec.CronSpec = "0 0 * * *"
			return s, s.decide(t)
		}, "last " + name + " Failed, failure, failed " + name + ", 0 pods"},
		{"the same, and it had waited in the queue", func(t *testing.T) (*scene, decision) {
			s := newScene(t, "12:15:00", "12:10:00", queue(instant(t, "12:10:00"))).going(t, name).ended(t, v1alpha1.OutcomeFailed).forgotten()
			s.tab.Spec.CronSpec = "0 0 * * *"
			return s, s.decide(t)
		}, "last " + name + " Failed, failure, failed " + name + ", 0 pods"},
		{"while nothing can be started it is reported later", func(t *testing.T) (*scene, decision) {
			s := newScene(t, "12:25:00", "12:00:00").going(t, name).ended(t, v1alpha1.OutcomeFailed).forgotten()
			return s, postponed(s.tab.Status.Ledger, s.decide(t))
		}, "0 pods"},
		{"by hand, and something else was asked for since", func(t *testing.T) (*scene, decision) {
			s := newScene(t, "12:15:00", "12:10:00", func(c *v1alpha1.CronTab) {
				c.Status.LastRun = &v1alpha1.LastRun{ActiveRun: v1alpha1.ActiveRun{Job: "t-x", Started: metav1.NewTime(instant(t, "11:59:59"))}}
			}).going(t, jobOfRequest("t", "one")).ended(t, v1alpha1.OutcomeFailed).forgotten()
			return s, s.decide(t)
		}, "last " + jobOfRequest("t", "one") + " Failed, failure, failed " + jobOfRequest("t", "one") + ", 0 pods"},
		{"by hand, long ago", func(t *testing.T) (*scene, decision) {
			s := newScene(t, "12:15:00", "12:10:00", func(c *v1alpha1.CronTab) {
				c.Status.LastRun = &v1alpha1.LastRun{ActiveRun: v1alpha1.ActiveRun{Job: "t-x", Started: metav1.NewTime(instant(t, "12:00:01"))}, Outcome: "Succeeded"}
			}).going(t, jobOfRequest("t", "one")).ended(t, v1alpha1.OutcomeFailed).forgotten()
			return s, s.decide(t)
		}, "last t-x Succeeded, 0 pods"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s, d := tc.make(t)
			status, failed := settle(s.view(t), d)
			if diff := cmp.Diff(tc.want, summary(status, failed)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// summary is the part of a status that is about runs, as text.
func summary(s v1alpha1.CronTabStatus, failed []string) string {
	var all []string
	for _, a := range s.Active {
		all = append(all, "active "+a.Job)
	}
	if s.LastRun != nil {
		all = append(all, "last "+s.LastRun.Job+" "+string(s.LastRun.Outcome))
	}
	if s.LastSuccess != nil {
		all = append(all, "success")
	}
	if s.LastFailure != nil {
		all = append(all, "failure")
	}
	for _, f := range failed {
		all = append(all, "failed "+f)
	}
	return strings.Join(append(all, fmt.Sprint(s.Replicas, " pods")), ", ")
}
