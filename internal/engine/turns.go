// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/acme/platform-operator/internal/fair"
)

// listedShare: of so many requests one is for an object that was only listed, so that no flood of changes starves those.
const listedShare = 4

// tenantOf is who a request is for: its namespace. Each cluster-scoped object is one of its own, since no tenant makes any.
func tenantOf(item reconcile.Request) string { return cmp.Or(item.Namespace, "/"+item.Name) }

// turns are the requests that wait, of which each namespace has one served in its turn, so that thousands of objects of one
// tenant keep nobody else waiting. Those of a namespace are served as they came. Requests for objects that have changed come
// before those for objects that were only listed, as all are when the operator starts; but of four at least one is of those.
//
// Those of a namespace that has its share of the workers in work wait although a worker is free. The worker that ends such a run is
// the next to ask, so that no other need be woken.
//
// Who has a place among the large ones comes first, and whatever its namespace has in work: there are few, and others wait for the place.
// Two of them do not come one after the other while something else may be served.
type turns struct {
	mu      sync.Mutex
	changed map[reconcile.Request]bool // known before the request is pushed
	placed  map[reconcile.Request]bool // who has a place, known before the request is pushed
	first   []reconcile.Request        // those of them that wait
	passed  bool                       // one of them came before all others last
	lanes   fair.Lanes[reconcile.Request]
	in      map[reconcile.Request]int // the lane in which each waits; it may have moved up from another one
	waiting map[string]int            // how many of a tenant wait in the lanes
	working fair.Shares
	ready   int // how many of those that wait may be served
}

// inFirst is the lane of those that come first, after the two lanes in turns.
const inFirst = 2

// wakeFor returns a request for nothing. It has a worker look at what may be served: client-go's queue wakes none for a request that waits
// already. So each request has its own.
func wakeFor(item reconcile.Request) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: "/" + item.String()}}
}

// isWake reports whether a request is for nothing: no object has such a name.
func isWake(item reconcile.Request) bool { return strings.HasPrefix(item.Name, "/") }

var _ workqueue.Queue[reconcile.Request] = &turns{}

func newTurns(workers int) *turns {
	return &turns{
		changed: map[reconcile.Request]bool{}, placed: map[reconcile.Request]bool{}, in: map[reconcile.Request]int{}, waiting: map[string]int{},
		lanes: fair.Lanes[reconcile.Request]{Every: listedShare}, working: fair.Shares{Each: fair.Share(workers)},
	}
}

// note notes that the object of a request that is about to be added has changed.
func (t *turns) note(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed[item] = true
}

// place notes that the object of a request that is about to be added has a place among the large ones.
func (t *turns) place(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.placed[item] = true
}

// isPlaced reports whether a request comes first, and pushes it then. The lock is held.
func (t *turns) isPlaced(item reconcile.Request) bool {
	if !t.placed[item] && !isWake(item) {
		return false
	}
	delete(t.placed, item)
	delete(t.changed, item)
	t.in[item] = inFirst
	t.first = append(t.first, item)
	t.ready++
	return true
}

// Push implements workqueue.Queue.
func (t *turns) Push(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isPlaced(item) {
		return
	}
	lane := 1
	if t.changed[item] {
		lane = 0
		delete(t.changed, item)
	}
	t.in[item] = lane
	t.lanes.Push(lane, tenantOf(item), item)
	t.count(tenantOf(item), func(tenant string) { t.waiting[tenant]++ })
}

// Touch implements workqueue.Queue: a request that waits was added once more.
func (t *turns) Touch(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.in[item] != inFirst && t.isPlaced(item) {
		t.count(tenantOf(item), t.leave)
		return
	}
	if !t.changed[item] {
		return
	}
	delete(t.changed, item)
	if t.in[item] == 1 {
		t.in[item] = 0
		t.lanes.Push(0, tenantOf(item), item)
	}
}

// Len implements workqueue.Queue: it is how many workers find something to do.
func (t *turns) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ready
}

// Pop implements workqueue.Queue. It is called only while there is something. Its run is in work until it is done.
func (t *turns) Pop() reconcile.Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	item := t.pop()
	delete(t.in, item)
	if len(t.in) == 0 {
		t.lanes.Clear() // of what has moved up
	}
	t.count(tenantOf(item), t.working.Take)
	return item
}

// pop removes the next request from where it waits. The lock is held.
func (t *turns) pop() reconcile.Request {
	if n := len(t.first); n > 0 && (!t.passed || t.ready == n) {
		item := t.first[0]
		t.first = slices.Delete(t.first, 0, 1)
		t.ready--
		t.passed = !isWake(item)
		return item
	}
	t.passed = false
	item, _ := t.lanes.Pop(t.working.May, func(lane int, item reconcile.Request) bool {
		in, waits := t.in[item]
		return waits && in == lane
	})
	t.count(tenantOf(item), t.leave)
	return item
}

// leave notes that a request of a tenant waits in the lanes no more. The lock is held.
func (t *turns) leave(tenant string) {
	if t.waiting[tenant]--; t.waiting[tenant] == 0 {
		delete(t.waiting, tenant)
	}
}

// done notes that a run has ended.
func (t *turns) done(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(tenantOf(item), t.working.Give)
}

// count makes a change of what waits or works of a tenant. The lock is held.
func (t *turns) count(tenant string, change func(tenant string)) {
	ready := func() int { return min(t.waiting[tenant], max(0, t.working.Left(tenant))) }
	t.ready -= ready()
	change(tenant)
	t.ready += ready()
}
