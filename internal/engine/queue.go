// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"io"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/acme/platform-operator/internal/fair"
)

// largeAtOnce is how many objects of which the caches hold only a part are worked on at once, of all kinds: what is made from a
// large object is large, too. The others wait for their turn, and no small one waits for them.
const largeAtOnce = 2

var large = fair.NewPlaces(largeAtOnce)

// firstRetry is how long a queue waits after a first failure or lost race.
const firstRetry = 50 * time.Millisecond

// An object whose run has read much from the API server rests before its next run, however often it is changed: a second for each restPer
// bytes, and at most maxRest, since some objects are made to read much by what others create. Up to restFrom bytes it does not rest.
const (
	restFrom = 1 << 20
	restPer  = 8 << 20
	maxRest  = 10 * time.Second
)

// queue is a priorityqueue.PriorityQueue whose requests take turns (turns.go). Of priorities only the sign counts.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	turns *turns

	mu     sync.Mutex
	keeps  map[reconcile.Request]bool        // whose run has not done its work, so that its back-off is kept
	large  map[reconcile.Request]*fair.Place // of objects of which the caches hold only a part
	rests  map[reconcile.Request]time.Time   // when the next run of an object may begin at the earliest
	closed bool
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = &queue{}

// newQueue returns the queue of a controller, which begins with the controller.
func newQueue(workers int) *queue {
	return &queue{
		turns: newTurns(workers), keeps: map[reconcile.Request]bool{},
		large: map[reconcile.Request]*fair.Place{}, rests: map[reconcile.Request]time.Time{},
	}
}

// controllerOptions are the options of all controllers. Namespaces take turns. A failure, and a race that was lost, is retried with
// twice the delay each time, at most retryMax.
func controllerOptions(q *queue, workers int, retryMax time.Duration) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		ReconciliationTimeout:   runTimeout,
		NewQueue:                q.begin,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, retryMax),
	}
}

// begin makes client-go's queue with our order.
func (q *queue) begin(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	q.TypedRateLimitingInterface = workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{
		Name: name,
		DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{
			Name:  name,
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: q.turns}),
		}),
	})
	return q
}

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

// Get implements workqueue.TypedInterface. An object that rests comes later.
func (q *queue) Get() (item reconcile.Request, shutdown bool) {
	for {
		item, shutdown = q.TypedRateLimitingInterface.Get()
		left := q.rest(item)
		if shutdown || left <= 0 && !isWake(item) {
			return item, shutdown
		}
		if !isWake(item) {
			q.AddAfter(item, left)
		}
		q.Done(item)
	}
}

// Done implements workqueue.TypedInterface.
func (q *queue) Done(item reconcile.Request) {
	q.mu.Lock()
	delete(q.keeps, item)
	q.mu.Unlock()
	q.turns.done(item)
	q.TypedRateLimitingInterface.Done(item)
}

// Forget implements workqueue.TypedRateLimitingInterface. It is called after each run without an error.
func (q *queue) Forget(item reconcile.Request) {
	q.mu.Lock()
	keeps := q.keeps[item]
	q.mu.Unlock()
	if !keeps {
		q.TypedRateLimitingInterface.Forget(item)
	}
}

// ShutDown implements workqueue.TypedInterface.
func (q *queue) ShutDown() {
	q.close()
	q.TypedRateLimitingInterface.ShutDown()
}

// ShutDownWithDrain implements workqueue.TypedInterface.
func (q *queue) ShutDownWithDrain() {
	q.close()
	q.TypedRateLimitingInterface.ShutDownWithDrain()
}

// close gives back all places: nothing comes of a request any more.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for item, place := range q.large {
		place.Leave()
		delete(q.large, item)
	}
}

// rest returns how long an object rests from now on.
func (q *queue) rest(item reconcile.Request) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Until(q.rests[item]) //nolint:forbidigo // client-go's queue goes by this clock, too
}

// runKey is the context key of the run that requests belong to.
type runKey struct{}

// run is one run of one object.
type run struct {
	queue *queue
	item  reconcile.Request
	kind  string
	read  atomic.Int64 // bytes from the API server
	waits bool         // for a place among the large ones
	lost  bool         // a race against another writer
}

// runOf returns the run that a context belongs to, nil if it belongs to none.
func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// reconciler is what the controller runs: what it calls finds its run in the context.
func (q *queue) reconciler(kind string, next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, item reconcile.Request) (ctrl.Result, error) {
		r := &run{queue: q, item: item, kind: kind}
		defer q.ran(r)
		return next.Reconcile(fair.For(context.WithValue(ctx, runKey{}, r), tenantOf(item)), item)
	})
}

// ran does what follows from a run.
func (q *queue) ran(r *run) {
	if r.lost {
		q.AddRateLimited(r.item)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.keeps[r.item] = r.waits || r.lost
	if place := q.large[r.item]; place != nil && !r.waits {
		place.Leave()
		delete(q.large, r.item)
	}
	if read := r.read.Load(); read > restFrom {
		maps.DeleteFunc(q.rests, func(_ reconcile.Request, until time.Time) bool { return time.Until(until) <= 0 }) //nolint:forbidigo // as in rest
		q.rests[r.item] = time.Now().Add(min(maxRest, time.Duration(float64(read)/restPer*float64(time.Second))))   //nolint:forbidigo // as in rest
	}
}

// hasLargePlace reports whether the run has a place among the large ones. If not, its object is requeued when it has its turn.
func (r *run) hasLargePlace() bool {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	place := r.queue.large[r.item]
	if place == nil && !r.queue.closed {
		place = large.Ask(tenantOf(r.item), func() { r.queue.granted(r.item) })
		r.queue.large[r.item] = place
	}
	r.waits = place == nil || !place.Has()
	return !r.waits
}

// granted requeues an object that has its place among the large ones now.
func (q *queue) granted(item reconcile.Request) {
	q.turns.place(item)
	q.Add(item)
	q.Add(wakeFor(item))
}

// counted is the body of an answer to a run.
type counted struct {
	io.ReadCloser
	run *run
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.run.read.Add(int64(n))
	return n, err
}
