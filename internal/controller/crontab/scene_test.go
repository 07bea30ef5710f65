// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/schedule"
)

// instant reads a time of the day on which all tables play, or a whole instant.
func instant(t *testing.T, text string) time.Time {
	t.Helper()
	layout, day := "2006-01-02 15:04:05", "2027-03-01 "
	if len(text) > len("15:04:05") {
		day = ""
	}
	at, err := time.Parse(layout, day+text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// scene is a CronTab "t" of every ten minutes, created at noon, at some time later.
type scene struct {
	now   string
	tab   *v1alpha1.CronTab
	jobs  []job
	taken []string
}

func newScene(t *testing.T, now string, settled string, change ...func(*v1alpha1.CronTab)) *scene {
	t.Helper()
	tab := &v1alpha1.CronTab{
		ObjectMeta: metav1.ObjectMeta{Name: "t", UID: "uid", CreationTimestamp: metav1.NewTime(instant(t, "12:00:00"))},
		Spec:       v1alpha1.CronTabSpec{CronSpec: "*/10 * * * *", ConcurrencyPolicy: v1alpha1.ConcurrencyForbid, QueueLimit: 2},
	}
	s := &scene{now: now, tab: tab}
	for _, c := range change {
		c(tab)
	}
	if settled != "" {
		tab.Status.Ledger = &v1alpha1.Ledger{
			Rules: rulesOf(tab.Spec, s.parse(t)), SettledUntil: metav1.NewTime(instant(t, settled)), Queue: queueOf(tab),
		}
	}
	return s
}

// queueOf gives the queue that a change has put into the status.
func queueOf(tab *v1alpha1.CronTab) []metav1.Time {
	if tab.Status.Ledger == nil {
		return nil
	}
	return tab.Status.Ledger.Queue
}

func (s *scene) parse(t *testing.T) schedule.Schedule {
	t.Helper()
	parsed, err := schedule.Parse(s.tab.Spec.CronSpec, s.tab.Spec.TimeZone, string(s.tab.UID))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// going adds runs in progress, of slots or of requests.
func (s *scene) going(t *testing.T, names ...string) *scene {
	t.Helper()
	for _, name := range names {
		j := job{name: name, outcome: v1alpha1.OutcomeRunning, pods: 1, started: instant(t, "12:00:00")}
		if at, err := time.Parse("200601021504", strings.TrimPrefix(name, "t-")); err == nil {
			j.slot = at
		}
		s.jobs = append(s.jobs, j)
		s.tab.Status.Active = append(s.tab.Status.Active, v1alpha1.ActiveRun{Job: name, Started: metav1.NewTime(j.started)})
	}
	return s
}

// forgotten takes the runs out of the status: they were made by a run whose status was not written.
func (s *scene) forgotten() *scene {
	s.tab.Status.Active = nil
	return s
}

// ended lets all runs have ended.
func (s *scene) ended(t *testing.T, how v1alpha1.Outcome) *scene {
	t.Helper()
	for i := range s.jobs {
		s.jobs[i].outcome, s.jobs[i].ended = how, instant(t, "12:05:00")
	}
	return s
}

func (s *scene) decide(t *testing.T) decision {
	t.Helper()
	return decide(s.view(t))
}

func (s *scene) view(t *testing.T) view {
	t.Helper()
	return view{now: instant(t, s.now), tab: s.tab, schedule: s.parse(t), jobs: s.jobs, taken: s.taken}
}

// described returns a decision as text: what is started, stopped, queued, skipped, missed, and until when all is settled.
func described(d decision) string {
	var all []string
	for _, st := range d.starts {
		all = append(all, "start "+strings.TrimPrefix(st.job, "t-20270301"))
	}
	for _, name := range d.stops {
		all = append(all, "stop "+strings.TrimPrefix(name, "t-20270301"))
	}
	for _, q := range d.ledger.Queue {
		all = append(all, "wait "+q.UTC().Format("1504"))
	}
	for _, s := range d.skipped {
		all = append(all, "skip "+s.UTC().Format("1504"))
	}
	if d.missed > 0 {
		all = append(all, fmt.Sprint("missed ", d.missed))
	}
	for _, request := range d.waiting {
		all = append(all, request+" waits")
	}
	for _, x := range d.dropped {
		all = append(all, x.request+" dropped")
	}
	return strings.Join(append(all, "until "+d.ledger.SettledUntil.UTC().Format("15:04:05")), ", ")
}

// Changes of the CronTab of a scene.
type change = func(*v1alpha1.CronTab)

func policy(p v1alpha1.ConcurrencyPolicy) change {
	return func(c *v1alpha1.CronTab) { c.Spec.ConcurrencyPolicy = p }
}

func missed(p v1alpha1.MissedRunsPolicy, most int32) change {
	return func(c *v1alpha1.CronTab) { c.Spec.MissedRuns = v1alpha1.MissedRuns{Policy: p, Max: most} }
}

func deadline(d time.Duration) change {
	return func(c *v1alpha1.CronTab) { c.Spec.StartingDeadline = &metav1.Duration{Duration: d} }
}

func queue(slots ...time.Time) change {
	return func(c *v1alpha1.CronTab) {
		c.Status.Ledger = &v1alpha1.Ledger{}
		for _, s := range slots {
			c.Status.Ledger.Queue = append(c.Status.Ledger.Queue, metav1.NewTime(s))
		}
	}
}

func jitter(d time.Duration) change {
	return func(c *v1alpha1.CronTab) { c.Spec.Jitter = &metav1.Duration{Duration: d} }
}

// asked sets the annotation that requests a run by hand.
func asked(value string) change {
	return func(c *v1alpha1.CronTab) { c.Annotations = map[string]string{names.AnnotationRunNow: value} }
}

const (
	allow, replace, waits = v1alpha1.ConcurrencyAllow, v1alpha1.ConcurrencyReplace, v1alpha1.ConcurrencyQueue
	latest, skip, runAll  = v1alpha1.MissedRunLatest, v1alpha1.MissedSkip, v1alpha1.MissedRunAll
)

func both(a, b change) change { return all(a, b) }

func all(changes ...change) change {
	return func(c *v1alpha1.CronTab) {
		for _, f := range changes {
			f(c)
		}
	}
}

func suspended(c *v1alpha1.CronTab) { c.Spec.Suspend = true }

func never(c *v1alpha1.CronTab) { c.Spec.CronSpec = "0 0 30 2 *" }

func begins(at time.Time) change {
	return func(c *v1alpha1.CronTab) { c.Spec.NotBefore = &metav1.Time{Time: at} }
}

func ends(at time.Time) change {
	return func(c *v1alpha1.CronTab) { c.Spec.NotAfter = &metav1.Time{Time: at} }
}
