/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
)

const (
	// longest bounds one reading, whatever the reader does.
	longest = 2 * time.Minute
	// tidyEvery is how often objects are forgotten that are not there any more, which is seen by nobody
	// asking for them.
	tidyEvery = time.Hour
)

// question is what a database is asked.
type question struct {
	source sqldb.Source
	watch  sqldb.Watch
}

// answer is what it said.
type answer struct {
	value sqldb.Value
	fault *sqldb.Error
}

func (a answer) failed() bool { return a.fault != nil }

func (a answer) equal(b *answer) bool {
	if b == nil || a.value != b.value || a.failed() != b.failed() {
		return false
	}
	return !a.failed() || *a.fault == *b.fault
}

// poller asks databases outside of the runs. What it knows is of no importance when it is lost: it asks anew.
type poller struct {
	reader sqldb.Reader
	clock  clock.PassiveClock
	waker  *engine.Waker

	ctx     context.Context //nolint:containedctx // it bounds what goes on between runs
	stop    context.CancelFunc
	reading sync.WaitGroup

	mu     sync.Mutex
	polls  map[types.UID]*poll
	tidied time.Time
}

// poll is what is known of one object.
type poll struct {
	key      client.ObjectKey
	question question
	answer   *answer
	asking   bool
	asked    time.Time
	forget   time.Time
}

func newPoller(reader sqldb.Reader, c clock.PassiveClock) *poller {
	ctx, stop := context.WithCancel(context.Background())
	return &poller{
		reader: reader, clock: c, waker: engine.NewWaker(), ctx: ctx, stop: stop,
		polls: map[types.UID]*poll{}, tidied: c.Now(),
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
	p.tidy(now)
	one, ok := p.polls[uid]
	if !ok {
		one = &poll{key: key}
		p.polls[uid] = one
	}
	one.forget = now.Add(2*interval + tidyEvery)
	if one.question != q {
		one.question, one.answer, one.asked = q, nil, time.Time{}
	}
	due := one.asked.IsZero() || !now.Before(nextReading(one.asked, interval, uid))
	if due && !one.asking && p.ctx.Err() == nil {
		one.asking, one.asked = true, now
		p.reading.Go(func() { p.read(one, q) })
	}
	if one.asked.IsZero() {
		return nil, interval // the answer to the question before wakes the object up
	}
	return one.answer, max(nextReading(one.asked, interval, uid).Sub(now), time.Second)
}

func (p *poller) read(one *poll, q question) {
	ctx, cancel := context.WithTimeout(p.ctx, longest)
	defer cancel()
	start := p.clock.Now()
	a := p.query(ctx, q)
	if p.ctx.Err() != nil {
		return
	}
	count(q.source.Type, a, p.clock.Since(start))
	p.mu.Lock()
	one.asking = false
	news := one.question != q || !a.equal(one.answer)
	if one.question == q {
		one.answer = &a
	}
	p.mu.Unlock()
	if news {
		p.waker.Wake(p.ctx, one.key)
	}
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
		return answer{value: value}
	}
	if !errors.As(err, &a.fault) {
		a.fault = unaskable()
	}
	return a
}

func unaskable() *sqldb.Error {
	return &sqldb.Error{Reason: sqldb.Unreachable, Message: "the database could not be asked"}
}

// tidy forgets objects that nobody has asked for in a long time.
func (p *poller) tidy(now time.Time) {
	if now.Sub(p.tidied) < tidyEvery {
		return
	}
	p.tidied = now
	for uid, one := range p.polls {
		if now.After(one.forget) && !one.asking {
			delete(p.polls, uid)
		}
	}
}
