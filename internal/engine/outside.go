// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/acme/platform-operator/internal/fair"
)

// Topic is a kind of call to the world outside the cluster, such as a report to a billing system. A kind makes its topics when it is
// registered, when there is no object yet: a call that waits, and a reply that is not collected, may outlast the run by an hour, and
// hold nothing of it but what it asks about.
type Topic[Q, A any] struct {
	name string
	call func(context.Context, Q) (A, error)
}

// NewTopic returns a topic, whose name is unique in its kind. The function runs in the background, and has to end when its context does.
// NewTopic panics if a question or an answer may refer to an object: they have names and values, and no pointers, maps or interfaces.
func NewTopic[Q, A any](name string, call func(context.Context, Q) (A, error)) Topic[Q, A] {
	for _, t := range []reflect.Type{reflect.TypeFor[Q](), reflect.TypeFor[A]()} {
		if refers(t) {
			panic(fmt.Sprintf("%s may refer to an object, which the topic %s would keep beyond a run", t, name))
		}
	}
	return Topic[Q, A]{name, call}
}

// refers reports whether a value of a type may refer to anything but text and other plain values.
func refers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.UnsafePointer:
		return true
	case reflect.Array, reflect.Slice:
		return refers(t.Elem())
	case reflect.Struct:
		fields := reflect.VisibleFields(t)
		return t != reflect.TypeFor[time.Time]() && slices.ContainsFunc(fields, func(f reflect.StructField) bool { return refers(f.Type) })
	default:
		return false
	}
}

// Ask calls the world outside the cluster without waiting for the answer: the step returns Wait meanwhile, and its object is requeued when
// the answer has arrived. So an outside that is slow, or hangs, takes no worker from objects that do not need it.
//
// Each topic has its own Config.OutsideWorkers, in turns of namespaces; a call has Config.OutsideTimeout. There is one call at a time for
// an object and topic. Its answer is kept until a run collects it by calling Ask again; the next Ask calls again. An answer for another
// generation is never returned: the call is repeated for this one. The last answer, also an error, is returned meanwhile, so that the
// step's condition does not flap, and errors are retried with growing delays. Answers are dropped when the object is gone.
func Ask[T Object, Q, A any](s Scope[T], topic Topic[Q, A], about Q) (answer A, answered bool, err error) {
	call := topic.call
	got, answered := s.runner.outside.ask(question{s.Obj.GetUID(), topic.name}, s.Obj.GetGeneration(), client.ObjectKeyFromObject(s.Obj),
		func(ctx context.Context) (any, error) { return call(ctx, about) })
	if value, ok := got.value.(A); ok && got.err == nil {
		answer = value
	}
	return answer, answered, got.err
}

// repliesKept is how long a reply that is not collected is kept, if the end of its object was not seen.
const repliesKept = time.Hour

// outside runs the calls of one kind. It is a Runnable of the manager.
type outside struct {
	workers int // for each topic
	timeout time.Duration
	clock   clock.PassiveClock
	wake    func(context.Context, client.ObjectKey)

	mu        sync.Mutex
	ctx       context.Context // bounds all calls; nil until Start
	inquiries map[question]*inquiry
	topics    map[string]*topic
	done      sync.WaitGroup
}

// topic holds the calls of one topic.
type topic struct {
	// waiting are those that wait for a worker: in turn one without an answer so far and one that is repeated, so that calls that are
	// answered at once do not wait behind those that hang.
	waiting fair.Lanes[*inquiry]
	shares  fair.Shares // of the workers
	working int
}

// question identifies a call.
type question struct {
	uid   types.UID
	topic string
}

// inquiry is a call, and the reply once it has arrived.
type inquiry struct {
	question
	generation int64
	key        client.ObjectKey
	run        func(context.Context) (any, error) // nil once it has ended
	cancel     context.CancelFunc                 // nil while it waits for a worker
	unwanted   bool                               // the object has changed meanwhile, or is gone
	reply      reply                              // the last one: until there is a new one, that of the attempt before
	again      bool                               // there was an attempt before
	at         time.Time                          // of the reply; zero while there is no new one
	collected  bool
}

type reply struct {
	value any
	err   error
}

func newOutside(workers int, timeout time.Duration, c clock.PassiveClock, wake func(context.Context, client.ObjectKey)) *outside {
	return &outside{
		workers: workers, timeout: timeout, clock: c, wake: wake,
		inquiries: map[question]*inquiry{}, topics: map[string]*topic{},
	}
}

// Start implements manager.Runnable. It returns when the context and all calls have ended.
func (o *outside) Start(ctx context.Context) error {
	o.mu.Lock()
	o.ctx = ctx
	for _, t := range o.topics {
		o.employ(t)
	}
	o.mu.Unlock()
	<-ctx.Done()
	o.mu.Lock() // After this no call is started any more.
	o.topics = map[string]*topic{}
	o.mu.Unlock()
	o.done.Wait()
	return nil
}

// ask returns the reply to a question if there is one, and starts a call if not.
func (o *outside) ask(q question, generation int64, key client.ObjectKey, run func(context.Context) (any, error)) (reply, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.inquiries[q]
	switch {
	case last == nil:
	case last.at.IsZero() && last.generation != generation:
		o.disregard(last, generation, run)
		return reply{}, false
	case last.at.IsZero():
		return last.reply, last.again
	case last.generation != generation:
		last = nil
	case !last.collected:
		last.collected = true
		return last.reply, true
	}
	next := &inquiry{question: q, generation: generation, key: key, run: run}
	if last != nil {
		next.reply, next.again = last.reply, true
	}
	o.inquiries[q] = next
	t := o.topics[q.topic]
	if t == nil {
		t = emptyTopic(o.workers)
		o.topics[q.topic] = t
	}
	t.push(next)
	o.employ(t)
	return next.reply, next.again
}

// disregard repeats a call without a reply for another generation: at once if it still waits for a worker, else
// when it has ended, which requeues the object.
func (o *outside) disregard(last *inquiry, generation int64, run func(context.Context) (any, error)) {
	repeated := last.again
	last.reply, last.again = reply{}, false
	if last.cancel == nil {
		last.generation, last.run = generation, run
		if t := o.topics[last.topic]; repeated && t != nil { // there is none any more once the operator ends
			t.push(last)
		}
		return
	}
	last.unwanted = true
	last.cancel()
}

// forget drops the replies for an object that is gone. Calls that have not ended are made, for instance reports to a billing system, and
// dropped then.
func (o *outside) forget(uid types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name := range o.topics {
		q := question{uid, name}
		switch i := o.inquiries[q]; {
		case i == nil:
		case i.at.IsZero():
			i.unwanted = true
		default:
			delete(o.inquiries, q)
		}
	}
}

// employ starts the calls of a topic for which there are workers. The lock is held.
func (o *outside) employ(t *topic) {
	for o.ctx != nil && o.ctx.Err() == nil && t.working < o.workers {
		next, found := t.next()
		if !found {
			return
		}
		ctx, cancel := context.WithTimeout(o.ctx, o.timeout)
		next.cancel = cancel
		t.working++
		t.shares.Take(next.tenant())
		o.done.Go(func() {
			value, err := safely(ctx, next.run)
			o.answered(t, next, reply{value, err})
			o.wake(o.ctx, next.key)
		})
	}
}

func emptyTopic(workers int) *topic {
	return &topic{waiting: fair.Lanes[*inquiry]{Every: 2}, shares: fair.Shares{Each: fair.Share(workers)}}
}

func (t *topic) push(i *inquiry) { t.waiting.Push(i.lane(), i.tenant(), i) }

// next removes a call from those that wait for a worker, of a namespace that has not got its share of them. The lock is held.
func (t *topic) next() (*inquiry, bool) {
	return t.waiting.Pop(t.shares.May, func(lane int, i *inquiry) bool { return lane == i.lane() })
}

func (i *inquiry) tenant() string { return tenantOf(reconcile.Request{NamespacedName: i.key}) }

func (i *inquiry) lane() int {
	if i.again {
		return 1
	}
	return 0
}

// safely converts a panic into an error, as the runs do.
func safely(ctx context.Context, run func(context.Context) (any, error)) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the call has panicked: %v", p)
		}
	}()
	return run(ctx)
}

// answered records a reply, and gives the worker to the next call.
func (o *outside) answered(t *topic, i *inquiry, r reply) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i.cancel()
	i.reply, i.at, i.run = r, o.clock.Now(), nil
	if i.unwanted {
		delete(o.inquiries, i.question)
	}
	maps.DeleteFunc(o.inquiries, func(_ question, each *inquiry) bool {
		return !each.at.IsZero() && o.clock.Since(each.at) > repliesKept
	})
	t.working--
	t.shares.Give(i.tenant())
	o.employ(t)
}
