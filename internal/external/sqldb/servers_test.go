// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/external/sqldb/mysql"
	"github.com/acme/platform-operator/internal/external/sqldb/postgres"
	"github.com/acme/platform-operator/internal/external/sqldb/sqltest"
)

// patience is for what does not depend on a limit that is tested.
const patience = 2 * time.Minute

var thisMachine = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// pools are Pools whose limits only those run into that mean to.
func pools(t *testing.T, with ...func(*sqldb.Options)) *sqldb.Pools {
	t.Helper()
	o := sqldb.Options{
		Drivers: map[sqldb.Type]sqldb.Driver{sqldb.Postgres: postgres.Driver{}, sqldb.MySQL: mysql.Driver{}},
		Dialer:  &sqldb.Dialer{Allow: thisMachine},
		Limits:  sqldb.Limits{Connect: patience, Statement: patience},
	}
	for _, w := range with {
		w(&o)
	}
	p := sqldb.New(o)
	t.Cleanup(p.Close)
	return p
}

func statements(limit time.Duration) func(*sqldb.Options) {
	return func(o *sqldb.Options) { o.Limits.Statement = limit }
}

// server is one type of server with what differs between the two.
type server struct {
	*sqltest.Server
	sleep      string // a query that takes two minutes
	quoted     [2]string
	values     []valueCase
	writes     []string
	lock, held string // takes a lock that outlives the transaction, counts such locks
}

func servers(t *testing.T) map[string]*server {
	t.Helper()
	return map[string]*server{
		"postgres": {
			Server: sqltest.StartPostgres(t), sleep: "SELECT pg_sleep(120)", quoted: [2]string{`"we""ird"`, "\"a`b c\""},
			values: postgresValues, writes: postgresWrites,
			lock: "SELECT pg_try_advisory_lock(7)", held: "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
		},
		"mariadb": {
			Server: sqltest.StartMariaDB(t), sleep: "SELECT sleep(120)", quoted: [2]string{"`we\"ird`", "`a``b c`"},
			values: mariadbValues, writes: mariadbWrites,
			lock: "SELECT get_lock('seven', 0)", held: "SELECT is_used_lock('seven') IS NOT NULL",
		},
	}
}

// TestServers tests the adapters and Pools with real servers.
func TestServers(t *testing.T) {
	for name, s := range servers(t) {
		t.Run(name, func(t *testing.T) {
			t.Run("values", s.testValues)
			t.Run("a value that changes", s.testChange)
			t.Run("not one value", s.testNotOne)
			t.Run("names are quoted", s.testNames)
			t.Run("writes change nothing", s.testWrites)
			t.Run("no lock outlives a read", s.testLocks)
			t.Run("a statement that takes too long", s.testSleep)
			t.Run("many policies", s.testMany)
			t.Run("large values", s.testLarge)
			t.Run("TLS", s.testTLS)
			t.Run("who may not log in", s.testLogin)
			t.Run("passwords", s.testPasswords)
			t.Run("no message repeats anything", s.testSilence)
			t.Run("statements that do not end", s.testHostile)
			t.Run("a server that looks for us", s.testClientCheck)
			t.Run("a statement with notices", s.testNotices)
			t.Run("restart", s.testRestart)
			t.Run("outage", s.testOutage)
		})
	}
}

func query(q string) sqldb.Watch { return sqldb.Watch{Query: q} }

// read reads a value that has to be there.
func read(t *testing.T, p sqldb.Reader, s sqldb.Source, w sqldb.Watch) sqldb.Value {
	t.Helper()
	v, err := p.Read(t.Context(), s, w)
	if err != nil {
		t.Fatalf("reading %+v: %v", w, err)
	}
	return v
}

// refused reads a value that cannot be had, for a reason, and gives the message.
func refused(t *testing.T, p sqldb.Reader, s sqldb.Source, w sqldb.Watch, want sqldb.Reason) string {
	t.Helper()
	v, err := p.Read(t.Context(), s, w)
	e := (*sqldb.Error)(nil)
	if !errors.As(err, &e) || !errors.Is(err, want) {
		t.Fatalf("reading %+v = %+v, %v; want the reason %s", w, v, err, want)
	}
	if strings.Contains(e.Message, s.Password) && len(s.Password) > 3 {
		t.Errorf("the message gives the password away: %s", e.Message)
	}
	return e.Message
}

type valueCase struct {
	reason, query string
	want          sqldb.Value
}

func (s *server) testValues(t *testing.T) {
	p := pools(t)
	for _, c := range s.values {
		t.Run(c.reason, func(t *testing.T) {
			if diff := cmp.Diff(c.want, read(t, p, s.Source, query(c.query))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.query, diff)
			}
		})
	}
}

func (s *server) testChange(t *testing.T) {
	s.Exec("CREATE TABLE settings (name varchar(20), value varchar(20))", "GRANT SELECT ON settings TO app",
		"INSERT INTO settings VALUES ('release', 'one'), ('other', 'x')")
	p := pools(t)
	w := sqldb.Watch{Table: "settings", Column: "value", Where: "name = 'release' -- the one"}
	seen := map[string]bool{}
	for _, change := range []string{"", "'two'", "NULL", "''", "'NULL'", "0"} {
		if change != "" {
			s.Exec("UPDATE settings SET value = " + change + " WHERE name = 'release'")
		}
		v := read(t, p, s.Source, w)
		if seen[string(v.Canonical())] {
			t.Errorf("%+v reads like a value before it", v)
		}
		if again := read(t, p, s.Source, w); again != v {
			t.Errorf("read %+v, and then %+v", v, again)
		}
		seen[string(v.Canonical())] = true
	}
	s.Exec("UPDATE settings SET value = '5' WHERE name = 'release'")
	before := read(t, p, s.Source, w)
	s.Exec("ALTER TABLE settings ADD COLUMN number int", "UPDATE settings SET number = 5")
	w.Column = "number"
	after := read(t, p, s.Source, w)
	if before.Kind.Comparable(after.Kind) || before.Text != after.Text {
		t.Errorf("a text %+v is comparable to a number %+v", before, after)
	}
}

func (s *server) testNotOne(t *testing.T) {
	s.Exec("CREATE TABLE three (n int)", "GRANT SELECT ON three TO app", "INSERT INTO three VALUES (1), (2), (3)")
	p := pools(t)
	three := func(where string) sqldb.Watch { return sqldb.Watch{Table: "three", Column: "n", Where: where} }
	refused(t, p, s.Source, three("n = 4"), sqldb.NoRow)
	refused(t, p, s.Source, three("n < 3"), sqldb.ManyRows)
	refused(t, p, s.Source, three(""), sqldb.ManyRows)
	refused(t, p, s.Source, query("SELECT n FROM three LIMIT 3"), sqldb.ManyRows)
	refused(t, p, s.Source, query("SELECT n, n FROM three WHERE n = 1"), sqldb.ManyColumns)
	if message := refused(t, p, s.Source, sqldb.Watch{Table: "nowhere", Column: "n"}, sqldb.Refused); !strings.Contains(message, "no such table") {
		t.Errorf("the message does not name what is missing: %s", message)
	}
	if v := read(t, p, s.Source, three("n = 2")); v.Text != "2" {
		t.Errorf("read %+v, want 2", v)
	}
}

func (s *server) testNames(t *testing.T) {
	table, column := s.quoted[0], s.quoted[1]
	s.Exec("CREATE TABLE "+table+" ("+column+" int)", "GRANT SELECT ON "+table+" TO app", "INSERT INTO "+table+" VALUES (11)")
	p := pools(t)
	for _, name := range []string{`we"ird`, map[sqldb.Type]string{sqldb.Postgres: "public", sqldb.MySQL: "app"}[s.Type] + `.we"ird`} {
		if v := read(t, p, s.Source, sqldb.Watch{Table: name, Column: "a`b c"}); v.Text != "11" {
			t.Errorf("%s: read %+v, want 11", name, v)
		}
	}
	refused(t, p, s.Source, sqldb.Watch{Table: `x" WHERE false; DROP TABLE "we""ird"; --`, Column: "n"}, sqldb.Refused)
	refused(t, p, s.Source, sqldb.Watch{Table: "x`; DROP TABLE x; -- ", Column: "n"}, sqldb.Refused)
}

func (s *server) testWrites(t *testing.T) {
	s.Exec("CREATE TABLE precious (n int)", "GRANT ALL ON precious TO app", "INSERT INTO precious VALUES (1)")
	s.Exec(map[sqldb.Type][]string{sqldb.Postgres: postgresFunctions, sqldb.MySQL: mariadbFunctions}[s.Type]...)
	p := pools(t)
	for _, q := range s.writes {
		t.Run(q, func(t *testing.T) {
			refused(t, p, s.Source, query(q), sqldb.Refused)
			if n := s.Int("SELECT n FROM precious"); n != 1 {
				t.Fatalf("the table holds %d", n)
			}
		})
	}
	for _, where := range []string{"1 = 1); DROP TABLE precious; --", "1 = 1); UPDATE precious SET n = 2 WHERE (1 = 1", "1 = 1;"} {
		refused(t, p, s.Source, sqldb.Watch{Table: "precious", Column: "n", Where: where}, sqldb.Refused)
	}
	if s.Type == sqldb.Postgres {
		refused(t, p, s.Source, query("SELECT FROM precious"), sqldb.ManyColumns)
		for _, q := range postgresUndone {
			read(t, p, s.Source, query(q))
		}
		if n := s.Int("SELECT count(*) FROM pg_largeobject_metadata"); n != 0 {
			t.Errorf("%d large objects are there", n)
		}
		if v := read(t, p, s.Source, query("SELECT current_setting('search_path')")); v.Text != "pg_catalog, public, pg_temp" {
			t.Errorf("the search path is %s", v.Text)
		}
	}
	if v := read(t, p, s.Source, query(" SELECT n FROM precious; ")); v.Text != "1" {
		t.Errorf("read %+v, want 1", v)
	}
}

// quiet waits until no connection is left: servers take their time to notice that a connection is closed.
func (s *server) quiet(t *testing.T) {
	t.Helper()
	s.until(t, func() bool { return s.Sessions() == 0 }, "nobody is connected")
}

func (s *server) until(t *testing.T, happened func() bool, what string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !happened(); {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come about that %s", what)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// answers waits until a pool reads from the server: again after what went wrong, and within its limit, which may be short.
func (s *server) answers(t *testing.T, p *sqldb.Pools) {
	t.Helper()
	s.until(t, func() bool {
		v, err := p.Read(t.Context(), s.Source, query("SELECT 1"))
		return err == nil && v.Text == "1"
	}, "the server is read from")
}

func (s *server) testLocks(t *testing.T) {
	s.quiet(t)
	p := pools(t)
	read(t, p, s.Source, query(s.lock))
	if n := s.Int(s.held); n != 0 {
		t.Errorf("%d locks are held after the read", n)
	}
	if n := s.Sessions(); n != 1 {
		t.Errorf("%d connections, want the one that is used again", n)
	}
}

func (s *server) testSleep(t *testing.T) {
	p := pools(t, statements(300*time.Millisecond))
	refused(t, p, s.Source, query(s.sleep), sqldb.TimedOut)
	s.answers(t, p)
	given, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if v, err := pools(t).Read(given, s.Source, query(s.sleep)); !errors.Is(err, sqldb.TimedOut) && !errors.Is(err, sqldb.Unreachable) {
		t.Errorf("Read = %+v, %v", v, err)
	}
}
