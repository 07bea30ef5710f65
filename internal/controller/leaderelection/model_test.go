// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"math/bits"
	"slices"
)

// The model explores every interleaving of several operators that act by decide, each step of which is one request: they may
// end after each of them, with a request that nobody waits for any more still under way. What an operator reads of readiness,
// and whether a hand-over is requested, is anything, each time. A Lease that is created late is there if none is then. No time passes.

const (
	modelPods = 3
	modelOps  = 3
)

// worldPod is a pod; its UID counts how often it has been replaced.
type worldPod struct {
	labelled bool
	mark     uint8 // index in marks
	// ran: it has been told that it leads, and may act so.
	ran        bool
	uid, epoch uint8
}

var marks = []markKind{"", markLeader, markFenced, markFormer}

const (
	asLeader uint8 = iota + 1
	asFenced
	asFormer
)

// worldLedger is the Lease. Pods are numbered from 1, with their UID.
type worldLedger struct {
	exists                     bool
	epoch                      uint8
	holder, holderUID, old, ou uint8
}

type phase uint8

const (
	idle phase = iota
	hasLedger
	hasPods // and has to read the ledger again
	acts
)

// worldOp is an operator: what it has read or is about to write, as far as it still matters. One whose write can only be
// rejected is idle.
type worldOp struct {
	phase       phase
	saw         worldLedger
	ledgerStale bool
	known       uint8 // the epoch of the status
	do          uint8 // index in verbs
	target, uid uint8 // pod; of a rebuild the one whose end has to be awaited
	epoch       uint8
	// The pods that are still to be fenced, those of them that have changed since, and those that get the mark former, as bits.
	rest, podStale, former uint8
}

// verbs has those that are never planned last: the others fit into three bits.
var verbs = []verb{create, rebuild, fence, remove, choose, revoke, promote, rest, await}

type world struct {
	ledger, backup               worldLedger
	pods                         [modelPods]worldPod
	ops                          [modelOps]worldOp
	deleted, restored, replaced  uint8
	lost                         bool  // a pod is gone, and its mark with it
	leader, leaderUID, lastEpoch uint8 // the last that was promoted
	known                        uint8 // the epoch of the status
	wrong                        uint8
}

var wrongs = []string{"", "two pods have the label", "an epoch does not rise", "there is a new leader while the old one runs"}

// model is a size, what else happens, and what is left out of the protocol.
type model struct {
	ops, pods, epochs                     int
	deletions, restorations, replacements uint8
	// stop deletes the old pod, and awaits its end. status records the epoch of a leader in the status.
	stop, status                               bool
	noFence, noEpochs, noConfirm, rebuildsBare bool
	noVersions, noFormer, noStatus             bool
}

func (m model) view(w *world, op worldOp, ready int, requested bool) view {
	saw, v := op.saw, view{rules: rules{failback: -1, stop: m.stop}, known: int64(op.known)}
	v.ledger = ledger{exists: saw.exists, empty: saw.exists && saw.epoch == 0, epoch: int64(saw.epoch), holder: podID(saw.holder, saw.holderUID), revoking: podID(saw.old, saw.ou)}
	if requested {
		v.request = "requested"
	}
	for i := range m.pods {
		p := w.pods[i]
		x := pod{identity: podID(uint8(i+1), p.uid), labelled: p.labelled, selected: true, ready: ready&(1<<i) != 0}
		if p.mark != 0 {
			x.mark = mark{marks[p.mark], int64(p.epoch)}
		}
		v.pods = append(v.pods, x)
	}
	return v
}

var modelNames = [...][4]identity{
	{}, {{"a", "0"}, {"a", "1"}, {"a", "2"}, {"a", "3"}}, {{"b", "0"}, {"b", "1"}, {"b", "2"}, {"b", "3"}}, {{"c", "0"}, {"c", "1"}, {"c", "2"}, {"c", "3"}},
}

func podID(n, uid uint8) identity { return modelNames[n][uid] }

func numbers(id identity) (n, uid uint8) {
	if id.name == "" {
		return 0, 0
	}
	return id.name[0] - 'a' + 1, id.uid[0] - '0'
}

// decide is the product's, or that of a mutant.
func (m model) decide(v view) action {
	if m.noEpochs {
		for i, p := range v.pods {
			if v.ledger.exists && (p.mark.epoch > v.ledger.epoch || p.mark.kind == markLeader && p.identity != v.ledger.holder) {
				v.pods[i].mark = mark{}
			}
		}
	}
	a := decide(v)
	if m.noFence && a.do == fence && !a.pod.labelled { // there is nothing to remove
		v.find(a.pod.identity).mark = mark{markFenced, v.ledger.epoch}
		a = decide(v)
	}
	return a
}

// next calls do for every world that may follow.
func (m model) next(w world, do func(world)) {
	for i := range m.ops {
		m.operate(w, i, do)
		if w.ops[i].phase != idle { // it ends, and begins again
			x := w
			x.ops[i] = worldOp{}
			do(x)
		}
	}
	if w.deleted < m.deletions && w.ledger.exists {
		x := w
		x.deleted++
		x.changeLedger(worldLedger{})
		do(x)
	}
	if w.restored < m.restorations && w.ledger != w.backup && w.backup.exists {
		x := w
		x.restored++
		x.changeLedger(x.backup)
		do(x)
	}
	if w.replaced < m.replacements {
		for n := range m.pods {
			x := w
			x.replaced++
			m.changePod(&x, n, worldPod{uid: x.pods[n].uid + 1})
			do(x)
		}
	}
}

func (w *world) changeLedger(l worldLedger) {
	w.ledger = l
	if !w.backup.exists && l.holder != 0 {
		w.backup = l
	}
	for i := range w.ops {
		switch op := &w.ops[i]; {
		case op.phase == hasPods, op.phase == acts && (verbs[op.do] == choose || verbs[op.do] == revoke):
			*op = worldOp{}
		case op.phase == hasLedger || op.phase == acts && verbs[op.do] == rebuild:
			op.ledgerStale = true
		}
	}
}

func (m model) changePod(w *world, n int, p worldPod) {
	replaced := p.uid != w.pods[n].uid
	w.pods[n], w.lost = p, w.lost || replaced
	for i := range w.ops {
		switch op := &w.ops[i]; {
		case op.phase < hasPods || m.noVersions && !replaced:
		case verbs[op.do] == rebuild, verbs[op.do] == fence:
			op.podStale |= op.rest & (1 << n)
		case verbs[op.do] != choose && verbs[op.do] != revoke && int(op.target) == n+1:
			*op = worldOp{}
		}
	}
	labels := 0
	for _, p := range w.pods {
		if p.labelled {
			labels++
		}
	}
	if labels > 1 {
		w.wrong = 1
	}
}

// operate calls do for every world after the next step of one operator.
func (m model) operate(w world, i int, do func(world)) {
	op := &w.ops[i]
	switch op.phase {
	case idle:
		*op = worldOp{phase: hasLedger, saw: w.ledger}
		if m.status && !m.noStatus {
			op.known = w.known
		}
		do(w)
	case hasLedger:
		m.read(w, i, do)
	case hasPods:
		op.phase = acts
		do(w)
	case acts:
		m.act(&w, i)
		do(w)
	}
}

// read reads the pods and decides, whatever is ready or requested.
func (m model) read(w world, i int, do func(world)) {
	saw := w.ops[i]
	for ready := range 1 << m.pods {
		for _, requested := range []bool{false, true} {
			v := m.view(&w, saw, ready, requested)
			a := m.decide(v)
			x := w
			op, acts := m.plan(v, a, saw)
			if x.ops[i] = op; a.do == rest && m.status {
				x.known = uint8(a.epoch)
			}
			if acts || x.known != w.known {
				do(x)
			}
		}
	}
	w.ops[i] = worldOp{}
	do(w)
}

// plan is what an operator is about to do; false if that is nothing, or can only be rejected.
func (m model) plan(v view, a action, saw worldOp) (op worldOp, acting bool) {
	confirm, ledgerStale := a.confirm && !m.noConfirm, saw.ledgerStale
	switch {
	case a.do == rest || a.do == await || int(a.epoch) > m.epochs:
		return op, false
	case ledgerStale && (confirm || a.do == choose || a.do == revoke):
		return op, false
	}
	op = worldOp{phase: acts, epoch: uint8(a.epoch), do: uint8(slices.Index(verbs, a.do))}
	if confirm {
		op.phase = hasPods
	}
	op.target, op.uid = numbers(a.pod.identity)
	m.fencesAll(&op, v, a.pods)
	switch a.do {
	case rebuild:
		op.ledgerStale = ledgerStale
	case fence:
		op.target, op.uid = 0, 0
	default:
		return op, a.do != remove || int(op.uid) < len(modelNames[0])-1
	}
	return op, true
}

// fencesAll plans to fence pods, one after the other.
func (m model) fencesAll(op *worldOp, v view, pods []pod) {
	for i := range pods {
		n, _ := numbers(pods[i].identity)
		if a := v.fencing(&pods[i], int64(op.epoch)); a.kind == markFormer && !m.noFormer {
			op.former |= 1 << (n - 1)
		}
		if !m.rebuildsBare || verbs[op.do] == fence {
			op.rest |= 1 << (n - 1)
		}
	}
}

// act sends the next request of an operator.
func (m model) act(w *world, i int) {
	op := w.ops[i]
	w.ops[i] = worldOp{}
	n := int(op.target) - 1
	switch verbs[op.do] {
	case create:
		if !w.ledger.exists {
			w.changeLedger(worldLedger{exists: true})
		}
	case fence:
		m.fenceNext(w, i, op)
	case promote:
		m.changePod(w, n, worldPod{uid: w.pods[n].uid, labelled: true, mark: asLeader, ran: true, epoch: op.epoch})
		m.promoted(w, n, op.epoch)
	case remove:
		m.changePod(w, n, worldPod{uid: w.pods[n].uid + 1})
	case revoke:
		w.changeLedger(worldLedger{exists: true, epoch: op.epoch, old: op.target, ou: op.uid})
	case choose:
		w.changeLedger(worldLedger{exists: true, epoch: op.epoch, holder: op.target, holderUID: op.uid})
	case rebuild:
		m.rebuildOn(w, i, op)
	case rest, await: // it plans none of these
	}
}

// rebuildOn fences one pod, or writes the ledger when all are.
func (m model) rebuildOn(w *world, i int, op worldOp) {
	if op.rest != 0 {
		m.fenceNext(w, i, op)
		return
	}
	next := worldLedger{exists: true, epoch: op.epoch}
	if m.stop {
		next.old, next.ou = op.target, op.uid
	}
	if !op.ledgerStale {
		w.changeLedger(next)
	}
}

// fenceNext fences one pod, unless it has changed.
func (m model) fenceNext(w *world, i int, op worldOp) {
	n := bits.TrailingZeros8(op.rest)
	if op.podStale&(1<<n) != 0 && !m.noVersions {
		return
	}
	op.rest &^= 1 << n
	if op.rest != 0 || verbs[op.do] == rebuild {
		w.ops[i] = op
	}
	m.changePod(w, n, w.pods[n].fenced(op.epoch, op.former&(1<<n) != 0))
}

// fenced is the pod without the lead.
func (p worldPod) fenced(epoch uint8, former bool) worldPod {
	p.labelled, p.mark, p.epoch = false, asFenced, epoch
	if former {
		p.mark = asFormer
	}
	return p
}

// promoted notes a new leader. Where marks are lost with their pods, only the status knows the epochs before.
func (m model) promoted(w *world, n int, epoch uint8) {
	same := w.leader == uint8(n+1) && w.leaderUID == w.pods[n].uid
	if w.wrong == 0 && (!w.lost && (epoch < w.lastEpoch || epoch == w.lastEpoch && !same) || epoch < w.known) {
		w.wrong = 2
	}
	for i, p := range w.pods {
		if m.stop && i != n && p.ran {
			w.wrong = 3
		}
	}
	w.leader, w.leaderUID, w.lastEpoch = uint8(n+1), w.pods[n].uid, epoch
}
