// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/acme/platform-operator/internal/database/result"
)

// world is a state of the two Secrets, of the database, and of what users have done. It is comparable.
type world struct {
	have                     accounts
	shown                    login
	theirs                   bool // the connection Secret was written by a user since the operator wrote it
	inside                   [2]password
	trouble                  [2]bool // the agent could not apply the password of the slot
	started                  bool    // the database exists
	request                  int     // how many rotations were requested
	granted                  string  // as the status has it
	old                      login   // what worked before the last rotation, and has to work still
	amnesia                  bool    // both Secrets were deleted at once: there is nothing to rebuild them from
	made                     int     // passwords and revisions
	edits, deletions, losses int
}

// rejected is a password that the database does not accept.
const rejected = "rejected"

// limits are how much users do.
type limits struct{ edits, deletions, losses, rotations int }

// view is what the operator sees.
func (w world) view() credentials {
	c := credentials{kind: result.Postgres, user: "app", have: w.have, shown: w.shown, granted: w.granted}
	if w.request > 0 {
		c.request = fmt.Sprint("request", w.request)
	}
	if !w.started {
		return c
	}
	c.inside = map[slot]applied{}
	for i, s := range []slot{slotA, slotB} {
		is := applied{revision: w.inside[i].revision, inForce: w.inside[i] == *w.have.of(s)}
		if w.trouble[i] {
			is.trouble = rejected
		}
		c.inside[s] = is
	}
	return c
}

// operate is a run of the operator that ends after some of its writes.
func (w world) operate(writes int) world {
	v := decideCredentials(w.view(), func() string { w.made++; return fmt.Sprint("fresh", w.made) })
	if w.have.current != v.accounts.current && v.accounts.granted != w.have.granted {
		w.old = w.shown
	}
	if v.accounts.request != "" && w.have.request == "" { // a new rotation ends what the one before has left
		w.old = login{}
	}
	w.have = v.accounts
	if writes > 1 && w.shown != v.show {
		w.shown, w.theirs = v.show, false
	}
	if writes > 2 && v.accounts.granted != "" {
		w.granted = v.accounts.granted
	}
	return w
}

// apply is what the agent does.
func (w world) apply() world {
	for i, s := range []slot{slotA, slotB} {
		want := *w.have.of(s)
		w.trouble[i] = want.text == rejected
		if !w.trouble[i] {
			w.inside[i], w.started = want, w.started || s == slotA && want.text != ""
		}
	}
	return w
}

// next calls do with all worlds that may follow.
func (w world) next(l limits, do func(string, world)) {
	for writes := 1; writes <= 3; writes++ {
		do(fmt.Sprintf("the operator, %d writes", writes), w.operate(writes))
	}
	if w.have.admin != "" {
		do("the agent", w.apply())
	}
	if w.edits < l.edits && w.shown != (login{}) {
		for _, text := range []string{"edited", rejected} {
			x := w
			x.edits, x.shown.password, x.theirs, x.amnesia = w.edits+1, text, true, w.amnesia || w.have.admin == ""
			do("an edit: "+text, x)
		}
	}
	if w.deletions < l.deletions && w.shown != (login{}) {
		x := w
		x.deletions, x.shown, x.theirs, x.amnesia = w.deletions+1, login{}, false, w.amnesia || w.have.admin == ""
		do("the connection Secret is deleted", x)
	}
	if w.losses < l.losses && w.have.admin != "" {
		x := w
		x.losses, x.have, x.old = w.losses+1, parseAccounts(nil), login{}
		x.amnesia = w.amnesia || w.shown == login{} || w.theirs
		do("the administration Secret is deleted", x)
	}
	if w.request < l.rotations {
		x := w
		x.request++
		do("a rotation is requested", x)
	}
}

// wrong is what a world must not be.
func (w world) wrong() string {
	works := func(l login) bool {
		return l == login{"app", w.inside[0].text} || l == login{"app_b", w.inside[1].text}
	}
	switch {
	case !w.started || w.amnesia:
		return ""
	case w.shown != (login{}) && !w.theirs && !works(w.shown):
		return "the connection Secret has a password that does not work"
	case w.old != (login{}) && !w.theirs && w.edits == 0 && !works(w.old):
		return "the password from before the rotation does not work any more"
	case w.have.admin != "" && w.have.of(w.have.current).text == "":
		return "the current account has no password"
	}
	return ""
}

// search explores all worlds, and returns the shortest way to one that is wrong.
func search(l limits, depth int) (way []string, worlds int) {
	type visited struct {
		world
		from int
		by   string
		deep int
	}
	all, known := []visited{{world{have: parseAccounts(nil)}, -1, "", 0}}, map[world]bool{}
	for i := 0; i < len(all); i++ {
		if wrong := all[i].wrong(); wrong != "" {
			for at := i; at > 0; at = all[at].from {
				way = append(way, fmt.Sprintf("%s: %+v", all[at].by, all[at].world))
			}
			slices.Reverse(way)
			return append(way, wrong), len(all)
		}
		if all[i].deep == depth {
			continue
		}
		all[i].next(l, func(by string, x world) {
			if !known[x] {
				known[x] = true
				all = append(all, visited{x, i, by, all[i].deep + 1})
			}
		})
	}
	return nil, len(all)
}

func TestModelOfCredentials(t *testing.T) {
	for name, l := range map[string]limits{
		"edits":                             {edits: 3},
		"edits and a deletion":              {edits: 2, deletions: 1},
		"rotations":                         {rotations: 3},
		"rotations and a deletion":          {rotations: 2, deletions: 1},
		"rotations and a lost Secret":       {rotations: 2, losses: 1},
		"an edit in the middle of rotation": {rotations: 2, edits: 1},
		"a bit of everything":               {edits: 1, deletions: 1, losses: 1, rotations: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			way, worlds := search(l, 12)
			if way != nil {
				t.Errorf("%s", strings.Join(way, "\n"))
			}
			t.Logf("%d states", worlds)
		})
	}
}

// At the end of each way, undisturbed, the Secrets and the database agree, and what was requested is done.
func TestModelComesToRest(t *testing.T) {
	ends := 0
	for _, first := range []limits{{rotations: 1}, {edits: 1}, {losses: 1, rotations: 1}, {deletions: 1, edits: 1}} {
		known := map[world]bool{}
		var explore func(world, int)
		explore = func(w world, deep int) {
			if known[w] {
				return
			}
			known[w] = true
			end := w
			for range 6 {
				end = end.operate(3).apply()
			}
			ends++
			last := end.operate(3).apply()
			if last.made = end.made; last != end {
				t.Fatalf("it does not rest: %+v\nthen %+v", end, last)
			}
			if c := end.view(); end.shown.password != rejected && (!c.isInForce(end.have, end.have.current) || end.have.last != "" || end.have.request != "") {
				t.Fatalf("it rests where it should not: %+v", end)
			}
			if deep > 0 {
				w.next(first, func(_ string, x world) { explore(x, deep-1) })
			}
		}
		explore(world{have: parseAccounts(nil)}, 12)
	}
	if ends < 150 {
		t.Errorf("looked at %d ways only", ends)
	}
}
