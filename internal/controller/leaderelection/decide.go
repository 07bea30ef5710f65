// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"cmp"
	"slices"
	"time"
)

// This file is the protocol: what is observed, and the one action that follows from it. After each action everything is
// observed again. model_test.go explores all interleavings of several operators that decide by it; docs/adr/0041 says why
// each rule is needed.

// identity identifies a pod. A name alone does not: a StatefulSet gives it to the next pod, too.
type identity struct{ name, uid string }

// ledger is what the Lease says. It is changed only with the resourceVersion that was read.
type ledger struct {
	exists bool
	// empty: it was created, and nothing is written yet. damaged: the operator cannot have written it.
	empty, damaged bool
	version        string
	// epoch grows with every hand-over. For each epoch there is one holder.
	epoch int64
	// holder is the leader, and revoking the pod that is to be fenced before there is a new one. At most one is set.
	holder, revoking identity
	record
}

// record is what the ledger remembers of the last revocation, for those who finish it.
type record struct {
	from    identity
	reason  string
	at      time.Time
	request string // the last request for a hand-over that was granted
}

// markKind is what the mark on a pod says.
type markKind string

const (
	markLeader markKind = "leader"
	markFenced markKind = "fenced"
	// markFormer is markFenced on a pod that has led and whose end has to be awaited: the ledger that says so, too, may be lost.
	markFormer markKind = "former"
)

// mark is the annotation on a pod. It changes together with the label.
type mark struct {
	kind  markKind
	epoch int64
}

// led reports whether a pod has led, and no ledger that was written since says so.
func (m mark) led() bool { return m.kind == markLeader || m.kind == markFormer }

// ledAfter reports whether a pod has led, and that later than another one. In one epoch there may be a former leader whose end
// nobody awaits any more.
func (m mark) ledAfter(other mark) bool {
	return m.led() && (!other.led() || m.epoch > other.epoch || m.epoch == other.epoch && m.kind == markLeader)
}

// pod is one pod, as the API server has it.
type pod struct {
	identity
	version  string
	labelled bool
	mark     mark
	// selected: it may lead as far as its labels and its controller go. ended: its containers do not run any more.
	selected, ended bool
	// deleted is when its deletion should have been complete; zero if it is not being deleted.
	deleted time.Time
	// ready, and since when it is or is not.
	ready bool
	since time.Time
	// score is the sum of the weights of spec.preferred, and template when the newest pod of its template was created.
	score    int64
	template time.Time
}

func (p *pod) candidate() bool { return p.selected && !p.ended && p.deleted.IsZero() }

// rules are what the spec says of hand-overs.
type rules struct {
	notReadyFor time.Duration
	stop        bool          // delete the old pod, and await its end
	takeAfter   time.Duration // after which the end of a pod that is overdue is not awaited any more; 0 is never
	failback    time.Duration // how long a better candidate is Ready before it leads; negative is never
}

// view is what one decision is based on.
type view struct {
	now    time.Time
	ledger ledger
	// pods are all that the selector selects, and of those that the ledger and the status name the ones that have led for this object.
	pods []pod
	// notReady is since when the status has recorded that the leader is not Ready; zero if it has not.
	notReady time.Time
	// known is the highest epoch that the status has recorded.
	known int64
	// request is the request for a hand-over, and granted the last one that the status has recorded.
	request, granted string
	rules
}

// verb is what to do next.
type verb string

const (
	rest    verb = "rest"    // all is as it should be
	await   verb = "await"   // something else has to happen first
	create  verb = "create"  // create the ledger, with nothing in it
	rebuild verb = "rebuild" // fence all pods, then write the ledger
	fence   verb = "fence"   // take the label off a pod, and write a mark even if it has no label
	remove  verb = "remove"  // delete the pod that is being revoked
	choose  verb = "choose"  // write the new leader into the ledger
	revoke  verb = "revoke"  // write into the ledger that the leader is none any more
	promote verb = "promote" // put label and mark on the leader
)

// action is the result of a decision.
type action struct {
	do  verb
	pod pod
	// pods are those that fence and rebuild mark, one after the other; pod is the first of them, or the one that has led last.
	pods  []pod
	epoch int64
	// confirm: only if the ledger is still the one that was read, read again after the pods.
	confirm bool
	reason  string
	// due is when to decide again, if nothing happens before; zero is never.
	due time.Time
}

// The reasons of hand-overs.
const (
	reasonFirst       = "FirstLeader"
	reasonLedgerLost  = "LedgerLost"
	reasonGone        = "PodGone"
	reasonTerminating = "PodTerminating"
	reasonEnded       = "PodEnded"
	reasonNotSelected = "NotSelected"
	reasonNotReady    = "NotReady"
	reasonRequested   = "Requested"
	reasonFailback    = "Failback"
)

// reasons are all of them.
var reasons = []string{
	reasonFirst, reasonLedgerLost, reasonGone, reasonTerminating, reasonEnded, reasonNotSelected, reasonNotReady, reasonRequested, reasonFailback,
}

// decide returns the next action.
func decide(v view) action {
	switch {
	case !v.ledger.exists:
		return action{do: create}
	case v.ledger.empty || v.disagrees():
		return v.rebuild()
	}
	if all := v.strays(); len(all) > 0 {
		return v.fence(all...)
	}
	switch none := (identity{}); {
	case v.ledger.revoking != none:
		return v.finish()
	case v.ledger.holder == none:
		return v.choose()
	default:
		return v.keep()
	}
}

// disagrees reports whether the ledger and the marks cannot both be the operator's: the status or a mark is of a higher epoch, or
// another pod than the holder leads in this one. Then either the ledger has changed since it was read, or it is not the last one: it
// was tampered with, restored from a backup, or created by a request that was late.
func (v view) disagrees() bool {
	return v.ledger.damaged || v.known > v.ledger.epoch || slices.ContainsFunc(v.pods, func(p pod) bool {
		return p.mark.epoch > v.ledger.epoch ||
			p.mark.kind == markLeader && p.mark.epoch == v.ledger.epoch && p.identity != v.ledger.holder
	})
}

// fence takes the lead from pods. To look again after each one would read all candidates as many times.
func (v view) fence(pods ...pod) action {
	return action{do: fence, pod: pods[0], pods: pods, epoch: v.ledger.epoch}
}

// fencing is the mark with which a pod loses the lead.
func (v view) fencing(p *pod, epoch int64) mark {
	if v.stop && (p.mark.led() || p.identity == v.ledger.revoking) {
		return mark{markFormer, epoch}
	}
	return mark{markFenced, epoch}
}

// rebuild starts over with an epoch that no mark has. Every pod gets a mark first, so that nobody who has read an earlier
// ledger can still write to any of them. A ledger that is missing is created before, so that it is written with its version:
// a creation that is late would succeed again after another deletion.
func (v view) rebuild() action {
	epoch := max(v.known, v.ledger.epoch)
	for _, p := range v.pods {
		epoch = max(epoch, p.mark.epoch)
	}
	a := action{do: rebuild, pods: v.pods, epoch: epoch + 1, confirm: true, reason: reasonFirst}
	if old := v.find(v.ledger.revoking); old != nil {
		a.pod = *old
	}
	for _, p := range v.pods { // the last leader, whose end may have to be awaited
		if p.mark.ledAfter(a.pod.mark) {
			a.pod = p
		}
	}
	if !v.ledger.empty || v.known > 0 || a.pod.name != "" {
		a.reason = reasonLedgerLost
	}
	return a
}

// strays returns the pods that have the label without being the holder. The one that is being revoked comes later.
func (v view) strays() (all []pod) {
	for _, p := range v.pods {
		if p.labelled && p.identity != v.ledger.holder && p.identity != v.ledger.revoking {
			all = append(all, p)
		}
	}
	return all
}

func (v view) find(id identity) *pod {
	if i := slices.IndexFunc(v.pods, func(p pod) bool { return p.identity == id }); i >= 0 {
		return &v.pods[i]
	}
	return nil
}

// finish ends a revocation: the old leader is fenced, with rules.stop also gone, before there is a new one. It is fenced by
// a real change also if it has no label: that invalidates every write to it that is under way.
func (v view) finish() action {
	old := v.find(v.ledger.revoking)
	switch {
	case old == nil:
		return v.choose()
	case old.labelled || old.mark != v.fencing(old, v.ledger.epoch):
		return v.fence(*old)
	case !v.stop:
		return v.choose()
	case old.deleted.IsZero():
		return action{do: remove, pod: *old}
	}
	return v.awaitEnd(old)
}

// unreachableAfter is how long the end of a pod may be overdue until its node counts as lost.
const unreachableAfter = 30 * time.Second

// awaitEnd waits until the old leader is gone. A kubelet that is lost never confirms that.
func (v view) awaitEnd(old *pod) action {
	a := action{do: await, pod: *old, reason: ReasonOldStillStopping, due: old.deleted.Add(unreachableAfter)}
	if a.due.After(v.now) {
		return a
	}
	a.reason, a.due = ReasonNodeUnreachable, time.Time{}
	if v.takeAfter == 0 {
		return a
	}
	if a.due = old.deleted.Add(v.takeAfter); a.due.After(v.now) {
		return a
	}
	return v.choose()
}

// choose writes the best candidate into the ledger.
func (v view) choose() action {
	if best := v.best(v.ledger.revoking); best != nil {
		return action{do: choose, pod: *best, epoch: v.ledger.epoch}
	}
	return action{do: await, reason: ReasonNoCandidate}
}

// best returns the best candidate that is Ready. The last one is chosen only if it is the only one.
func (v view) best(last identity) *pod {
	var ready []*pod
	for i := range v.pods {
		if p := &v.pods[i]; p.candidate() && p.ready {
			ready = append(ready, p)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	return slices.MinFunc(ready, func(a, b *pod) int {
		return cmp.Or(
			boolCompare(a.identity == last, b.identity == last),
			cmp.Compare(b.score, a.score),
			b.template.Compare(a.template),
			a.since.Compare(b.since),
			cmp.Compare(a.name, b.name),
		)
	})
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// keep leaves the holder the leader as long as it may be, with label and mark.
func (v view) keep() action {
	holder := v.find(v.ledger.holder)
	why, due := v.ineligible(holder)
	switch {
	case why != "":
		a := action{do: revoke, epoch: v.ledger.epoch + 1, reason: why}
		a.pod.identity = v.ledger.holder
		return a
	case !holder.labelled || holder.mark != mark{markLeader, v.ledger.epoch}:
		return action{do: promote, pod: *holder, epoch: v.ledger.epoch, confirm: true}
	}
	return action{do: rest, pod: *holder, epoch: v.ledger.epoch, due: due}
}

// ineligible returns why the holder must not lead any more, or when that may be so without anything happening before.
func (v view) ineligible(holder *pod) (why string, due time.Time) {
	switch {
	case holder == nil:
		return reasonGone, due
	case !holder.deleted.IsZero():
		return reasonTerminating, due
	case holder.ended:
		return reasonEnded, due
	case !holder.selected:
		return reasonNotSelected, due
	}
	if !holder.ready {
		if due = v.lostAt(holder).Add(v.notReadyFor); !due.After(v.now) {
			return reasonNotReady, time.Time{}
		}
	}
	if v.requested() && v.other(holder) != nil {
		return reasonRequested, time.Time{}
	}
	return v.failsBack(holder, due)
}

// lostAt is since when a pod is not Ready. The clock of its node may be ahead.
func (v view) lostAt(p *pod) time.Time {
	switch {
	case !p.since.After(v.now):
		return p.since
	case v.notReady.IsZero() || v.notReady.After(v.now):
		return v.now
	default:
		return v.notReady
	}
}

// failsBack reports whether a better candidate has been Ready for long enough.
func (v view) failsBack(holder *pod, due time.Time) (string, time.Time) {
	better := v.other(holder)
	if v.failback < 0 || better == nil || better.score <= holder.score {
		return "", due
	}
	at := better.since.Add(v.failback)
	if !at.After(v.now) {
		return reasonFailback, time.Time{}
	}
	if due.IsZero() || at.Before(due) {
		due = at
	}
	return "", due
}

// other returns the best candidate beside the holder.
func (v view) other(holder *pod) *pod {
	if best := v.best(holder.identity); best != nil && best.identity != holder.identity {
		return best
	}
	return nil
}

// requested reports whether a hand-over is requested that has not been granted yet.
func (v view) requested() bool {
	return v.request != "" && v.request != v.ledger.request && v.request != v.granted
}
