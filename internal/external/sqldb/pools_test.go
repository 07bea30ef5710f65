// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/acme/platform-operator/internal/external/sqldb"
)

// dead is a database that cannot be connected to, until it is alive.
type dead struct {
	tries, now, most atomic.Int64
	alive            atomic.Bool
	reason           sqldb.Reason
}

// Open implements sqldb.Driver.
func (d *dead) Open(sqldb.Source, *sqldb.Line, sqldb.Limits) (sqldb.Database, error) { return d, nil }

// Connect implements driver.Connector.
func (d *dead) Connect(context.Context) (driver.Conn, error) {
	d.tries.Add(1)
	d.most.Store(max(d.most.Load(), d.now.Add(1)))
	defer d.now.Add(-1)
	if d.alive.Load() {
		return conn{}, nil
	}
	return nil, errors.New("password secret-password refused")
}

// Driver implements driver.Connector.
func (d *dead) Driver() driver.Driver { return nil }

// Read implements sqldb.Database.
func (d *dead) Read(context.Context, *sql.Conn, sqldb.Watch) (sqldb.Value, error) {
	return sqldb.Value{Kind: sqldb.KindInteger, Text: "1"}, nil
}

// Explain implements sqldb.Database.
func (d *dead) Explain(error) *sqldb.Error {
	return &sqldb.Error{Reason: d.reason, Message: "it is dead"}
}

type conn struct{ driver.Conn }

// Close implements driver.Conn.
func (conn) Close() error { return nil }

var source = sqldb.Source{Type: sqldb.Postgres, Host: "db", Port: 5432, Database: "app", User: "app", Password: "secret-password"}

// TestStorm has 200 policies read from a server that is out for ten minutes.
func TestStorm(t *testing.T) {
	for _, reason := range []sqldb.Reason{sqldb.Unreachable, sqldb.LoginRefused, sqldb.Insecure} {
		t.Run(string(reason), func(t *testing.T) {
			d, now := &dead{reason: reason}, clocktesting.NewFakePassiveClock(time.Now())
			p := sqldb.New(sqldb.Options{Drivers: map[sqldb.Type]sqldb.Driver{sqldb.Postgres: d}, Clock: now})
			t.Cleanup(p.Close)
			all := func(want error) {
				group := sync.WaitGroup{}
				for range 200 {
					group.Go(func() {
						if _, err := p.Read(t.Context(), source, query("SELECT 1")); !errors.Is(err, want) {
							t.Errorf("Read: %v, want %v", err, want)
						}
					})
				}
				group.Wait()
			}
			for range 10 * 60 {
				all(reason)
				now.SetTime(now.Now().Add(time.Second))
			}
			// Pauses are from half a minute to a minute after the first ones.
			if n := d.tries.Load(); n < 8 || n > 40 {
				t.Errorf("the server was tried %d times in ten minutes", n)
			}
			if n := d.most.Load(); n > 2 {
				t.Errorf("it was tried %d times at once", n)
			}
			d.alive.Store(true)
			now.SetTime(now.Now().Add(time.Minute))
			if v, err := p.Read(t.Context(), source, query("SELECT 1")); err != nil || v.Text != "1" {
				t.Errorf("Read = %+v, %v a minute after the server is up again", v, err)
			}
			before := d.tries.Load()
			for range 200 {
				if _, err := p.Read(t.Context(), source, query("SELECT 1")); err != nil {
					t.Errorf("Read: %v", err)
				}
			}
			if n := d.tries.Load() - before; n > 1 {
				t.Errorf("%d connections more were made for reads one after the other", n)
			}
		})
	}
}

// TestInvalid reads with invalid sources and watches: nothing is connected to.
func TestInvalid(t *testing.T) {
	d := &dead{reason: sqldb.Unreachable}
	p := sqldb.New(sqldb.Options{Drivers: map[sqldb.Type]sqldb.Driver{sqldb.Postgres: d}})
	t.Cleanup(p.Close)
	for _, c := range []struct {
		reason string
		change func(*sqldb.Source, *sqldb.Watch)
		want   string
	}{
		{"no host", func(s *sqldb.Source, _ *sqldb.Watch) { s.Host = "" }, "source.host"},
		{"a socket", func(s *sqldb.Source, _ *sqldb.Watch) { s.Host = "/var/run/postgresql" }, "source.host"},
		{"several hosts", func(s *sqldb.Source, _ *sqldb.Watch) { s.Host = "a,b" }, "source.host"},
		{"a host with a port", func(s *sqldb.Source, _ *sqldb.Watch) { s.Host = "db:5432" }, "source.host"},
		{"an option in the host", func(s *sqldb.Source, _ *sqldb.Watch) { s.Host = "db sslmode=disable" }, "source.host"},
		{"no port", func(s *sqldb.Source, _ *sqldb.Watch) { s.Port = 0 }, "source.port"},
		{"no database", func(s *sqldb.Source, _ *sqldb.Watch) { s.Database = "" }, "source.database"},
		{"no user", func(s *sqldb.Source, _ *sqldb.Watch) { s.User = "" }, "user name"},
		{"NUL in the password", func(s *sqldb.Source, _ *sqldb.Watch) { s.Password = "a\x00b" }, "the password"},
		{"an address with a user", func(s *sqldb.Source, _ *sqldb.Watch) { s.Host = "user:canary@db" }, "source.host"},
		{"parameters in the host", func(s *sqldb.Source, _ *sqldb.Watch) { s.Host = "db?sslmode=disable" }, "source.host"},
		{"a line break in the host", func(s *sqldb.Source, _ *sqldb.Watch) { s.Host = "db\nhost" }, "source.host"},
		{"an abstract socket", func(s *sqldb.Source, _ *sqldb.Watch) { s.Host = "@postgres" }, "source.host"},
		{"a zone", func(s *sqldb.Source, _ *sqldb.Watch) { s.Host = "fe80::1%eth0" }, "source.host"},
		{"a line break in the database", func(s *sqldb.Source, _ *sqldb.Watch) { s.Database = "app\nERROR" }, "source.database"},
		{"an escape sequence in the database", func(s *sqldb.Source, _ *sqldb.Watch) { s.Database = "\x1b[2J" }, "source.database"},
		{"a line break in the name of the certificate", func(s *sqldb.Source, _ *sqldb.Watch) { s.TLS.ServerName = "a\nb" }, "source.tls.serverName"},
		{"a line break in the table", func(_ *sqldb.Source, w *sqldb.Watch) { *w = sqldb.Watch{Table: "t\n", Column: "c"} }, "watch.table"},
		{"a control character in the column", func(_ *sqldb.Source, w *sqldb.Watch) { *w = sqldb.Watch{Table: "t", Column: "c\u009b"} }, "watch.column"},
		{"unknown type", func(s *sqldb.Source, _ *sqldb.Watch) { s.Type = "oracle" }, "oracle"},
		{"nothing to read", func(_ *sqldb.Source, w *sqldb.Watch) { *w = sqldb.Watch{} }, "watch needs"},
		{"query and table", func(_ *sqldb.Source, w *sqldb.Watch) { w.Table = "t" }, "both"},
		{"query and where", func(_ *sqldb.Source, w *sqldb.Watch) { w.Where = "true" }, "both"},
		{"a table without column", func(_ *sqldb.Source, w *sqldb.Watch) { *w = sqldb.Watch{Table: "t"} }, "watch needs"},
		{"three names", func(_ *sqldb.Source, w *sqldb.Watch) { *w = sqldb.Watch{Table: "a.b.c", Column: "d"} }, "SCHEMA.TABLE"},
		{"half a name", func(_ *sqldb.Source, w *sqldb.Watch) { *w = sqldb.Watch{Table: "a.", Column: "d"} }, "SCHEMA.TABLE"},
		{"NUL in the query", func(_ *sqldb.Source, w *sqldb.Watch) { w.Query = "SELECT 1\x00" }, "watch.query"},
		{"no UTF-8", func(_ *sqldb.Source, w *sqldb.Watch) { w.Query = "SELECT '\xff'" }, "watch.query"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s, w := source, query("SELECT 1")
			c.change(&s, &w)
			if message := refused(t, p, s, w, sqldb.Invalid); !strings.Contains(message, c.want) || strings.ContainsAny(message, "\n\x1b") ||
				strings.Contains(message, "canary") {
				t.Errorf("the message does not name %s, or repeats what is wrong: %s", c.want, message)
			}
		})
	}
	if n := d.tries.Load(); n != 0 {
		t.Errorf("it was connected to %d times", n)
	}
}
