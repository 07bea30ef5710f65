// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"strings"
	"testing"
	"time"
)

// noon is when the tests begin.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

// well is an API that is registered and answers.
func well(change ...func(*observation)) observation {
	o := observation{
		enabled: true, patience: time.Minute, owned: true, bundle: []byte("pem"), served: true, present: true, available: true,
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

func absent(o *observation)   { o.present, o.available = false, false }
func failing(o *observation)  { o.available = false }
func unserved(o *observation) { o.served = false }

// answered is that the leader had an answer some time ago.
func answered(d time.Duration) func(*observation) {
	return func(o *observation) { o.answered = ago(d) }
}

// unavailable is what the API server says of an API that has been unavailable for some time.
func unavailable(d time.Duration) func(*observation) {
	return func(o *observation) { o.unavailableSince = ago(d) }
}

func TestDecide(t *testing.T) {
	for _, tc := range []struct {
		reason string
		seen   observation
		memory memory
		want   decision
	}{
		{"all is well", well(), memory{}, decision{register: true}},
		{"not registered yet", well(absent), memory{}, decision{register: true}},
		{"somebody else's", well(func(o *observation) { o.holder = "x" }), memory{}, decision{cause: causeNameTaken, holder: "x"}},
		{"somebody else's, and disabled", well(func(o *observation) { o.holder, o.enabled = "x", false }), memory{}, decision{cause: causeNameTaken, holder: "x"}},
		{"disabled", well(func(o *observation) { o.enabled = false }), memory{}, decision{cause: causeDisabled}},
		{"no role", well(func(o *observation) { o.owned = false }), memory{}, decision{cause: causeNoRole}},
		{"no certificate", well(func(o *observation) { o.bundle = nil }), memory{}, decision{cause: causeNoCertificate}},
		{"never served", well(absent, unserved), memory{}, decision{cause: causeNotServed}},
		{"no endpoint from now on", well(unserved), memory{}, decision{register: true, recheck: servedGrace}},
		{"no endpoint for a moment", well(unserved), memory{unserved: ago(14 * time.Second)}, decision{register: true, recheck: time.Second}},
		{"no endpoint for too long", well(unserved), memory{unserved: ago(15 * time.Second)}, decision{cause: causeNotServed}},
		{"an endpoint again", well(), memory{unserved: ago(time.Hour)}, decision{register: true}},
		{"unavailable from now on", well(failing), memory{}, decision{register: true, recheck: time.Minute}},
		{"unavailable from now on, as far as API servers have noticed", well(failing, answered(25*time.Second)), memory{looked: true}, decision{register: true, recheck: 35 * time.Second}},
		{"no answer for longer than API servers need to notice", well(failing, answered(time.Hour)), memory{looked: true}, decision{register: true, recheck: 24 * time.Second}},
		{"the clock was set back since the last answer", well(failing, answered(-time.Hour)), memory{looked: true}, decision{register: true, recheck: time.Minute}},
		{"the last answer does not matter later on", well(failing, answered(time.Hour)), memory{looked: true, failing: ago(time.Second)}, decision{register: true, recheck: 59 * time.Second}},
		{"nor while it is available", well(answered(time.Hour)), memory{looked: true}, decision{register: true}},
		{"a new leader: unavailable for a moment", well(failing, unavailable(59*time.Second)), memory{}, decision{register: true, recheck: time.Second}},
		{"a new leader: unavailable for too long", well(failing, unavailable(time.Minute)), memory{}, decision{cause: causeUnreachable, recheck: time.Minute}},
		{"a new leader: since a time that is to come", well(failing, unavailable(-time.Hour)), memory{}, decision{register: true, recheck: time.Minute}},
		{"one that has seen it begin counts by its own clock", well(failing, unavailable(time.Hour)), memory{looked: true, failing: ago(30 * time.Second)}, decision{register: true, recheck: 30 * time.Second}},
		{"one that sees it begin does, too", well(failing, unavailable(time.Hour)), memory{looked: true}, decision{register: true, recheck: time.Minute}},
		{"unavailable for a moment", well(failing), memory{looked: true, failing: ago(59 * time.Second)}, decision{register: true, recheck: time.Second}},
		{"unavailable for too long", well(failing), memory{looked: true, failing: ago(time.Minute)}, decision{cause: causeUnreachable, recheck: time.Minute}},
		{
			"unavailable for too long, with more patience", well(failing, func(o *observation) { o.patience = time.Hour }),
			memory{looked: true, failing: ago(time.Minute)},
			decision{register: true, recheck: 59 * time.Minute},
		},
		{"unavailable and not served: the sooner of both", well(failing, unserved), memory{looked: true, failing: ago(50 * time.Second)}, decision{register: true, recheck: 10 * time.Second}},
		{"endpoints that come and go do not hide that it is unavailable", well(failing, unserved), memory{looked: true, failing: ago(time.Minute)}, decision{cause: causeUnreachable, recheck: time.Minute}},
		{"the second time", well(failing), memory{looked: true, failing: ago(time.Minute), failures: 1}, decision{cause: causeUnreachable, recheck: 2 * time.Minute}},
		{"the tenth time", well(failing), memory{looked: true, failing: ago(time.Minute), failures: 9}, decision{cause: causeUnreachable, recheck: 32 * time.Minute}},
		{"waiting", well(absent), memory{retryAt: noon.Add(time.Second)}, decision{cause: causeUnreachable, recheck: time.Second}},
		{"waiting, and the caches still have what was deleted", well(failing), memory{looked: true, failing: ago(time.Hour), failures: 1, retryAt: noon.Add(time.Second)}, decision{cause: causeUnreachable, recheck: time.Second}},
		{"waited", well(absent), memory{failures: 3, retryAt: noon}, decision{register: true}},
		{"the clock was set back: waiting no longer than ever", well(absent), memory{failures: 1, retryAt: noon.Add(24 * time.Hour)}, decision{cause: causeUnreachable, recheck: lastRetry}},
		{"the clock was set back: unserved from now on", well(unserved), memory{unserved: noon.Add(time.Hour)}, decision{register: true, recheck: servedGrace}},
		{"the clock was set back: unavailable from now on", well(failing), memory{looked: true, failing: noon.Add(time.Hour)}, decision{register: true, recheck: time.Minute}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if got, _ := decide(tc.seen, tc.memory, noon); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestFailuresAreForgottenAfterTenMinutesOfSuccess(t *testing.T) {
	for _, tc := range []struct {
		reason    string
		available time.Duration
		want      time.Duration
	}{
		{"it was available for long enough", 10 * time.Minute, time.Minute},
		{"it was not", 10*time.Minute - time.Second, 8 * time.Minute},
	} {
		_, m := decide(well(failing), memory{available: ago(tc.available), failures: 3}, noon)
		d, _ := decide(well(failing), m, noon.Add(time.Minute))
		if d.cause != causeUnreachable || d.recheck != tc.want {
			t.Errorf("%s: %+v, want a retry after %s", tc.reason, d, tc.want)
		}
	}
}

// cluster is a model of what decisions are carried out in, by the second.
type cluster struct {
	reachable, served bool
	registered        bool
	memory            memory
	// since is when it was found to be unavailable; zero while it is available.
	since time.Time
	// down is for how long an API that does not answer has been registered, in all and at most at a time.
	down, longest, current time.Duration
	// registrations counts how often it was registered.
	registrations int
}

func (c *cluster) run(from time.Time, length time.Duration, restart func(time.Duration) bool) {
	for at := time.Duration(0); at < length; at += time.Second {
		if restart != nil && restart(at) {
			c.memory = memory{}
		}
		o := well(func(o *observation) {
			o.served, o.present, o.available = c.served, c.registered, c.registered && c.reachable && c.served
			if o.available || !o.present {
				c.since = time.Time{}
			} else if c.since.IsZero() {
				c.since = from.Add(at)
			}
			o.unavailableSince = c.since
		})
		var d decision
		d, c.memory = decide(o, c.memory, from.Add(at))
		if d.register && !c.registered {
			c.registrations++
		}
		c.registered = d.register
		if c.registered && (!c.reachable || !c.served) {
			c.current += time.Second
			c.down += time.Second
			c.longest = max(c.longest, c.current)
		} else {
			c.current = 0
		}
	}
}

func TestAnUnreachableAPICostsTheClusterAMinuteThenOneInHalfAnHour(t *testing.T) {
	c := &cluster{served: true}
	c.run(noon, 63*time.Minute+6*time.Minute, nil) // waits of 1, 2, 4, 8, 16, 32 minutes
	if c.registrations != 6 || c.longest > time.Minute+time.Second {
		t.Errorf("%d registrations in 69 minutes, %s down at most at a time; want 6, a minute", c.registrations, c.longest)
	}
	before := c.down
	c.run(noon.Add(69*time.Minute), 10*time.Hour, nil)
	if share := float64(c.down-before) / float64(10*time.Hour); share > 1.0/30 {
		t.Errorf("later it was down for %.3f of the time", share)
	}
	c.reachable = true
	c.run(noon.Add(11*time.Hour+9*time.Minute), lastRetry+time.Second, nil)
	if !c.registered {
		t.Error("it did not heal by itself")
	}
}

// API servers notice late. Still the API is unregistered a minute after it answered last.
func TestWhatAPIServersNoticeLateCostsNoMore(t *testing.T) {
	for late := time.Duration(0); late <= noticedWithin; late += time.Second {
		for phase := time.Duration(0); phase < askInterval; phase += time.Second { // since the leader asked
			var m memory
			_, m = decide(well(), m, noon.Add(-time.Minute))
			gone := time.Duration(0)
			for at := time.Duration(0); gone == 0 && at < 5*time.Minute; at += time.Second {
				o := well(answered(phase))
				o.available = at < late
				var d decision
				if d, m = decide(o, m, noon.Add(at)); !d.register {
					gone = at
				}
			}
			if gone > time.Minute || gone < time.Minute-askInterval {
				t.Errorf("noticed after %s, asked %s before: unregistered %s after the fault", late, phase, gone)
			}
		}
	}
}

func TestAnAPIWithoutEndpointsIsTakenAwayAfterFifteenSeconds(t *testing.T) {
	c := &cluster{served: true, reachable: true}
	c.run(noon, time.Minute, nil)
	c.served = false
	c.run(noon.Add(time.Minute), time.Hour, nil)
	if c.registered || c.down > servedGrace {
		t.Errorf("registered %v, down for %s", c.registered, c.down)
	}
	c.served = true
	c.run(noon.Add(61*time.Minute), 2*time.Second, nil)
	if !c.registered {
		t.Error("it is served again, and not registered at once")
	}
}

// Endpoints that are ready for some seconds, again and again, of a reader that crashes.
func TestAFlappingReaderIsBounded(t *testing.T) {
	for period := 2 * time.Second; period < 2*time.Minute; period += time.Second {
		c := &cluster{}
		for at := time.Duration(0); at < 4*time.Hour; at += period {
			c.served = !c.served
			c.run(noon.Add(at), period, nil)
		}
		if c.longest > time.Minute+time.Second {
			t.Errorf("with a period of %s it is down for %s at a time", period, c.longest)
		}
	}
}

// However short leaders live, an API that is unavailable is unregistered when it has been for as long as it may be.
func TestLeadersThatRestartAreBounded(t *testing.T) {
	for life := time.Second; life < 2*time.Minute; life += time.Second {
		c := &cluster{served: true}
		c.run(noon, 4*time.Hour, func(at time.Duration) bool { return at%life == 0 })
		if c.longest > time.Minute+time.Second || c.registrations < 2 {
			t.Errorf("with leaders that live for %s it is down for %s at a time, and registered %d times", life, c.longest, c.registrations)
		}
	}
}

func TestSentencesSayWhatToDo(t *testing.T) {
	for c, want := range map[cause]string{
		causeDisabled:      "views.state",
		causeNameTaken:     "leads to the Service other/views. Delete it",
		causeNoRole:        "ClusterRole platform-operator-views-user is missing. It owns the registration. Reinstall the operator.",
		causeNoCertificate: "platform-operator-views-cert",
		causeNotServed:     "Deployment platform-operator-views",
		causeUnreachable:   "no namespace can be deleted",
	} {
		if got := (decision{cause: c, holder: "the Service other/views", recheck: 4 * time.Minute}).sentence(&Options{Names: ours}); !strings.Contains(got, want) || !strings.HasSuffix(got, ".") {
			t.Errorf("%s: %q, want %q in it", c, got, want)
		}
	}
	o := &Options{Names: ours, ClusterServiceVersion: "x.v1"}
	if got, want := (decision{cause: causeNoRole}).sentence(o), "The ClusterRole that OLM makes for the ClusterServiceVersion x.v1 is missing."; !strings.HasPrefix(got, want) {
		t.Errorf("with OLM: %q, want %q first", got, want)
	}
	if got := (decision{cause: causeUnreachable, recheck: 4 * time.Minute}).sentence(o); !strings.Contains(got, "again in 4m0s") {
		t.Errorf("%q does not say when it is tried again", got)
	}
}
