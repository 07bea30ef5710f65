// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acme/platform-operator/internal/database/result"
)

// counting makes fresh1, fresh2, ...
func counting() func() string {
	n := 0
	return func() string {
		n++
		return fmt.Sprintf("fresh%d", n)
	}
}

// steady are accounts at rest, and what belongs to them.
func steady() credentials {
	return credentials{
		now: time.Unix(1000, 0), kind: result.Postgres, user: "app", shown: login{"app", "one"},
		have:   accounts{admin: "root", slots: [2]password{{"one", "r1"}}, current: slotA},
		inside: map[slot]applied{slotA: {revision: "r1", inForce: true}},
	}
}

func TestDecideCredentials(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*credentials)
		want   func(*verdict)
	}{
		"at rest": {func(*credentials) {}, func(*verdict) {}},
		"the agent does not answer": {
			func(c *credentials) { c.inside = nil },
			func(v *verdict) { v.pending = true },
		},
		"the connection Secret was deleted": {
			func(c *credentials) { c.shown = login{} },
			func(*verdict) {},
		},
		"its user was changed": {
			func(c *credentials) { c.shown.user = "mallory" },
			func(*verdict) {},
		},
		"its password was emptied": {
			func(c *credentials) { c.shown.password = "" },
			func(*verdict) {},
		},
		"its password was edited": {
			func(c *credentials) { c.shown.password = "two" },
			func(v *verdict) {
				v.accounts.slots[0], v.accounts.last, v.pending = password{"two", "fresh1"}, "one", true
				v.show.password = "two"
			},
		},
		"the edited password came into force": {
			func(c *credentials) {
				c.have.slots[0], c.have.last, c.shown.password = password{"two", "r2"}, "one", "two"
				c.inside[slotA] = applied{revision: "r2", inForce: true}
			},
			func(v *verdict) {
				v.accounts.slots[0], v.accounts.last = password{"two", "r2"}, ""
				v.show.password = "two"
			},
		},
		"the edited password is rejected": {
			func(c *credentials) {
				c.have.slots[0], c.have.last, c.shown.password = password{"two", "r2"}, "one", "two"
				c.inside[slotA] = applied{revision: "r1", trouble: "too short"}
			},
			func(v *verdict) {
				v.accounts.slots[0], v.accounts.last, v.trouble = password{"two", "r2"}, "one", "too short"
				v.show.password = "two"
			},
		},
		"the edited password is rejected, and the Secret deleted": {
			func(c *credentials) {
				c.have.slots[0], c.have.last, c.shown = password{"two", "r2"}, "one", login{}
				c.inside[slotA] = applied{revision: "r1", trouble: "too short"}
			},
			func(v *verdict) {
				v.accounts.slots[0], v.trouble = password{"one", "fresh1"}, "too short"
			},
		},
		"the edited password is rejected, and the former one written again": {
			func(c *credentials) {
				c.have.slots[0], c.have.last = password{"two", "r2"}, "one"
				c.inside[slotA] = applied{revision: "r1", trouble: "too short"}
			},
			func(v *verdict) { v.accounts.slots[0], v.trouble = password{"one", "fresh1"}, "too short" },
		},
		"the spec has another password": {
			func(c *credentials) { c.fixed = "chosen" },
			func(v *verdict) {
				v.accounts.slots[0], v.accounts.last, v.pending = password{"chosen", "fresh1"}, "one", true
			},
		},
		"the spec has a password, and the Secret was edited": {
			func(c *credentials) { c.fixed, c.shown.password = "one", "two" },
			func(*verdict) {},
		},
		"a rotation is requested": {
			func(c *credentials) { c.request = "now" },
			func(v *verdict) { v.accounts.slots[1], v.accounts.request = password{"fresh1", "fresh2"}, "now" },
		},
		"a rotation whose password is not in force": {
			func(c *credentials) {
				c.request, c.have.request, c.have.slots[1] = "now", "now", password{"two", "r2"}
				c.inside[slotB] = applied{revision: "r0", inForce: true}
			},
			func(v *verdict) { v.accounts.slots[1], v.accounts.request = password{"two", "r2"}, "now" },
		},
		"a rotation whose password is in force": {
			func(c *credentials) {
				c.request, c.have.request, c.have.slots[1] = "now", "now", password{"two", "r2"}
				c.inside[slotB] = applied{revision: "r2", inForce: true}
			},
			func(v *verdict) {
				v.accounts.slots[1], v.accounts.current, v.accounts.granted = password{"two", "r2"}, slotB, "now"
				v.show = login{"app_b", "two"}
			},
		},
		"a rotation that was done, and not recorded in the status": {
			func(c *credentials) { c.request, c.have.granted = "now", "now" },
			func(v *verdict) { v.accounts.granted = "now" },
		},
		"a rotation that was granted, and the Secret lost since": {
			func(c *credentials) { c.request, c.granted = "now", "now" },
			func(*verdict) {},
		},
		"the annotation of a request is taken back, whose time stays": {
			func(c *credentials) {
				c.request, c.granted, c.have.granted = "2026-01-01T00:00:00Z ", "2026-01-01T00:00:00Z x", "2026-01-01T00:00:00Z x"
			},
			func(v *verdict) { v.accounts.granted = "2026-01-01T00:00:00Z x" },
		},
		"the time of a request is taken back, whose annotation stays": {
			func(c *credentials) {
				c.request, c.granted, c.have.granted = "x", "2026-01-01T00:00:00Z x", "2026-01-01T00:00:00Z x"
			},
			func(v *verdict) { v.accounts.granted = "2026-01-01T00:00:00Z x" },
		},
		"a request has another time": {
			func(c *credentials) {
				c.request, c.granted, c.have.granted = "2026-01-02T00:00:00Z x", "2026-01-01T00:00:00Z x", "2026-01-01T00:00:00Z x"
			},
			func(v *verdict) {
				v.accounts.slots[1], v.accounts.request = password{"fresh1", "fresh2"}, "2026-01-02T00:00:00Z x"
				v.accounts.granted = "2026-01-01T00:00:00Z x"
			},
		},
		"the overlap is not over": {
			func(c *credentials) {
				c.have.slots[1], c.overlap, c.rotatedAt = password{"old", "r0"}, time.Minute, time.Unix(941, 0)
			},
			func(v *verdict) { v.accounts.slots[1], v.due = password{"old", "r0"}, time.Unix(1001, 0) },
		},
		"the overlap is over": {
			func(c *credentials) {
				c.have.slots[1], c.overlap, c.rotatedAt = password{"old", "r0"}, time.Minute, time.Unix(940, 0)
			},
			func(*verdict) {},
		},
		"the administration Secret was deleted": {
			func(c *credentials) { c.have = parseAccounts(nil) },
			func(v *verdict) {
				v.accounts.admin, v.accounts.slots[0] = "fresh1", password{"one", "fresh2"}
				v.pending = true
			},
		},
		"it was deleted after a rotation": {
			func(c *credentials) { c.have, c.shown = parseAccounts(nil), login{"app_b", "two"} },
			func(v *verdict) {
				v.accounts = accounts{admin: "fresh1", current: slotB}
				v.accounts.slots[1], v.pending, v.show = password{"two", "fresh2"}, true, login{"app_b", "two"}
			},
		},
		"a new database": {
			func(c *credentials) { c.have, c.shown, c.inside = parseAccounts(nil), login{}, nil },
			func(v *verdict) {
				v.accounts.admin, v.accounts.slots[0] = "fresh1", password{"fresh2", "fresh3"}
				v.show.password, v.pending = "fresh2", true
			},
		},
		"a new database with a password": {
			func(c *credentials) { c.have, c.shown, c.inside, c.fixed = parseAccounts(nil), login{}, nil, "root" },
			func(v *verdict) {
				v.accounts.admin, v.accounts.slots[0] = "fresh1", password{"root", "fresh2"}
				v.show.password, v.pending = "root", true
			},
		},
		"one over retained data, whose spec asks for a rotation": {
			func(c *credentials) { c.shown, c.inside, c.request, c.have.granted = login{}, nil, "now", "now" },
			func(v *verdict) { v.accounts.granted, v.pending = "now", true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := steady()
			want := verdict{accounts: c.have, show: c.shown}
			tt.change(&c)
			tt.want(&want)
			if diff := cmp.Diff(want, decideCredentials(c, counting()), cmp.AllowUnexported(verdict{}, accounts{}, password{}, login{})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestAccountsAreReadAsTheyWereWritten(t *testing.T) {
	for _, a := range []accounts{
		{current: slotA},
		{admin: "x", slots: [2]password{{"p", "1"}}, current: slotA},
		{admin: "x", slots: [2]password{{"p", "1"}, {"q", "2"}}, current: slotB, last: "o", request: "r", granted: "g"},
	} {
		if diff := cmp.Diff(a, parseAccounts(a.data()), cmp.AllowUnexported(accounts{}, password{})); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}

func TestJudgeClaim(t *testing.T) {
	const mark = "database/ns/db"
	for name, tt := range map[string]struct {
		view claimView
		want claimState
	}{
		"nothing yet":                                     {claimView{}, claimMissing},
		"the one that is recorded":                        {claimView{recorded: "1", uid: "1"}, claimOurs},
		"the recorded one, without its marks":             {claimView{recorded: "1", uid: "1", volumeOf: "database/ns/other"}, claimOurs},
		"the recorded one is gone":                        {claimView{recorded: "1"}, claimLost},
		"another one in place of the recorded one":        {claimView{recorded: "1", uid: "2", marked: true}, claimLost},
		"another one, whose volume is the recorded one's": {claimView{recorded: "1", uid: "2", volumeOf: mark, volumeFor: "2"}, claimRetained},
		"created, and not recorded":                       {claimView{uid: "1", marked: true}, claimOurs},
		"created, bound and not recorded":                 {claimView{uid: "1", marked: true, volumeOf: mark, volumeFor: "1"}, claimRetained},
		"marked, over the volume of another Database":     {claimView{uid: "1", marked: true, volumeOf: "database/ns/other", volumeFor: "1"}, claimForeign},
		"retained": {claimView{uid: "1", volumeOf: mark, volumeFor: "1"}, claimRetained},
		"one that names a volume that is bound to another": {claimView{uid: "1", volumeOf: mark, volumeFor: "2"}, claimForeign},
		"somebody else's":                                   {claimView{uid: "1"}, claimForeign},
		"somebody else's, and the author wants it":          {claimView{uid: "1", consent: true}, claimAdopted},
		"retained by another Database":                      {claimView{uid: "1", volumeOf: "database/other/db", volumeFor: "1"}, claimForeign},
		"retained by another, and the author wants it here": {claimView{uid: "1", volumeOf: "database/other/db", volumeFor: "1", consent: true}, claimAdopted},
	} {
		t.Run(name, func(t *testing.T) {
			tt.view.mark = mark
			if got := judgeClaim(tt.view); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
