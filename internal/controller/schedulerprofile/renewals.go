// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// renewals remembers when Leases were seen to change. The time in a Lease is that of a node's clock, which may differ from the operator's;
// client-go's leader election does not trust it, either.
type renewals struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	seen map[types.UID]renewal
}

// renewal is a Lease as it was looked at last: its own time, and when it was seen first with that.
type renewal struct {
	time              metav1.MicroTime
	changedAt, lookAt time.Time
}

// of returns when a Lease was renewed last. One that is seen for the first time is believed, unless it is from the future.
func (n *renewals) of(l *coordinationv1.Lease) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.clock.Now()
	for uid, r := range n.seen {
		if now.Sub(r.lookAt) > grantKept {
			delete(n.seen, uid) // its object is gone
		}
	}
	if l.UID == "" { // there is none
		return time.Time{}
	}
	if n.seen == nil {
		n.seen = map[types.UID]renewal{}
	}
	renewed := ptr.Deref(l.Spec.RenewTime, metav1.MicroTime{})
	r, known := n.seen[l.UID]
	switch {
	case !known && renewed.After(now):
		r.changedAt = now
	case !known:
		r.changedAt = renewed.Time
	case !r.time.Equal(&renewed):
		r.changedAt = now
	}
	r.time, r.lookAt = renewed, now
	n.seen[l.UID] = r
	return r.changedAt
}
