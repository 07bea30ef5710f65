// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Ask asks a question of the world outside the cluster, such as a billing system, and does not wait for the answer: the
// step returns Wait meanwhile, and its object is looked at as soon as the answer is there. So an outside that is slow, or
// hangs, takes no worker from objects that ask nothing.
//
// The topic names the kind of question. Each topic has Config.OutsideWorkers of its own; a question has
// Config.OutsideTimeout. There is one question at a time for an object and topic. Its answer is kept until a run collects
// it by calling Ask again; the next call asks anew. An answer about another generation of the object is never given: the
// question is asked again for this one. What was answered, be it an error, stands while the question is repeated, so that
// the step's condition does not change back and forth, and its errors are tried again with growing delays.
//
// The function runs beside the runs: it must not touch the object, and has to end when its context does.
func Ask[T Object, A any](s Scope[T], topic string, ask func(context.Context) (A, error)) (answer A, answered bool, err error) {
	got, answered := s.runner.outside.ask(question{s.Obj.GetUID(), topic}, s.Obj.GetGeneration(), client.ObjectKeyFromObject(s.Obj),
		func(ctx context.Context) (any, error) { return ask(ctx) })
	if value, ok := got.value.(A); ok && got.err == nil {
		answer = value
	}
	return answer, answered, got.err
}

// repliesKept is how long a reply is kept that nobody asks for again: its object is gone.
const repliesKept = time.Hour

// outside asks the questions of one kind. It is a Runnable of the manager.
type outside struct {
	workers int // for each topic
	timeout time.Duration
	clock   clock.PassiveClock
	wake    func(context.Context, client.ObjectKey)

	mu        sync.Mutex
	ctx       context.Context // bounds all questions; nil until Start
	inquiries map[question]*inquiry
	topics    map[string]*topic
	done      sync.WaitGroup
}

// topic is what is asked for one kind of question.
type topic struct {
	waiting []*inquiry // for a worker
	working int
	first   bool // whether the last one to get a worker was to be one that had no answer yet
}

// question identifies a question.
type question struct {
	uid   types.UID
	topic string
}

// inquiry is a question that was asked, and the reply once there is one.
type inquiry struct {
	question
	generation int64
	key        client.ObjectKey
	run        func(context.Context) (any, error)
	cancel     context.CancelFunc // nil while it waits for a worker
	unwanted   bool               // as the object has changed meanwhile
	reply      reply              // the last one: until there is a new one, that of the try before
	again      bool               // there was a try before
	at         time.Time          // of the reply; zero while there is no new one
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

// Start implements manager.Runnable. It returns when the context has ended and all questions have.
func (o *outside) Start(ctx context.Context) error {
	o.mu.Lock()
	o.ctx = ctx
	for _, t := range o.topics {
		o.employ(t)
	}
	o.mu.Unlock()
	<-ctx.Done()
	o.mu.Lock() // Who has the lock after this starts no question any more.
	o.topics = map[string]*topic{}
	o.mu.Unlock()
	o.done.Wait()
	return nil
}

// ask gives the reply to a question if there is one, and sees to it that there will be one if not.
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
		t = &topic{}
		o.topics[q.topic] = t
	}
	t.waiting = append(t.waiting, next)
	o.employ(t)
	return next.reply, next.again
}

// disregard has a question that has no reply yet be asked for another generation instead: at once if it still waits for
// a worker, else when it has ended, which wakes the object.
func (o *outside) disregard(last *inquiry, generation int64, run func(context.Context) (any, error)) {
	last.reply, last.again = reply{}, false
	if last.cancel == nil {
		last.generation, last.run = generation, run
		return
	}
	last.unwanted = true
	last.cancel()
}

// employ lets the questions of a topic run that have a worker. The lock is held.
func (o *outside) employ(t *topic) {
	for o.ctx != nil && o.ctx.Err() == nil && t.working < o.workers && len(t.waiting) > 0 {
		next := t.next()
		ctx, cancel := context.WithTimeout(o.ctx, o.timeout)
		next.cancel = cancel
		t.working++
		o.done.Go(func() {
			value, err := safely(ctx, next.run)
			o.answered(t, next, reply{value, err})
			o.wake(o.ctx, next.key)
		})
	}
}

// next takes a question off those that wait for a worker: in turn the one that waits longest, and the first that had no
// answer yet, so that what the outside answers at once does not wait for all that hangs. The lock is held.
func (t *topic) next() *inquiry {
	at := 0
	if t.first = !t.first; t.first {
		at = max(0, slices.IndexFunc(t.waiting, func(i *inquiry) bool { return !i.again }))
	}
	next := t.waiting[at]
	t.waiting = slices.Concat(t.waiting[:at], t.waiting[at+1:])
	return next
}

// safely turns a panic into an error, as the runs do.
func safely(ctx context.Context, run func(context.Context) (any, error)) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("asking has panicked: %v", p)
		}
	}()
	return run(ctx)
}

// answered takes in a reply, and gives the worker to the next question.
func (o *outside) answered(t *topic, i *inquiry, r reply) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i.cancel()
	i.reply, i.at = r, o.clock.Now()
	if i.unwanted {
		delete(o.inquiries, i.question)
	}
	maps.DeleteFunc(o.inquiries, func(_ question, each *inquiry) bool {
		return !each.at.IsZero() && o.clock.Since(each.at) > repliesKept
	})
	t.working--
	o.employ(t)
}
