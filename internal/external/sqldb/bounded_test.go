// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/acme/platform-operator/internal/external/sqldb"
)

// counted counts the sources that are open, and how often each was opened. Connecting fails when fails is closed.
type counted struct {
	open, most atomic.Int64
	fails      chan struct{}

	mu     sync.Mutex
	opened map[string]int
}

func newCounted() *counted { return &counted{fails: make(chan struct{}), opened: map[string]int{}} }

// Open implements sqldb.Driver.
func (c *counted) Open(s sqldb.Source, _ *sqldb.Line, _ sqldb.Limits) (sqldb.Database, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened[s.Namespace+"/"+s.Database]++
	c.most.Store(max(c.most.Load(), c.open.Add(1)))
	return &countedSource{c: c}, nil
}

// openings returns how often a source was opened.
func (c *counted) openings(s sqldb.Source) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened[s.Namespace+"/"+s.Database]
}

type countedSource struct {
	dead
	c *counted
}

var _ io.Closer = &countedSource{}

// Connect implements driver.Connector.
func (s *countedSource) Connect(ctx context.Context) (driver.Conn, error) {
	select {
	case <-s.c.fails:
		return nil, errors.New("there is nothing")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Read implements sqldb.Database.
func (s *countedSource) Read(context.Context, *sql.Conn, sqldb.Watch) (sqldb.Value, error) {
	return sqldb.Value{}, nil
}

// Explain implements sqldb.Database.
func (s *countedSource) Explain(error) *sqldb.Error {
	return &sqldb.Error{Reason: sqldb.Unreachable}
}

// Close implements io.Closer; the pool of connections calls it when it is closed.
func (s *countedSource) Close() error {
	s.c.open.Add(-1)
	return nil
}

func numbered(namespace string, i int) sqldb.Source {
	s := source
	s.Namespace, s.Database = namespace, fmt.Sprint("db", i)
	return s
}

// TestEditedSources has one namespace edit its source a thousand times: few of the former ones stay open, and none of
// another namespace is closed for them.
func TestEditedSources(t *testing.T) {
	d, now := newCounted(), clocktesting.NewFakePassiveClock(time.Now())
	close(d.fails)
	p := sqldb.New(sqldb.Options{Drivers: map[sqldb.Type]sqldb.Driver{sqldb.Postgres: d}, Clock: now})
	t.Cleanup(p.Close)
	for i := range 20 {
		refused(t, p, numbered("other", i), query("SELECT 1"), sqldb.Unreachable)
	}
	for i := range 1000 {
		now.SetTime(now.Now().Add(10 * time.Millisecond))
		refused(t, p, numbered("edited", i), query("SELECT 1"), sqldb.Unreachable)
		refused(t, p, numbered("edited", 0), query("SELECT 1"), sqldb.Unreachable)
	}
	if n := d.open.Load(); n != 512 {
		t.Errorf("%d sources are open, want 512", n)
	}
	kept := func(s sqldb.Source, why string) {
		t.Helper()
		if refused(t, p, s, query("SELECT 1"), sqldb.Unreachable); d.openings(s) != 1 {
			t.Errorf("%s was opened %d times, want once", why, d.openings(s))
		}
	}
	for i := range 20 {
		kept(numbered("other", i), "a source of the other namespace")
	}
	kept(numbered("edited", 0), "the source that is read all the time")
	kept(numbered("edited", 999), "the source that was read last")
	now.SetTime(now.Now().Add(11 * time.Minute))
	if refused(t, p, numbered("other", 0), query("SELECT 1"), sqldb.Unreachable); d.open.Load() != 1 {
		t.Errorf("%d sources are open after ten minutes, want that which is read", d.open.Load())
	}
}

// TestManySourcesAtOnce has one namespace read from hundreds of sources that do not answer: few of them are open at
// once, and another namespace does not wait for them.
func TestManySourcesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newCounted()
		p := sqldb.New(sqldb.Options{Drivers: map[sqldb.Type]sqldb.Driver{sqldb.Postgres: d}})
		t.Cleanup(p.Close)
		group := sync.WaitGroup{}
		start := func(s sqldb.Source) {
			group.Go(func() { _, _ = p.Read(t.Context(), s, query("SELECT 1")) })
		}
		for i := range 300 {
			start(numbered("flood", i))
		}
		synctest.Wait()
		if n := d.most.Load(); n > 6 {
			t.Errorf("%d sources were open at once, want at most 6", n)
		}
		start(numbered("other", 0))
		synctest.Wait()
		if d.openings(numbered("other", 0)) != 1 {
			t.Error("the other namespace waits")
		}
		close(d.fails)
		group.Wait()
	})
}
