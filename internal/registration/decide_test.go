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
		enabled: true, patience: time.Minute, owned: true, certified: true, served: true, present: true, available: true,
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
		{"no certificate", well(func(o *observation) { o.certified = false }), memory{}, decision{cause: causeNoCertificate}},
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
		{"waiting", well(absent), memory{cause: causeUnreachable, retryAt: noon.Add(time.Second)}, decision{cause: causeUnreachable, recheck: time.Second}},
		{"waiting, and the caches still have what was deleted", well(failing), memory{looked: true, failing: ago(time.Hour), failures: 1, cause: causeUnreachable, retryAt: noon.Add(time.Second)}, decision{cause: causeUnreachable, recheck: time.Second}},
		{"waited", well(absent), memory{failures: 3, retryAt: noon}, decision{register: true}},
		{"the clock was set back: waiting no longer than ever", well(absent), memory{failures: 1, cause: causeUnreachable, retryAt: noon.Add(24 * time.Hour)}, decision{cause: causeUnreachable, recheck: lastRetry}},
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

// toggled runs a cluster for four hours in which something is well for up, then not for down, and so on.
func toggled(up, down time.Duration, set func(c *cluster, well bool)) *cluster {
	c := &cluster{reachable: true, served: true}
	for at := time.Duration(0); at < 4*time.Hour; at += up + down {
		set(c, true)
		c.run(noon.Add(at), up, nil)
		set(c, false)
		c.run(noon.Add(at+up), down, nil)
	}
	return c
}

// gaps are what makes an API come and go: pods that crash, and one of several API servers that does not reach them.
var gaps = map[string]func(c *cluster, well bool){
	"not ready":   func(c *cluster, well bool) { c.served = well },
	"unreachable": func(c *cluster, well bool) { c.reachable = well },
}

// An API that comes and goes costs the cluster no more than one that is never reached: 1/30 of the time, and a minute for each of the
// first, shorter waits.
func TestAnAPIThatComesAndGoesIsBounded(t *testing.T) {
	never := &cluster{served: true}
	never.run(noon, 4*time.Hour, nil)
	if early := 5 * time.Minute; never.down > 4*time.Hour/30+early {
		t.Fatalf("an API that is never reached is registered for %s", never.down)
	}
	for name, set := range gaps {
		for period := 2 * time.Second; period <= 2*time.Minute; period += time.Second {
			for _, up := range []time.Duration{period, time.Second} {
				if c := toggled(up, period, set); c.down > never.down {
					t.Errorf("%s after well for %s, for %s: registered and down for %s, want %s at most", name, up, period, c.down, never.down)
				}
			}
		}
	}
}

// Gaps as a rollout has them, each after the API has been proven, are no reason to unregister it.
func TestShortGapsFarApartAreNoFailure(t *testing.T) {
	for name, set := range gaps {
		for gap := time.Second; gap < servedGrace; gap += time.Second {
			if c := toggled(provenAfter+time.Second, gap, set); c.registrations != 1 || c.memory.failures != 0 || !c.registered {
				t.Errorf("%s for %s: registered %d times, %d failures", name, gap, c.registrations, c.memory.failures)
			}
		}
	}
}

// Gaps count together until the API has been available for ten minutes without one.
func TestGapsAddUp(t *testing.T) {
	for _, tc := range []struct {
		reason string
		seen   observation
		memory memory
		want   decision
	}{
		{"a gap that continues", well(unserved), memory{down: true, outage: 50 * time.Second, counted: ago(5 * time.Second), unserved: ago(5 * time.Second)}, decision{register: true, recheck: 5 * time.Second}},
		{"the last gap ended", well(), memory{down: true, outage: 50 * time.Second, counted: ago(9 * time.Second)}, decision{register: true}},
		{"too long, and not served", well(unserved), memory{down: true, outage: 50 * time.Second, counted: ago(10 * time.Second)}, decision{cause: causeNotServed, recheck: time.Minute}},
		{"too long, and not reached", well(failing), memory{down: true, outage: 50 * time.Second, counted: ago(10 * time.Second)}, decision{cause: causeUnreachable, recheck: time.Minute}},
		{"too long, and over", well(), memory{down: true, gap: causeNotServed, outage: 50 * time.Second, counted: ago(10 * time.Second)}, decision{cause: causeNotServed, recheck: time.Minute}},
		{"too long once more", well(unserved), memory{outage: time.Minute, failures: 2}, decision{cause: causeNotServed, recheck: 4 * time.Minute}},
		{"too long, and gone in the same moment", well(unserved), memory{down: true, outage: 45 * time.Second, counted: ago(servedGrace), unserved: ago(servedGrace)}, decision{cause: causeNotServed, recheck: time.Minute}},
		{"unregistered meanwhile: that does not count", well(), memory{outage: 50 * time.Second, counted: ago(time.Hour)}, decision{register: true}},
		{"a gap that is noticed late", well(failing, answered(25*time.Second)), memory{looked: true, outage: 20 * time.Second}, decision{register: true, recheck: 15 * time.Second}},
		{"what is noticed late is not counted twice", well(failing, answered(25*time.Second)), memory{looked: true, outage: 20 * time.Second, counted: ago(5 * time.Second)}, decision{register: true, recheck: 35 * time.Second}},
		{"available for ten minutes", well(unserved), memory{outage: 50 * time.Second, available: ago(provenAfter)}, decision{register: true, recheck: servedGrace}},
		{"not for ten minutes", well(unserved), memory{outage: 50 * time.Second, available: ago(provenAfter - time.Second)}, decision{register: true, recheck: 10 * time.Second}},
		{"the clock was set back", well(unserved), memory{down: true, outage: 50 * time.Second, counted: noon.Add(time.Hour)}, decision{register: true, recheck: 10 * time.Second}},
		{"waiting, not served", well(absent, unserved), memory{cause: causeNotServed, retryAt: noon.Add(time.Second)}, decision{cause: causeNotServed, recheck: time.Second}},
		{"the gaps of somebody else", well(failing, func(o *observation) { o.holder = "x" }), memory{outage: time.Minute}, decision{cause: causeNameTaken, holder: "x"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if got, _ := decide(tc.seen, tc.memory, noon); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
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
	for _, c := range []cause{causeUnreachable, causeNotServed} {
		if got := (decision{cause: c, recheck: 4 * time.Minute}).sentence(o); !strings.Contains(got, "again in 4m0s") {
			t.Errorf("%q does not say when it is tried again", got)
		}
	}
	if got, want := (decision{cause: causeNotServed}).sentence(o), "registered again as soon as"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q in it", got, want)
	}
}
