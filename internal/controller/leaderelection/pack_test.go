// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import "slices"

// packed is a world in few bytes, the same for worlds that differ only in which operator is which.
type packed [modelOps + 2]uint64

type packer uint64

func (p *packer) add(bits int, values ...uint8) {
	for _, v := range values {
		*p = *p<<bits | packer(v)
	}
}

func (p *packer) flags(values ...bool) {
	for _, v := range values {
		*p <<= 1
		if v {
			*p |= 1
		}
	}
}

func (p *packer) ledger(l worldLedger) {
	p.flags(l.exists)
	p.add(3, l.epoch)
	p.add(2, l.holder, l.holderUID, l.old, l.ou)
}

func (w *world) pack() packed {
	var keys packed
	for i, op := range w.ops {
		var p packer
		p.ledger(op.saw)
		p.flags(op.ledgerStale)
		p.add(3, op.known, uint8(op.phase), op.do, op.target, op.uid, op.epoch, op.rest, op.podStale, op.former)
		keys[i] = uint64(p)
	}
	slices.Sort(keys[:modelOps])
	var p, q packer
	for _, x := range w.pods {
		p.flags(x.labelled, x.ran)
		p.add(3, x.mark, x.uid, x.epoch)
	}
	p.ledger(w.ledger)
	q.ledger(w.backup)
	q.flags(w.lost)
	q.add(3, w.deleted, w.restored, w.replaced, w.leader, w.leaderUID, w.lastEpoch, w.known, w.wrong)
	keys[modelOps], keys[modelOps+1] = uint64(p), uint64(q)
	return keys
}
