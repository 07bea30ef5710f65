// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/schedule"
)

func TestSlots(t *testing.T) {
	at := func(text string) time.Time { return instant(t, text) }
	none := func(*v1alpha1.CronTab) {}
	for _, tc := range []struct {
		reason       string
		now, settled string
		change       change
		going        []string
		want         string
	}{
		{"new, before its first slot", "12:09:59", "", none, nil, "until 12:00:00"},
		{"a slot at its creation does not count", "12:00:00", "", none, nil, "until 12:00:00"},
		{"its first slot, to the second", "12:10:00", "", none, nil, "start 1210, until 12:10:00"},
		{"first seen long after its creation", "12:59:00", "", none, nil, "start 1250, missed 4, until 12:50:00"},
		{"between slots", "12:15:00", "12:10:00", none, nil, "until 12:10:00"},
		{"the next slot", "12:20:00", "12:10:00", none, nil, "start 1220, until 12:20:00"},

		{"three slots while away, RunLatest", "12:45:00", "12:10:00", missed(latest, 0), nil, "start 1240, missed 2, until 12:40:00"},
		{"three slots while away, the default", "12:45:00", "12:10:00", none, nil, "start 1240, missed 2, until 12:40:00"},
		{"three slots while away, Skip", "12:45:00", "12:10:00", missed(skip, 0), nil, "missed 3, until 12:40:00"},
		{"three slots while away, back on time, Skip", "12:40:10", "12:10:00", missed(skip, 0), nil, "start 1240, missed 2, until 12:40:00"},
		{"a minute late is on time, Skip", "12:41:00", "12:30:00", missed(skip, 0), nil, "start 1240, until 12:40:00"},
		{"more is not, Skip", "12:41:01", "12:30:00", missed(skip, 0), nil, "missed 1, until 12:40:00"},
		{"the deadline decides what is late, Skip", "12:45:00", "12:30:00", both(missed(skip, 0), deadline(6*time.Minute)), nil, "start 1240, until 12:40:00"},
		{"three slots while away, RunAll, one after the other", "12:45:00", "12:10:00", missed(runAll, 10), nil, "start 1220, wait 1230, wait 1240, until 12:40:00"},
		{"three slots while away, RunAll, at once", "12:45:00", "12:10:00", both(missed(runAll, 10), policy(allow)), nil, "start 1220, start 1230, start 1240, until 12:40:00"},
		{"three slots while away, RunAll, replaced", "12:45:00", "12:10:00", both(missed(runAll, 10), policy(replace)), nil, "start 1240, skip 1220, skip 1230, until 12:40:00"},
		{"three slots while away, RunAll of two", "12:45:00", "12:10:00", missed(runAll, 2), nil, "start 1230, wait 1240, missed 1, until 12:40:00"},
		{"RunAll beyond the limit of the queue", "12:45:00", "12:00:00", both(missed(runAll, 10), policy(waits)), nil, "start 1210, wait 1220, wait 1230, wait 1240, until 12:40:00"},
		{"RunAll while a run is in progress", "12:25:00", "12:00:00", missed(runAll, 10), []string{"t-x"}, "wait 1210, wait 1220, until 12:20:00"},
		{"RunAll without a cap is one", "12:45:00", "12:10:00", missed(runAll, 0), nil, "start 1240, missed 2, until 12:40:00"},
		{"too late for any", "12:49:00", "12:10:00", deadline(5 * time.Minute), nil, "missed 3, until 12:40:00"},
		{"RunAll, two of three too late", "12:45:00", "12:10:00", both(missed(runAll, 10), deadline(6*time.Minute)), nil, "start 1240, missed 2, until 12:40:00"},
		{"the deadline to the second", "12:45:00", "12:30:00", deadline(5 * time.Minute), nil, "start 1240, until 12:40:00"},

		{"Forbid while a run is in progress", "12:20:00", "12:10:00", none, []string{"t-202703011210"}, "skip 1220, until 12:20:00"},
		{"Allow while a run is in progress", "12:20:00", "12:10:00", policy(allow), []string{"t-202703011210"}, "start 1220, until 12:20:00"},
		{"Replace while a run is in progress", "12:20:00", "12:10:00", policy(replace), []string{"t-202703011210"}, "stop 1210, wait 1220, until 12:20:00"},
		{"Queue while a run is in progress", "12:20:00", "12:10:00", policy(waits), []string{"t-202703011210"}, "wait 1220, until 12:20:00"},
		{"Queue behind another", "12:30:00", "12:20:00", both(policy(waits), queue(at("12:20:00"))), []string{"t-202703011210"}, "wait 1220, wait 1230, until 12:30:00"},
		{"Queue when it is full", "12:40:00", "12:30:00", both(policy(waits), queue(at("12:20:00"), at("12:30:00"))), []string{"t-202703011210"}, "wait 1220, wait 1230, skip 1240, until 12:40:00"},
		{"the queue moves when no run is in progress", "12:32:00", "12:30:00", both(policy(waits), queue(at("12:20:00"), at("12:30:00"))), nil, "start 1220, wait 1230, until 12:30:00"},
		{"Forbid with a queue of missed runs", "12:40:00", "12:30:00", queue(at("12:30:00")), nil, "start 1230, skip 1240, until 12:40:00"},
		{"Replace replaces what waits", "12:30:00", "12:20:00", both(policy(replace), queue(at("12:20:00"))), []string{"t-202703011210"}, "stop 1210, wait 1230, skip 1220, until 12:30:00"},
		{"Replace starts when the pods are gone", "12:21:00", "12:20:00", both(policy(replace), queue(at("12:20:00"))), nil, "start 1220, until 12:20:00"},
		{"a queue under Allow", "12:31:00", "12:30:00", both(policy(allow), queue(at("12:20:00"), at("12:30:00"))), []string{"t-x"}, "start 1220, start 1230, until 12:30:00"},
		{"what waits too long is missed", "12:31:00", "12:30:00", all(policy(waits), deadline(10*time.Minute), queue(at("12:20:00"), at("12:30:00"))), nil, "start 1230, missed 1, until 12:30:00"},

		{"the clock was set back", "12:15:00", "12:40:00", none, nil, "until 12:40:00"},
		{"the clock was set back, and reaches the slot again", "12:40:00", "12:40:00", none, nil, "until 12:40:00"},
		{"the clock was set back, and is beyond", "12:50:00", "12:40:00", none, nil, "start 1250, until 12:50:00"},
		{"the clock had been wrong by more than a day", "12:15:30", "2027-03-02 12:15:31", none, nil, "until 12:15:30"},
		{"the clock had been wrong by a day", "12:15:30", "2027-03-02 12:15:30", none, nil, "until 12:15:30"},

		{"suspended", "12:20:00", "12:10:00", suspended, nil, "until 12:10:00"},
		{"suspended with a queue that is left", "12:20:00", "12:10:00", both(suspended, queue(at("12:10:00"))), nil, "start 1210, until 12:10:00"},
		{"before it begins", "12:20:00", "12:10:00", begins(at("12:30:00")), nil, "until 12:10:00"},
		{"it begins with a slot", "12:30:00", "12:10:00", begins(at("12:30:00")), nil, "start 1230, until 12:30:00"},
		{"what was before does not count", "12:41:00", "12:10:00", begins(at("12:35:00")), nil, "start 1240, until 12:40:00"},
		{"it ends with a slot", "12:31:00", "12:20:00", ends(at("12:30:00")), nil, "start 1230, until 12:30:00"},
		{"after its end", "13:00:00", "12:30:00", ends(at("12:30:00")), nil, "until 12:30:00"},
		{"long after its end, back from being away", "18:00:00", "12:10:00", ends(at("12:35:00")), nil, "start 1230, missed 1, until 12:30:00"},
		{"what never fires", "2036-03-01 12:00:00", "12:10:00", never, nil, "until 12:10:00"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			d := newScene(t, tc.now, tc.settled, tc.change).going(t, tc.going...).decide(t)
			if diff := cmp.Diff(tc.want, described(d)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestEdits changes the rules of a ledger: nothing is made up for, and what waited does not run any more.
func TestEdits(t *testing.T) {
	short := schedule.Jitter("uid", 20*time.Minute)
	for _, tc := range []struct {
		reason       string
		now          string
		before, edit change
		want         string
	}{
		{"another schedule", "12:45:10", nil, func(c *v1alpha1.CronTab) { c.Spec.CronSpec = "* * * * *" }, "until 12:45:10"},
		{"another time zone", "12:45:10", nil, func(c *v1alpha1.CronTab) { c.Spec.TimeZone = "Asia/Kathmandu" }, "until 12:45:10"},
		{"the same schedule, spelt in another way", "12:45:10", nil, func(c *v1alpha1.CronTab) { c.Spec.CronSpec = "  */10 * * * * " }, "start 1240, missed 2, until 12:40:00"},
		{"another beginning", "12:45:10", begins(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)), func(c *v1alpha1.CronTab) { c.Spec.NotBefore = nil }, "until 12:45:10"},
		{"another end", "12:45:10", ends(time.Date(2027, 3, 1, 12, 15, 0, 0, time.UTC)), func(c *v1alpha1.CronTab) { c.Spec.NotAfter = nil }, "until 12:45:10"},
		{"suspended", "12:45:10", nil, suspended, "until 12:45:10"},
		{"resumed after half a year", "2027-09-01 12:45:10", suspended, func(c *v1alpha1.CronTab) { c.Spec.Suspend = false }, "until 12:45:10"},
		{"suspended with a queue", "12:45:10", queue(time.Date(2027, 3, 1, 12, 10, 0, 0, time.UTC)), suspended, "skip 1210, until 12:45:10"},
		{"a jitter that is removed", "12:45:10", jitter(24 * time.Hour), func(c *v1alpha1.CronTab) { c.Spec.Jitter = nil }, "until 12:45:10"},
		{
			"a jitter that is removed, with runs waiting", "12:45:10", both(jitter(24*time.Hour), queue(time.Date(2027, 3, 1, 12, 10, 0, 0, time.UTC))),
			func(c *v1alpha1.CronTab) { c.Spec.Jitter = nil }, "skip 1210, until 12:45:10",
		},
		{
			"a jitter that becomes shorter: what is due later is run", "12:45:10", jitter(24 * time.Hour), jitter(20 * time.Minute),
			"until " + instant(t, "12:45:10").Add(-short).Format("15:04:05"),
		},
		{"what was run already is not run again", "12:12:10", jitter(24 * time.Hour), jitter(2 * time.Hour), "until 12:10:00"},
		{"a jitter that is added only delays", "12:45:10", nil, jitter(2 * time.Hour), "until 12:10:00"},
		{"another image", "12:45:10", nil, func(c *v1alpha1.CronTab) { c.Spec.Image = "x" }, "start 1240, missed 2, until 12:40:00"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if tc.before == nil {
				tc.before = func(*v1alpha1.CronTab) {}
			}
			s := newScene(t, tc.now, "12:10:00", tc.before)
			tc.edit(s.tab)
			if diff := cmp.Diff(tc.want, described(s.decide(t))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestInterrupted has runs that were made by a run of ours whose status was never written.
func TestInterrupted(t *testing.T) {
	const made = "t-202703011220"
	queued := queue(time.Date(2027, 3, 1, 12, 20, 0, 0, time.UTC))
	for _, tc := range []struct {
		reason       string
		now, settled string
		change       change
		want         string
	}{
		{"Forbid does not skip a slot for its own run", "12:20:01", "12:10:00", policy(v1alpha1.ConcurrencyForbid), "start 1220, until 12:20:00"},
		{"Allow", "12:20:01", "12:10:00", policy(allow), "start 1220, until 12:20:00"},
		{"Replace does not stop it", "12:20:01", "12:10:00", policy(replace), "start 1220, until 12:20:00"},
		{"Queue does not queue it", "12:20:01", "12:10:00", policy(waits), "start 1220, until 12:20:00"},
		{"out of the queue, Queue", "12:25:00", "12:20:00", both(policy(waits), queued), "start 1220, until 12:20:00"},
		{"out of the queue, Replace", "12:25:00", "12:20:00", both(policy(replace), queued), "start 1220, until 12:20:00"},
		{"it is not missed, however late it is seen", "12:29:00", "12:10:00", deadline(time.Minute), "start 1220, until 12:20:00"},
		{"nor out of the queue", "12:29:00", "12:20:00", both(deadline(time.Minute), queued), "start 1220, until 12:20:00"},
		{"nor when more slots have passed", "12:45:00", "12:10:00", policy(allow), "start 1240, missed 1, until 12:40:00"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := newScene(t, tc.now, tc.settled, tc.change).going(t, made).forgotten()
			if diff := cmp.Diff(tc.want, described(s.decide(t))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestForecast(t *testing.T) {
	for _, tc := range []struct {
		reason, now, settled string
		change               change
		want                 string
	}{
		{"five", "12:15:00", "12:10:00", func(*v1alpha1.CronTab) {}, "12:20 12:30 12:40 12:50 13:00"},
		{"at a slot", "12:20:00", "12:10:00", func(*v1alpha1.CronTab) {}, "12:30 12:40 12:50 13:00 13:10"},
		{"the clock was set back", "12:15:00", "12:40:00", func(*v1alpha1.CronTab) {}, "12:50 13:00 13:10 13:20 13:30"},
		{"before it begins", "12:15:00", "12:10:00", begins(instant(t, "12:30:00")), "12:30 12:40 12:50 13:00 13:10"},
		{"to its end", "12:15:00", "12:10:00", ends(instant(t, "12:30:00")), "12:20 12:30"},
		{"after its end", "12:35:00", "12:30:00", ends(instant(t, "12:30:00")), ""},
		{"suspended", "12:15:00", "12:10:00", suspended, ""},
		{"never", "12:15:00", "12:10:00", never, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			var got []string
			for _, n := range newScene(t, tc.now, tc.settled, tc.change).decide(t).next {
				got = append(got, n.Format("15:04"))
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestWakesToTheSecond: a CronTab is looked at again at the very instant of its next run, or after ten minutes.
func TestWakesToTheSecond(t *testing.T) {
	for _, tc := range []struct{ reason, now, want string }{
		{"the next run", "12:15:00", "12:20:00"},
		{"the first run", "12:09:59", "12:10:00"},
		{"shortly before", "12:19:59", "12:20:00"},
		{"at a run", "12:20:00", "12:30:00"},
	} {
		s := newScene(t, tc.now, "12:00:00")
		r := &run{view: s.view(t)}
		if at := r.next(s.decide(t)); !at.Equal(instant(t, tc.want)) || r.dueAt(engine.Done(), at) != engine.Done().Due(instant(t, tc.want)) {
			t.Errorf("%s: it is looked at again at %v, want %s", tc.reason, at, tc.want)
		}
	}
	daily := newScene(t, "12:15:00", "12:00:00", func(c *v1alpha1.CronTab) { c.Spec.CronSpec = "0 0 * * *" })
	r := &run{view: daily.view(t)}
	if at := r.next(daily.decide(t)); !at.Equal(instant(t, "12:25:00")) {
		t.Errorf("a clock that is set is noticed at %v", at)
	}
	if at := r.next(newScene(t, "12:15:00", "12:00:00", suspended).decide(t)); !at.IsZero() || r.dueAt(engine.Done(), at) != engine.Done() {
		t.Errorf("what never fires is looked at again at %v", at)
	}
}

// TestJitter shifts everything by the same time.
func TestJitter(t *testing.T) {
	spread := func(c *v1alpha1.CronTab) { c.Spec.Jitter = &metav1.Duration{Duration: 5 * time.Minute} }
	shift := schedule.Jitter("uid", 5*time.Minute)
	if shift < 2*time.Second {
		t.Fatalf("a shift of %v shows nothing", shift)
	}
	slot := instant(t, "12:20:00")
	at := func(d time.Duration) string { return slot.Add(shift + d).Format("15:04:05") }
	for _, tc := range []struct {
		reason, now string
		change      change
		want, next  string
	}{
		{"a second before", at(-time.Second), spread, "until 12:10:00", at(0)},
		{"to the second", at(0), spread, "start 1220, until 12:20:00", at(10 * time.Minute)},
		{"the deadline counts from then", at(5 * time.Minute), both(spread, deadline(5*time.Minute)), "start 1220, until 12:20:00", at(10 * time.Minute)},
		{"and no longer", at(5*time.Minute + time.Second), both(spread, deadline(5*time.Minute)), "missed 1, until 12:20:00", at(10 * time.Minute)},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			d := newScene(t, tc.now, "12:10:00", tc.change).decide(t)
			if described(d) != tc.want || d.next[0].Format("15:04:05") != tc.next {
				t.Errorf("%s and then at %v, want %s and %s", described(d), d.next[0], tc.want, tc.next)
			}
		})
	}
}

// TestClocksChange walks through the nights of the change, minute by minute: each slot is started once.
func TestClocksChange(t *testing.T) {
	for _, tc := range []struct {
		spec, zone, from string
		hours            int
		want             string
	}{
		{"30 2 * * *", "Europe/Berlin", "2027-03-27 22:00:00", 27, "2027-03-28T01:00 2027-03-29T00:30"}, // 3:00 instead of the 2:30 that is skipped
		{"30 2 * * *", "Europe/Berlin", "2027-10-30 22:00:00", 28, "2027-10-31T00:30 2027-11-01T01:30"}, // once, although 2:30 comes twice
		{"*/30 * * * *", "Europe/Berlin", "2027-10-30 23:45:00", 2, "2027-10-31T00:00 2027-10-31T00:30 2027-10-31T01:00 2027-10-31T01:30"},
		{"0 2 * * *", "Australia/Lord_Howe", "2027-10-02 12:00:00", 24, "2027-10-02T15:30"}, // 2:30 instead of the 2:00 that is skipped
		{"0 0 * * *", "America/Sao_Paulo", "2027-10-16 12:00:00", 40, "2027-10-17T03:00 2027-10-18T03:00"},
	} {
		t.Run(tc.spec+" "+tc.zone+" "+tc.from, func(t *testing.T) {
			s := newScene(t, tc.from, tc.from, func(c *v1alpha1.CronTab) {
				c.Spec.CronSpec, c.Spec.TimeZone, c.Spec.ConcurrencyPolicy = tc.spec, tc.zone, allow
			})
			parsed := s.parse(t)
			var got []string
			for minute := range tc.hours * 60 {
				d := decide(view{now: instant(t, tc.from).Add(time.Duration(minute) * time.Minute), tab: s.tab, schedule: parsed})
				for _, st := range d.starts {
					got = append(got, st.slot.UTC().Format("2006-01-02T15:04"))
				}
				s.tab.Status.Ledger = &d.ledger
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestAwayForYears shows that what a decision costs does not grow with the slots that were missed.
func TestAwayForYears(t *testing.T) {
	d := newScene(t, "2047-03-01 12:00:30", "12:00:00", missed(runAll, 3), func(c *v1alpha1.CronTab) { c.Spec.CronSpec = "* * * * *" }).decide(t)
	if len(d.starts) != 1 || len(d.ledger.Queue) != 2 || d.missed != 20*365*24*60+5*24*60-3 {
		t.Errorf("starts %d, queue %d, missed %d", len(d.starts), len(d.ledger.Queue), d.missed)
	}
}
