// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
)

func recorded(request, jobName string) change {
	return func(c *v1alpha1.CronTab) { c.Status.RunNow = &v1alpha1.RunNow{Request: request, Job: jobName} }
}

// waiting has requests that wait, of which the last one is recorded as such.
func waiting(all ...string) change {
	return func(c *v1alpha1.CronTab) {
		for _, request := range all {
			c.Status.Requests = append(c.Status.Requests, v1alpha1.RunNow{Request: request, By: "who asked for " + request})
		}
		c.Status.RunNow = c.Status.Requests[len(all)-1].DeepCopy()
	}
}

func TestByHand(t *testing.T) {
	one, two := jobOfRequest("t", "one"), jobOfRequest("t", "two")
	queued := queue(time.Date(2027, 3, 1, 12, 10, 0, 0, time.UTC))
	ten := strings.Split("1 2 3 4 5 6 7 8 9 10", " ")
	for _, tc := range []struct {
		reason string
		change change
		going  []string
		want   string
	}{
		{"asked", asked("one"), nil, "start " + one + ", until 12:10:00"},
		{"done", both(asked("one"), recorded("one", one)), nil, "until 12:10:00"},
		{"asked for another", both(asked("two"), recorded("one", one)), nil, "start " + two + ", until 12:10:00"},
		{"the annotation was taken off", recorded("one", one), nil, "until 12:10:00"},
		{"asked while suspended", both(asked("one"), suspended), nil, "start " + one + ", until 12:10:00"},
		{"asked of what never fires", both(asked("one"), never), nil, "start " + one + ", until 12:10:00"},
		{"Forbid lets it wait", asked("one"), []string{"t-x"}, "one waits, until 12:10:00"},
		{"Queue lets it wait, ahead of all", all(asked("one"), policy(waits), queued), nil, "start " + one + ", wait 1210, until 12:10:00"},
		{"Allow starts it", both(asked("one"), policy(allow)), []string{"t-x"}, "start " + one + ", until 12:10:00"},
		{"Replace makes room for it", both(asked("one"), policy(replace)), []string{"t-202703011210"}, "stop 1210, one waits, until 12:10:00"},
		{"Replace does not stop another one for it", both(asked("two"), policy(replace)), []string{one}, "two waits, until 12:10:00"},
		{"Replace does not stop it for a slot that waited", all(recorded("one", one), policy(replace), queued), []string{one}, "wait 1210, until 12:10:00"},
		{"what was made and not recorded", asked("one"), []string{one}, "start " + one + ", until 12:10:00"},
		{"the same under Replace", both(asked("one"), policy(replace)), []string{one}, "start " + one + ", until 12:10:00"},

		{"a second waits behind the first", both(asked("two"), waiting("one")), []string{"t-x"}, "one waits, two waits, until 12:10:00"},
		{"a third behind both", both(asked("three"), waiting("one", "two")), []string{"t-x"}, "one waits, two waits, three waits, until 12:10:00"},
		{"one after the other", waiting("one", "two"), nil, "start " + one + ", two waits, until 12:10:00"},
		{"the annotation is gone", waiting("one"), nil, "start " + one + ", until 12:10:00"},
		{"one that waits is asked for again", both(asked("one"), waiting("one", "two")), []string{"t-x"}, "one waits, two waits, until 12:10:00"},
		{"all at once when the policy becomes Allow", both(waiting("one", "two"), policy(allow)), []string{"t-x"}, "start " + one + ", start " + two + ", until 12:10:00"},
		{"ten wait", waiting(ten...), []string{"t-x"}, strings.Join(ten, " waits, ") + " waits, until 12:10:00"},
		{"an eleventh does not", both(asked("11"), waiting(ten...)), []string{"t-x"}, strings.Join(ten, " waits, ") + " waits, 11 dropped, until 12:10:00"},
		{"one that was dropped is not new again", both(asked("one"), func(c *v1alpha1.CronTab) {
			c.Status.RunNow = &v1alpha1.RunNow{Request: "one", Dropped: "so"}
		}), nil, "until 12:10:00"},

		{"what 0.1.0 let wait comes before what is asked now", both(asked("two"), recorded("one", "")), nil, "start " + one + ", two waits, until 12:10:00"},
		{"what 0.1.0 let wait comes although the annotation is gone", recorded("one", ""), nil, "start " + one + ", until 12:10:00"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			d := newScene(t, "12:15:00", "12:10:00", tc.change).going(t, tc.going...).decide(t)
			if diff := cmp.Diff(tc.want, described(d)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestTakenName has a Job of another owner with the name of a request's Job.
func TestTakenName(t *testing.T) {
	two := jobOfRequest("t", "two")
	for _, tc := range []struct {
		reason, now string
		change      change
		want        string
	}{
		{"the schedule continues", "12:20:00", asked("one"), "start 1220, one dropped, until 12:20:00"},
		{"so does the next request", "12:15:00", waiting("one", "two"), "start " + two + ", one dropped, until 12:10:00"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := newScene(t, tc.now, "12:10:00", tc.change)
			s.taken = []string{"one"}
			d := s.decide(t)
			if diff := cmp.Diff(tc.want, described(d)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if why := d.dropped[0].why; !strings.Contains(why, jobOfRequest("t", "one")) || !strings.Contains(why, "another value") {
				t.Errorf("it is dropped because %q", why)
			}
		})
	}
}

// TestRecordRequests follows requests through the status.
func TestRecordRequests(t *testing.T) {
	text := func(r v1alpha1.RunNow) string {
		return strings.TrimSuffix(strings.TrimSpace(r.Request+" by "+r.By)+", "+r.Job+r.Dropped, ", ")
	}
	one := jobOfRequest("t", "one")
	fresh := &v1alpha1.RunNow{Request: "new", By: "sam"}
	for _, tc := range []struct {
		reason string
		change change
		d      decision
		asked  *v1alpha1.RunNow
		want   string
	}{
		{"started", func(*v1alpha1.CronTab) {}, decision{starts: []start{{job: "j", request: "new"}}}, fresh, "last new by sam, j"},
		{"waits", recorded("one", one), decision{waiting: []string{"new"}}, fresh, "new by sam; last new by sam"},
		{"waits behind another", waiting("one"), decision{waiting: []string{"one", "new"}}, fresh, "one by who asked for one; new by sam; last new by sam"},
		{"dropped", recorded("one", one), decision{dropped: []dropped{{"new", "so"}}}, fresh, "last new by sam, so"},
		{
			"an earlier one starts", waiting("one", "two"),
			decision{waiting: []string{"two"}, starts: []start{{job: one, request: "one"}}},
			nil,
			"two by who asked for two; last two by who asked for two",
		},
		{"the last one starts", waiting("one"), decision{starts: []start{{job: one, request: "one"}}}, nil, "last one by who asked for one, " + one},
		{"what 0.1.0 let wait", recorded("one", ""), decision{waiting: []string{"one", "new"}}, fresh, "one by; new by sam; last new by sam"},
		{"a start by the schedule", recorded("one", one), decision{starts: []start{{job: "t-202703011210"}}}, nil, "last one by, " + one},
		{"the record was emptied", func(*v1alpha1.CronTab) {}, decision{waiting: []string{"x"}}, nil, "x by"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			status := newScene(t, "12:15:00", "12:10:00", tc.change).tab.Status
			recordRequests(&status, tc.d, tc.asked)
			var got []string
			for _, r := range status.Requests {
				got = append(got, text(r))
			}
			if status.RunNow != nil {
				got = append(got, "last "+text(*status.RunNow))
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestPostponed shows that a decision that could not be carried out loses no request, and settles no slot.
func TestPostponed(t *testing.T) {
	s := newScene(t, "12:20:00", "12:10:00", both(asked("two"), waiting("one")))
	d := postponed(s.tab.Status.Ledger, s.decide(t))
	if got, want := described(d), "one waits, two waits, until 12:10:00"; got != want || d.asked != "two" || len(d.next) == 0 {
		t.Errorf("%s, want %s", got, want)
	}
	if d := postponed(nil, s.decide(t)); !d.ledger.SettledUntil.IsZero() {
		t.Errorf("a ledger %v is opened", d.ledger)
	}
}

func TestASlotIsSkippedForARunByHand(t *testing.T) {
	d := newScene(t, "12:20:00", "12:10:00", asked("one")).decide(t)
	if got, want := described(d), "start "+jobOfRequest("t", "one")+", skip 1220, until 12:20:00"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
