// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/restart"
)

// longest bounds one reading, whatever the reader does.
const longest = 2 * time.Minute

// question is what a database is asked. It holds credentials, so it is handed on and not kept.
type question struct {
	// name identifies what is read among all that policies read.
	name   string
	source sqldb.Source
	watch  sqldb.Watch
	// seal makes a keyed hash of a list of parts.
	seal func(parts ...[]byte) restart.Hash
}

// mark tells questions, and the keys of their hashes, apart.
func (q question) mark() restart.Hash {
	w := q.watch
	return q.seal(append(q.source.Parts(), []byte(w.Table), []byte(w.Column), []byte(w.Where), []byte(w.Query))...)
}

// answer is what it said: of the value there is a keyed hash only.
type answer struct {
	kind  sqldb.Kind
	hash  restart.Hash
	fault *sqldb.Error
}

func (a answer) failed() bool { return a.fault != nil }

// equal reports whether two answers are the same for those who write policies.
func (a answer) equal(b *answer) bool {
	if b == nil || a.kind != b.kind || a.hash != b.hash || a.failed() != b.failed() {
		return false
	}
	return !a.failed() || a.fault.Reason == b.fault.Reason && a.fault.Message == b.fault.Message
}

// poller asks databases outside of the runs. What it knows is of no importance when it is lost: it asks again.
type poller struct {
	reader   sqldb.Reader
	readings *restart.Readings
	clock    clock.PassiveClock
	waker    *engine.Waker
	wake     func(context.Context, client.ObjectKey)

	ctx     context.Context //nolint:containedctx // it bounds what happens between runs
	stop    context.CancelFunc
	reading sync.WaitGroup

	mu    sync.Mutex
	polls *restart.Cache[types.UID, *poll]
}

// poll is what is known of one object.
type poll struct {
	key    client.ObjectKey
	mark   restart.Hash // of the question
	answer *answer
	asking bool
	asked  time.Time
	hung   int // how many readings in a row ran into the statement's time limit
}

func newPoller(reader sqldb.Reader, readings *restart.Readings, c clock.PassiveClock) *poller {
	ctx, stop := context.WithCancel(context.Background())
	waker := engine.NewWaker()
	return &poller{
		reader: reader, readings: readings, clock: c, waker: waker, wake: waker.Wake, ctx: ctx, stop: stop,
		polls: restart.NewCache[types.UID, *poll](restart.Remembered),
	}
}

// Start implements manager.Runnable: it ends all readings with the manager.
func (p *poller) Start(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	p.stop()
	p.mu.Unlock()
	p.reading.Wait()
	if pools, ok := p.reader.(interface{ Close() }); ok {
		pools.Close()
	}
	return nil
}

// ask gives the last answer to a question of an object, nil when there is none, and how long that holds. When
// it is time, the question is asked again; the object is woken up when the answer is another one.
func (p *poller) ask(key client.ObjectKey, uid types.UID, q question, interval time.Duration) (*answer, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	one, known := p.polls.Get(key.Namespace, uid)
	if !known {
		one = &poll{key: key}
		p.polls.Add(key.Namespace, uid, one)
	}
	mark := q.mark()
	if one.mark != mark {
		one.mark, one.answer, one.asked, one.hung = mark, nil, time.Time{}, 0
	}
	due := one.asked.IsZero() || !now.Before(nextReading(one.asked, slowed(interval, one.hung), uid))
	if due && !one.asking && p.ctx.Err() == nil {
		one.asking, one.asked = true, now
		p.reading.Go(func() { p.read(one, mark, q) })
	}
	if one.asked.IsZero() {
		return nil, interval // the answer to the question before wakes the object up
	}
	return one.answer, max(nextReading(one.asked, slowed(interval, one.hung), uid).Sub(now), time.Second)
}

func (p *poller) read(one *poll, mark restart.Hash, q question) {
	ctx, cancel := context.WithTimeout(p.ctx, longest)
	defer cancel()
	start, began := p.clock.Now(), p.readings.Begin()
	a := p.query(ctx, q)
	if p.ctx.Err() != nil {
		return
	}
	if !a.failed() {
		p.readings.End(q.name, a.hash, began)
	}
	count(q.source.Type, a, p.clock.Since(start))
	if p.take(one, mark, a) {
		p.wake(p.ctx, one.key)
	}
}

// take takes an answer, and reports whether it is another one.
func (p *poller) take(one *poll, mark restart.Hash, a answer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one.asking = false
	if one.mark != mark {
		return true
	}
	if one.hung++; !a.failed() || !a.fault.Hung {
		one.hung = 0
	}
	if a.failed() && a.fault.Detail != "" && (one.answer == nil || !one.answer.failed() || one.answer.fault.Detail != a.fault.Detail) {
		ctrl.Log.WithName(kindName).Info("A database cannot be connected to", "namespace", one.key.Namespace, "name", one.key.Name,
			"cause", a.fault.Detail)
	}
	news := !a.equal(one.answer)
	one.answer = &a
	return news
}

// query asks the database. That a driver panics, over what a server says for instance, is the trouble of that one policy.
func (p *poller) query(ctx context.Context, q question) (a answer) {
	defer func() {
		if x := recover(); x != nil {
			ctrl.Log.WithName(kindName).Error(fmt.Errorf("panic: %T", x), "A database driver has failed",
				"type", q.source.Type, "stack", string(debug.Stack()))
			a = answer{fault: unaskable()}
		}
	}()
	value, err := p.reader.Read(ctx, q.source, q.watch)
	if err == nil {
		return answer{kind: value.Kind, hash: q.seal(value.Canonical())}
	}
	if !errors.As(err, &a.fault) {
		a.fault = unaskable()
	}
	return a
}

func unaskable() *sqldb.Error {
	return &sqldb.Error{Reason: sqldb.Unreachable, Message: "the database could not be asked"}
}
