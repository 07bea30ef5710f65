// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	noon   = time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC)
	podA   = identity{"a", "uid-a"}
	podB   = identity{"b", "uid-b"}
	before = noon.Add(-time.Hour)
)

// candidate is a pod that may lead, changed by functions.
func candidate(id identity, with ...func(*pod)) pod {
	p := pod{identity: id, version: "1", selected: true, ready: true, since: before, template: before}
	for _, w := range with {
		w(&p)
	}
	return p
}

func leads(epoch int64) func(*pod) {
	return func(p *pod) { p.labelled, p.mark = true, mark{markLeader, epoch} }
}
func fencedAt(epoch int64) func(*pod) { return func(p *pod) { p.mark = mark{markFenced, epoch} } }
func formerAt(epoch int64) func(*pod) { return func(p *pod) { p.mark = mark{markFormer, epoch} } }
func labelled(p *pod)                 { p.labelled = true }
func unselected(p *pod)               { p.selected = false }
func ended(p *pod)                    { p.ended = true }
func deletedAt(at time.Time) func(*pod) {
	return func(p *pod) { p.deleted = at }
}

func notReadySince(at time.Time) func(*pod) {
	return func(p *pod) { p.ready, p.since = false, at }
}
func readySince(at time.Time) func(*pod)   { return func(p *pod) { p.since = at } }
func weighs(score int64) func(*pod)        { return func(p *pod) { p.score = score } }
func ofTemplate(at time.Time) func(*pod)   { return func(p *pod) { p.template = at } }
func held(epoch int64, id identity) ledger { return ledger{exists: true, epoch: epoch, holder: id} }

// fresh is a ledger that was created, and not written yet.
var fresh = ledger{exists: true, empty: true}

func revoked(epoch int64, id identity) ledger {
	return ledger{exists: true, epoch: epoch, revoking: id}
}

// sticky are the rules by default.
var sticky = rules{notReadyFor: 5 * time.Second, failback: -1}

func TestDecide(t *testing.T) {
	stops, takes, fails := sticky, sticky, sticky
	stops.stop = true
	takes.stop, takes.takeAfter = true, 2*time.Minute
	fails.failback = 5 * time.Minute
	pods := func(p ...pod) []pod { return p }
	type want struct {
		do     verb
		pod    string
		epoch  int64
		reason string
		due    time.Time
	}
	for name, c := range map[string]struct {
		view
		want
	}{
		"there is no ledger": {
			view{pods: pods(candidate(podA, leads(7))), known: 7}, want{do: create},
		},
		"the ledger is new": {
			view{ledger: fresh, pods: pods(candidate(podA))}, want{do: rebuild, epoch: 1, reason: reasonFirst},
		},
		"the ledger was lost: above all marks": {
			view{ledger: fresh, pods: pods(candidate(podA, leads(7)), candidate(podB, fencedAt(6))), known: 5}, want{do: rebuild, pod: "a", epoch: 8, reason: reasonLedgerLost},
		},
		"the ledger was lost, and a rebuilding has ended before it was written": {
			view{ledger: fresh, pods: pods(candidate(podB, fencedAt(8)), candidate(podA, formerAt(8)), candidate(identity{"c", "c"}, leads(5)))},
			want{do: rebuild, pod: "a", epoch: 9, reason: reasonLedgerLost},
		},
		"what the ledger says of a revocation is kept": {
			view{ledger: revoked(3, podA), pods: pods(candidate(podA, fencedAt(3)), candidate(podB, fencedAt(7)))},
			want{do: rebuild, pod: "a", epoch: 8, reason: reasonLedgerLost},
		},
		"unless a pod has led since": {
			view{ledger: revoked(3, podA), pods: pods(candidate(podA, fencedAt(9)), candidate(podB, leads(7)))},
			want{do: rebuild, pod: "b", epoch: 10, reason: reasonLedgerLost},
		},
		"the leader is the last that led, and not one whose end nobody awaits any more": {
			view{ledger: fresh, pods: pods(candidate(podA, formerAt(3)), candidate(podB, leads(3)))}, want{do: rebuild, pod: "b", epoch: 4, reason: reasonLedgerLost},
		},
		"the former leader of a ledger that was rebuilt is fenced already": {
			view{ledger: revoked(8, podA), rules: stops, pods: pods(candidate(podA, formerAt(8)), candidate(podB))}, want{do: remove, pod: "a"},
		},
		"the ledger was lost, and so are the pods: above the status": {
			view{ledger: fresh, known: 9}, want{do: rebuild, epoch: 10, reason: reasonLedgerLost},
		},
		"the ledger is damaged": {
			view{ledger: ledger{exists: true, damaged: true, epoch: 3}}, want{do: rebuild, epoch: 4, reason: reasonLedgerLost},
		},
		"the status is higher than the ledger, and the pods are gone": {
			view{ledger: held(2, podA), known: 5, pods: pods(candidate(podA))}, want{do: rebuild, epoch: 6, reason: reasonLedgerLost},
		},
		"the clock of the leader's node is ahead": {
			view{ledger: held(2, podA), pods: pods(candidate(podA, leads(2), notReadySince(noon.Add(time.Hour))), candidate(podB))},
			want{do: rest, pod: "a", epoch: 2, due: noon.Add(5 * time.Second)},
		},
		"the clock of the leader's node is ahead, and it is not Ready for too long": {
			view{
				ledger: held(2, podA), notReady: noon.Add(-5 * time.Second),
				pods: pods(candidate(podA, leads(2), notReadySince(noon.Add(time.Hour))), candidate(podB)),
			},
			want{do: revoke, pod: "a", epoch: 3, reason: reasonNotReady},
		},
		"a mark is higher than the ledger": {
			view{ledger: held(2, podA), pods: pods(candidate(podA, leads(2)), candidate(podB, fencedAt(3)))},
			want{do: rebuild, pod: "a", epoch: 4, reason: reasonLedgerLost},
		},
		"another pod leads in the same epoch": {
			view{ledger: held(2, podA), pods: pods(candidate(podA), candidate(podB, leads(2)))},
			want{do: rebuild, pod: "b", epoch: 3, reason: reasonLedgerLost},
		},
		"all is well": {
			view{ledger: held(2, podA), pods: pods(candidate(podA, leads(2)), candidate(podB))}, want{do: rest, pod: "a", epoch: 2},
		},
		"the label was moved by hand": {
			view{ledger: held(2, podA), pods: pods(candidate(podA, fencedAt(2)), candidate(podB, labelled))}, want{do: fence, pod: "b", epoch: 2},
		},
		"a pod that is not selected has the label": {
			view{ledger: held(2, podA), pods: pods(candidate(podA, leads(2)), candidate(podB, labelled, unselected))}, want{do: fence, pod: "b", epoch: 2},
		},
		"the holder lacks the label": {
			view{ledger: held(2, podA), pods: pods(candidate(podA, fencedAt(2)))}, want{do: promote, pod: "a", epoch: 2},
		},
		"the holder lacks the mark": {
			view{ledger: held(2, podA), pods: pods(candidate(podA, labelled))}, want{do: promote, pod: "a", epoch: 2},
		},
		"the holder is gone": {
			view{ledger: held(2, podA), pods: pods(candidate(podB))}, want{do: revoke, pod: "a", epoch: 3, reason: reasonGone},
		},
		"a pod of the same name is another one": {
			view{ledger: held(2, podA), pods: pods(candidate(identity{"a", "uid-new"}))}, want{do: revoke, pod: "a", epoch: 3, reason: reasonGone},
		},
		"the holder terminates": {
			view{ledger: held(2, podA), pods: pods(candidate(podA, leads(2), deletedAt(noon.Add(time.Minute))))},
			want{do: revoke, pod: "a", epoch: 3, reason: reasonTerminating},
		},
		"the holder has ended": {
			view{ledger: held(2, podA), pods: pods(candidate(podA, leads(2), ended))}, want{do: revoke, pod: "a", epoch: 3, reason: reasonEnded},
		},
		"the holder is not selected any more": {
			view{ledger: held(2, podA), pods: pods(candidate(podA, leads(2), unselected))}, want{do: revoke, pod: "a", epoch: 3, reason: reasonNotSelected},
		},
		"the holder is not Ready, but not for long": {
			view{ledger: held(2, podA), pods: pods(candidate(podA, leads(2), notReadySince(noon.Add(-4*time.Second))), candidate(podB))},
			want{do: rest, pod: "a", epoch: 2, due: noon.Add(time.Second)},
		},
		"the holder is not Ready for too long, also while nobody looked": {
			view{ledger: held(2, podA), pods: pods(candidate(podA, leads(2), notReadySince(noon.Add(-5*time.Second))), candidate(podB))},
			want{do: revoke, pod: "a", epoch: 3, reason: reasonNotReady},
		},
		"a hand-over is requested": {
			view{ledger: held(2, podA), request: "sam: maintenance", pods: pods(candidate(podA, leads(2)), candidate(podB))},
			want{do: revoke, pod: "a", epoch: 3, reason: reasonRequested},
		},
		"the request was granted": {
			view{ledger: ledger{exists: true, epoch: 2, holder: podA, record: record{request: "x"}}, request: "x", pods: pods(candidate(podA, leads(2)), candidate(podB))},
			want{do: rest, pod: "a", epoch: 2},
		},
		"the request was granted, by a ledger that is gone": {
			view{ledger: held(2, podA), request: "x", granted: "x", pods: pods(candidate(podA, leads(2)), candidate(podB))},
			want{do: rest, pod: "a", epoch: 2},
		},
		"a hand-over is requested, and there is nobody else": {
			view{ledger: held(2, podA), request: "x", pods: pods(candidate(podA, leads(2)), candidate(podB, notReadySince(before)))},
			want{do: rest, pod: "a", epoch: 2},
		},
		"a better candidate, and no failback": {
			view{ledger: held(2, podA), pods: pods(candidate(podA, leads(2)), candidate(podB, weighs(10)))}, want{do: rest, pod: "a", epoch: 2},
		},
		"a better candidate is Ready for long enough": {
			view{ledger: held(2, podA), rules: fails, pods: pods(candidate(podA, leads(2)), candidate(podB, weighs(10)))},
			want{do: revoke, pod: "a", epoch: 3, reason: reasonFailback},
		},
		"a better candidate, not yet": {
			view{ledger: held(2, podA), rules: fails, pods: pods(candidate(podA, leads(2)), candidate(podB, weighs(10), readySince(noon.Add(-time.Minute))))},
			want{do: rest, pod: "a", epoch: 2, due: noon.Add(4 * time.Minute)},
		},
		"an equal candidate is no better one": {
			view{ledger: held(2, podA), rules: fails, pods: pods(candidate(podA, leads(2), weighs(10)), candidate(podB, weighs(10)))},
			want{do: rest, pod: "a", epoch: 2},
		},
		"the old one is fenced": {
			view{ledger: revoked(3, podA), pods: pods(candidate(podA, leads(2)), candidate(podB))}, want{do: fence, pod: "a", epoch: 3},
		},
		"the old one is fenced also without a label": {
			view{ledger: revoked(3, podA), pods: pods(candidate(podA, fencedAt(2)), candidate(podB))}, want{do: fence, pod: "a", epoch: 3},
		},
		"the old one is fenced again if it gets the label": {
			view{ledger: revoked(3, podA), pods: pods(candidate(podA, fencedAt(3), labelled), candidate(podB))}, want{do: fence, pod: "a", epoch: 3},
		},
		"then there is a new one": {
			view{ledger: revoked(3, podA), pods: pods(candidate(podA, fencedAt(3)), candidate(podB))}, want{do: choose, pod: "b", epoch: 3},
		},
		"the same one if there is no other": {
			view{ledger: revoked(3, podA), pods: pods(candidate(podA, fencedAt(3)))}, want{do: choose, pod: "a", epoch: 3},
		},
		"the old one is gone": {
			view{ledger: revoked(3, podA), pods: pods(candidate(podB))}, want{do: choose, pod: "b", epoch: 3},
		},
		"nobody is Ready": {
			view{ledger: revoked(3, podA), pods: pods(candidate(podB, notReadySince(before)), candidate(identity{"c", "c"}, deletedAt(noon)), candidate(identity{"d", "d"}, ended))},
			want{do: await, reason: ReasonNoCandidate},
		},
		"the old one is deleted": {
			view{ledger: revoked(3, podA), rules: stops, pods: pods(candidate(podA, formerAt(3)), candidate(podB))}, want{do: remove, pod: "a"},
		},
		"a mark that does not say that it has led is no fence": {
			view{ledger: revoked(3, podA), rules: stops, pods: pods(candidate(podA, fencedAt(3)), candidate(podB))}, want{do: fence, pod: "a", epoch: 3},
		},
		"but fenced before": {
			view{ledger: revoked(3, podA), rules: stops, pods: pods(candidate(podA, leads(2)), candidate(podB))}, want{do: fence, pod: "a", epoch: 3},
		},
		"the end of the old one is awaited": {
			view{ledger: revoked(3, podA), rules: stops, pods: pods(candidate(podA, formerAt(3), deletedAt(noon.Add(30*time.Second))), candidate(podB))},
			want{do: await, pod: "a", reason: ReasonOldStillStopping, due: noon.Add(time.Minute)},
		},
		"for ever": {
			view{ledger: revoked(3, podA), rules: stops, pods: pods(candidate(podA, formerAt(3), deletedAt(before)), candidate(podB))},
			want{do: await, pod: "a", reason: ReasonNodeUnreachable},
		},
		"or until it counts as lost": {
			view{ledger: revoked(3, podA), rules: takes, pods: pods(candidate(podA, formerAt(3), deletedAt(noon.Add(-time.Minute))), candidate(podB))},
			want{do: await, pod: "a", reason: ReasonNodeUnreachable, due: noon.Add(time.Minute)},
		},
		"then another one leads": {
			view{ledger: revoked(3, podA), rules: takes, pods: pods(candidate(podA, formerAt(3), deletedAt(before)), candidate(podB))},
			want{do: choose, pod: "b", epoch: 3},
		},
		"the heaviest is chosen": {
			view{ledger: ledger{exists: true, epoch: 1}, pods: pods(candidate(podA), candidate(podB, weighs(1)))}, want{do: choose, pod: "b", epoch: 1},
		},
		"or one of the newest template": {
			view{ledger: ledger{exists: true, epoch: 1}, pods: pods(candidate(podA), candidate(podB, ofTemplate(noon), readySince(noon)))}, want{do: choose, pod: "b", epoch: 1},
		},
		"or the one that is Ready for longest": {
			view{ledger: ledger{exists: true, epoch: 1}, pods: pods(candidate(podA), candidate(podB, readySince(before.Add(-time.Second))))},
			want{do: choose, pod: "b", epoch: 1},
		},
		"or the first by name": {
			view{ledger: ledger{exists: true, epoch: 1}, pods: pods(candidate(podB), candidate(podA))}, want{do: choose, pod: "a", epoch: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := c.view
			v.now = noon
			if v.rules == (rules{}) {
				v.rules = sticky
			}
			a := decide(v)
			if diff := cmp.Diff(c.want, want{a.do, a.pod.name, a.epoch, a.reason, a.due}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("decide: -want +got\n%s", diff)
			}
			if confirms := a.do == promote || a.do == rebuild; a.confirm != confirms {
				t.Errorf("%s confirms the ledger: %t", a.do, a.confirm)
			}
		})
	}
}

// TestFencing: the mark of a pod that has led is a record of that as long as its end has to be awaited.
func TestFencing(t *testing.T) {
	stops := rules{stop: true}
	for name, c := range map[string]struct {
		view
		pod
		want markKind
	}{
		"the one that is revoked":      {view{ledger: revoked(3, podA), rules: stops}, candidate(podA), markFormer},
		"one that leads by its mark":   {view{ledger: held(3, podB), rules: stops}, candidate(podA, leads(2)), markFormer},
		"one that has led":             {view{rules: stops}, candidate(podA, formerAt(2)), markFormer},
		"one that has never led":       {view{ledger: revoked(3, podB), rules: stops}, candidate(podA, fencedAt(2), labelled), markFenced},
		"if no end is awaited":         {view{ledger: revoked(3, podA)}, candidate(podA, leads(2)), markFenced},
		"nor that of a former one":     {view{}, candidate(podA, formerAt(2)), markFenced},
		"one of the holder's own name": {view{ledger: revoked(3, identity{"a", "former"}), rules: stops}, candidate(podA), markFenced},
	} {
		if got := c.view.fencing(&c.pod, 5); got != (mark{c.want, 5}) {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
