// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// maxConnections is the most connections to one source.
	maxConnections = 2
	// maxReads is the most reads at once for one namespace, which connect or run a statement. It bounds the sources that are
	// open, and the memory of values while they are read, and is more than one source can use.
	maxReads = 6
	// maxUnused is the most sources, of all namespaces, that are open while nobody reads them. One with the largest
	// authorities takes about 110 KiB without its connections.
	maxUnused = 512
	// idleClose is when an unused connection is closed; it is longer than the usual interval between two reads.
	idleClose = 2 * time.Minute
	// lifetime is when a connection is closed in any case, so that load balancers and failovers are followed.
	lifetime = 30 * time.Minute
	// forget is when a source that is no longer read is closed in any case. It is longer than the longest pause.
	forget = 10 * time.Minute
	// queueing is the longest time that a read waits for a connection.
	queueing = 30 * time.Second
	// tidying is how long undoing a read may take, in addition to the statement.
	tidying = 3 * time.Second
)

// Driver speaks the protocol of one type of database.
type Driver interface {
	// Open prepares access to a source. It connects to nothing.
	Open(s Source, line *Line, l Limits) (Database, error)
}

// Database is one source.
type Database interface {
	driver.Connector
	// Read reads the value in a transaction of its own. Its error is an *Error, or driver.ErrBadConn for a
	// connection that broke before anything was sent.
	Read(ctx context.Context, conn *sql.Conn, w Watch) (Value, error)
	// Explain converts an error of connecting, or of logging in, into an *Error.
	Explain(err error) *Error
}

// Options configures Pools.
type Options struct {
	// Drivers are the adapters.
	Drivers map[Type]Driver
	// Dialer makes the connections.
	Dialer *Dialer
	// Limits bound one read.
	Limits Limits
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
}

// Pools reads from any number of sources, with at most two connections to each. While a source cannot be
// reached, one attempt at a time is made, with growing and random pauses between them; other callers get the
// error of the last attempt. The error of a statement concerns only the policy that sent it.
//
// Each edit of a policy may be another source. So a source is opened only for a read that runs, and
// at most maxUnused remain open afterwards: the namespace with the most of them loses the one that was read least recently.
type Pools struct {
	Options

	mu         sync.Mutex
	pools      map[[sha256.Size]byte]*pool
	namespaces map[string]*share
}

// share is the state that the reads of one namespace share.
type share struct {
	slots chan struct{}
	users int // guarded by Pools.mu
}

// New returns empty Pools.
func New(o Options) *Pools {
	o.Limits.Connect = cmp.Or(o.Limits.Connect, 5*time.Second)
	o.Limits.Statement = cmp.Or(o.Limits.Statement, 5*time.Second)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Pools{Options: o, pools: map[[sha256.Size]byte]*pool{}, namespaces: map[string]*share{}}
}

// Read implements Reader.
func (p *Pools) Read(ctx context.Context, s Source, w Watch) (Value, error) {
	if err := w.check(); err != nil {
		return Value{}, err
	}
	one, err := p.pool(s)
	if err != nil {
		return Value{}, err
	}
	defer p.release(one)
	if err := take(ctx, one.slots); err != nil {
		return Value{}, err
	}
	defer func() { <-one.slots }()
	if err := take(ctx, one.share.slots); err != nil {
		return Value{}, err
	}
	defer func() { <-one.share.slots }()
	if err := p.open(one, s); err != nil {
		return Value{}, err
	}
	return one.read(ctx, w, p.Limits, p.Clock)
}

// take waits for a free slot.
func take(ctx context.Context, turn chan<- struct{}) error {
	waiting, stop := context.WithTimeout(ctx, queueing)
	defer stop()
	select {
	case turn <- struct{}{}:
		return nil
	case <-waiting.Done():
	}
	if ctx.Err() != nil {
		return &Error{Reason: TimedOut, Message: "the read was canceled before a connection was free"}
	}
	return &Error{Reason: TimedOut, Message: "no connection was free in time: other policies in this namespace wait too long for their databases"}
}

// Close closes all connections. No read may be in progress.
func (p *Pools) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, one := range p.pools {
		one.close()
		delete(p.pools, key)
	}
}

// pool returns the state of a source for one reader, which has to call release.
func (p *Pools) pool(s Source) (*pool, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if _, ok := p.Drivers[s.Type]; !ok {
		return nil, &Error{Reason: Invalid, Message: fmt.Sprintf("source.type %q is not known: must be postgres or mysql", s.Type)}
	}
	key := s.key()
	p.mu.Lock()
	defer p.mu.Unlock()
	one, ok := p.pools[key]
	if !ok {
		one = &pool{slots: make(chan struct{}, maxConnections), namespace: s.Namespace}
		p.pools[key] = one
	}
	p.use(one)
	return one, nil
}

// open opens a source unless it is open.
func (p *Pools) open(one *pool, s Source) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one.db != nil {
		return nil
	}
	database, err := p.Drivers[s.Type].Open(s, p.Dialer.For(s.Namespace), p.Limits)
	if err != nil {
		return err
	}
	one.Database, one.db = database, sql.OpenDB(database)
	one.db.SetMaxOpenConns(maxConnections)
	one.db.SetMaxIdleConns(maxConnections)
	one.db.SetConnMaxIdleTime(idleClose)
	one.db.SetConnMaxLifetime(lifetime)
	p.replace(s, one)
	return nil
}

// use adds one reader of a source.
func (p *Pools) use(one *pool) {
	one.users++
	if p.namespaces[one.namespace] == nil {
		p.namespaces[one.namespace] = &share{slots: make(chan struct{}, maxReads)}
	}
	if one.users == 1 {
		one.share = p.namespaces[one.namespace]
	}
	one.share.users++
}

// replace closes the idle connections with another password of the same user: a changed password is the usual
// cause for a new pool, and the limit of connections applies to the user, not to the password.
func (p *Pools) replace(s Source, by *pool) {
	s.Password = ""
	by.account = s.key()
	for _, other := range p.pools {
		if other != by && other.db != nil && other.account == by.account {
			other.db.SetMaxIdleConns(-1)
			other.db.SetMaxIdleConns(maxConnections)
		}
	}
}

// release ends what pool began, and closes the sources that need not stay open.
func (p *Pools) release(one *pool) {
	for _, other := range p.leave(one) {
		other.close()
	}
}

// leave removes one reader of a source, and then the sources to close.
func (p *Pools) leave(one *pool) (removed []*pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one.users--
	one.used = p.Clock.Now()
	if one.share.users--; one.share.users == 0 {
		delete(p.namespaces, one.namespace)
	}
	unused, total := map[string]int{}, 0
	for key, other := range p.pools {
		switch {
		case other.users > 0:
		case other.db == nil, one.used.Sub(other.used) > forget:
			delete(p.pools, key)
			removed = append(removed, other)
		default:
			unused[other.namespace]++
			total++
		}
	}
	if total > maxUnused {
		key := p.dispensable(unused)
		removed = append(removed, p.pools[key])
		delete(p.pools, key)
	}
	return removed
}

// dispensable returns, of the namespace that has the most unused sources, the one that was read least recently: one
// namespace displaces only its own.
func (p *Pools) dispensable(unused map[string]int) (key [sha256.Size]byte) {
	var last *pool
	for k, one := range p.pools {
		if one.users == 0 && (last == nil ||
			cmp.Or(cmp.Compare(unused[last.namespace], unused[one.namespace]), one.used.Compare(last.used)) < 0) {
			key, last = k, one
		}
	}
	return key
}

// key returns a key that is unique for a source and does not reveal the password.
func (s Source) key() [sha256.Size]byte {
	var all []byte
	for _, part := range s.Parts() {
		all = append(binary.BigEndian.AppendUint64(all, uint64(len(part))), part...)
	}
	return sha256.Sum256(all)
}

// pool holds the connections to one source.
type pool struct {
	slots     chan struct{}
	breaker   breaker
	namespace string

	// Guarded by Pools.mu. They do not change once the source is open.
	Database
	db      *sql.DB           // nil while the source is not open
	account [sha256.Size]byte // the source without its password

	// Guarded by Pools.mu. The share does not change while there are users.
	share *share
	users int
	used  time.Time
}

func (p *pool) close() {
	if p.db != nil {
		_ = p.db.Close()
	}
}

func (p *pool) read(ctx context.Context, w Watch, l Limits, now clock.PassiveClock) (Value, error) {
	if err := p.breaker.enter(now.Now()); err != nil {
		return Value{}, err
	}
	// A read that its caller canceled shows nothing about the source; the next one tries again.
	var outage error
	defer func() { p.breaker.leave(now.Now(), outage) }()
	value, connected, err := p.attempt(ctx, w, l)
	if err == nil {
		return value, nil
	}
	err = p.explain(err)
	if !connected && ctx.Err() == nil {
		outage = err
	}
	return Value{}, err
}

// attempt connects and reads, and reports whether it could connect. A connection that broke since it was last
// used, as all do when the server is restarted, is replaced once.
func (p *pool) attempt(ctx context.Context, w Watch, l Limits) (Value, bool, error) {
	value, connected, err := p.once(ctx, w, l)
	if errors.Is(err, driver.ErrBadConn) && ctx.Err() == nil {
		return p.once(ctx, w, l)
	}
	return value, connected, err
}

func (p *pool) once(ctx context.Context, w Watch, l Limits) (Value, bool, error) {
	conn, err := p.connect(ctx, l)
	if err != nil {
		return Value{}, false, err
	}
	defer func() { _ = conn.Close() }() // back to the pool, which closes it if it is broken
	ctx, cancel := context.WithTimeout(ctx, l.Statement+tidying)
	defer cancel()
	value, err := p.Read(ctx, conn, w)
	return value, true, err
}

func (p *pool) connect(ctx context.Context, l Limits) (*sql.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Connect)
	defer cancel()
	return p.db.Conn(ctx)
}

func (p *pool) explain(err error) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return p.Explain(err)
}
