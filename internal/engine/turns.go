// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// listedShare: of so many requests one is for an object that was only listed, so that no flood of changes starves those.
const listedShare = 4

// newQueue is the queue of a controller.
func newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	t := newTurns()
	return &queue{workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{
		Name: name,
		DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{
			Name:  name,
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: t}),
		}),
	}), t}
}

// queue is a priorityqueue.PriorityQueue whose requests take turns. Of priorities only the sign counts.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	turns *turns
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = &queue{}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (q *queue) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	for _, item := range items {
		if o.Priority == nil || *o.Priority >= 0 {
			q.turns.note(item)
		}
		switch {
		case o.RateLimited:
			q.TypedRateLimitingInterface.AddRateLimited(item)
		case o.After > 0:
			q.TypedRateLimitingInterface.AddAfter(item, o.After)
		default:
			q.TypedRateLimitingInterface.Add(item)
		}
	}
}

// Add implements workqueue.TypedInterface.
func (q *queue) Add(item reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *queue) AddAfter(item reconcile.Request, d time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: d}, item)
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *queue) AddRateLimited(item reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
}

// GetWithPriority implements priorityqueue.PriorityQueue. One that is requeued counts as changed.
func (q *queue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	item, shutdown = q.Get()
	return item, 0, shutdown
}

// turns are the requests that wait, of which each namespace has one served in its turn, so that thousands of objects of one
// tenant keep nobody else waiting. Those of a namespace are served as they came. Requests for objects that have changed come
// before those for objects that were only listed, as all are when the operator starts; but of four at least one is of those.
type turns struct {
	mu      sync.Mutex
	changed map[reconcile.Request]bool // known before the request is pushed
	lanes   [2]lane
	in      map[reconcile.Request]int // the lane in which each waits; it may have moved up from the other one
	popped  int
}

func newTurns() *turns {
	return &turns{changed: map[reconcile.Request]bool{}, in: map[reconcile.Request]int{}, lanes: emptyLanes()}
}

func emptyLanes() [2]lane {
	return [2]lane{{of: map[string][]reconcile.Request{}}, {of: map[string][]reconcile.Request{}}}
}

// note notes that the object of a request that is about to be added has changed.
func (t *turns) note(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed[item] = true
}

// Push implements workqueue.Queue.
func (t *turns) Push(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lane := 1
	if t.changed[item] {
		lane = 0
		delete(t.changed, item)
	}
	t.in[item] = lane
	t.lanes[lane].push(item)
}

// Touch implements workqueue.Queue: a request that waits was added once more.
func (t *turns) Touch(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.changed[item] {
		return
	}
	delete(t.changed, item)
	if t.in[item] == 1 {
		t.in[item] = 0
		t.lanes[0].push(item)
	}
}

// Len implements workqueue.Queue.
func (t *turns) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.in)
}

// Pop implements workqueue.Queue. It is called only while there is something.
func (t *turns) Pop() reconcile.Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.popped++
	order := [2]int{0, 1}
	if t.popped%listedShare == 0 {
		order = [2]int{1, 0}
	}
	for _, i := range order {
		for len(t.lanes[i].order) > 0 {
			item := t.lanes[i].pop()
			if lane, waits := t.in[item]; waits && lane == i {
				delete(t.in, item)
				if len(t.in) == 0 {
					t.lanes = emptyLanes() // of what has moved up
				}
				return item
			}
		}
	}
	return reconcile.Request{}
}

// lane has the requests of namespaces.
type lane struct {
	order []string // the namespaces that have any, in the order of their turns
	of    map[string][]reconcile.Request
}

func (l *lane) push(item reconcile.Request) {
	if len(l.of[item.Namespace]) == 0 {
		l.order = append(l.order, item.Namespace)
	}
	l.of[item.Namespace] = append(l.of[item.Namespace], item)
}

func (l *lane) pop() reconcile.Request {
	namespace := l.order[0]
	item, rest := l.of[namespace][0], l.of[namespace][1:]
	l.order = l.order[1:]
	if len(rest) == 0 {
		delete(l.of, namespace)
		return item
	}
	l.of[namespace] = rest
	l.order = append(l.order, namespace)
	return item
}
