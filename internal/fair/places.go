// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"context"
	"sync"
)

// Places are a number of places, of which one tenant has at most its Share. Who finds none waits for the turn of its tenant.
type Places struct {
	mu      sync.Mutex
	free    int
	shares  Shares
	waiting Lane[*Place]
}

// NewPlaces returns n places.
func NewPlaces(n int) *Places { return &Places{free: n, shares: Shares{Each: Share(n)}} }

// Place is one of Places that a tenant has or waits for.
type Place struct {
	places  *Places
	tenant  string
	granted func()
	has     bool
	left    bool
}

// Ask asks for a place, which the tenant has at once if it may. If not, the function is called when it has it, unless it has left
// before; it may call Leave.
func (p *Places) Ask(tenant string, granted func()) *Place {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := &Place{places: p, tenant: tenant, granted: granted}
	if p.may(tenant) { // no other waits that may have a place
		p.give(x)
	} else {
		p.waiting.Push(tenant, x)
	}
	return x
}

// Acquire waits for a place until the context ends, and returns what gives it back.
func (p *Places) Acquire(ctx context.Context, tenant string) (release func(), err error) {
	granted := make(chan struct{})
	x := p.Ask(tenant, func() { close(granted) })
	if x.Has() {
		return x.Leave, nil
	}
	select {
	case <-granted:
		return x.Leave, nil
	case <-ctx.Done():
		x.Leave()
		return nil, ctx.Err()
	}
}

// Has reports whether the tenant has the place.
func (x *Place) Has() bool {
	x.places.mu.Lock()
	defer x.places.mu.Unlock()
	return x.has
}

// Leave gives the place back to the next tenant, or stops waiting for it. Once is enough.
func (x *Place) Leave() {
	if next := x.places.leave(x); next != nil {
		next.granted()
	}
}

// leave returns who has the place of another one from then on, if anybody.
func (p *Places) leave(x *Place) (next *Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case x.left:
		return nil
	case !x.has:
		p.waiting.Remove(x.tenant, func(w *Place) bool { return w == x })
	default:
		p.free++
		p.shares.Give(x.tenant)
	}
	x.left, x.has = true, false
	next, found := p.waiting.Pop(p.may)
	if found {
		p.give(next)
	}
	return next
}

// may reports whether a tenant may have a place. The lock is held.
func (p *Places) may(tenant string) bool { return p.free > 0 && p.shares.May(tenant) }

// give gives a place. The lock is held.
func (p *Places) give(x *Place) {
	p.free--
	p.shares.Take(x.tenant)
	x.has = true
}
