// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acme/platform-operator/internal/external/sqldb"
)

// hostilePostgres are functions that do what they like with the process that serves us.
var hostilePostgres = []string{
	// What comes first outlives time limits and cancelling.
	`CREATE FUNCTION stubborn() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
		LOOP BEGIN PERFORM pg_sleep(3600); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$`,
	// This one ignores that the client has gone, too.
	`CREATE FUNCTION blind() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
		PERFORM set_config('client_connection_check_interval', '0', false);
		LOOP BEGIN PERFORM pg_sleep(3600); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$`,
	// Nor does it want to be known.
	`CREATE FUNCTION masked() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
		PERFORM set_config('client_connection_check_interval', '0', false);
		PERFORM set_config('application_name', 'another', false);
		LOOP BEGIN PERFORM pg_sleep(3600); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$`,
	`CREATE FUNCTION chatter() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
		SET client_min_messages = 'notice';
		FOR i IN 1..500 LOOP RAISE NOTICE '%', repeat('canary-value ', 1000); END LOOP; RETURN 1; END $$`,
	`CREATE FUNCTION mutter() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
		FOR i IN 1..500 LOOP RAISE NOTICE '%', repeat('canary-value ', 1000); END LOOP; RETURN 1; END $$`,
}

var hostileMariaDB = []string{
	`CREATE FUNCTION stubborn() RETURNS int NOT DETERMINISTIC BEGIN DECLARE n int;
		DECLARE CONTINUE HANDLER FOR SQLEXCEPTION, SQLWARNING SET n = 0;
		LOOP SET n = sleep(3600); END LOOP; RETURN 1; END`,
	`CREATE FUNCTION chatter() RETURNS int NOT DETERMINISTIC BEGIN DECLARE n int DEFAULT 0;
		WHILE n < 500 DO SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'canary-value'; SET n = n + 1; END WHILE; RETURN 1; END`,
	"GRANT EXECUTE ON app.* TO app@'%'",
}

// testHostile calls functions that want to keep the server's processes, or the pool, for themselves.
func (s *server) testHostile(t *testing.T) {
	s.quiet(t)
	s.Exec(map[sqldb.Type][]string{sqldb.Postgres: hostilePostgres, sqldb.MySQL: hostileMariaDB}[s.Type]...)
	s.outlive(t, "SELECT stubborn()")
	if s.Type != sqldb.Postgres {
		return
	}
	s.outlive(t, "SELECT blind()")
	s.outlive(t, "SELECT masked()")
	// A session whose role is not its user, and in which nothing is what it is called.
	s.Exec("CREATE ROLE owner", "GRANT owner TO app", "ALTER ROLE app SET role = owner",
		"CREATE SCHEMA fake", "GRANT USAGE ON SCHEMA fake TO PUBLIC", "ALTER ROLE app SET search_path = fake, pg_catalog",
		"CREATE FUNCTION fake.never(int, int) RETURNS bool LANGUAGE sql AS 'SELECT false'",
		"CREATE OPERATOR fake.= (LEFTARG = int, RIGHTARG = int, FUNCTION = fake.never)")
	s.outlive(t, "SELECT masked()")
	if v := read(t, pools(t), s.Source, query("SELECT current_user::text")); v.Text != "owner" {
		t.Errorf("it reads as %s, want the role of its settings", v.Text)
	}
	s.Exec("ALTER ROLE app RESET role", "ALTER ROLE app RESET search_path")
}

// outlive runs a query that never ends, time and again.
func (s *server) outlive(t *testing.T, q string) {
	t.Helper()
	p := pools(t, statements(300*time.Millisecond))
	defer p.Close()
	for range 3 {
		refused(t, p, s.Source, query(q), sqldb.TimedOut)
	}
	// Neither the processes of those statements nor more than two others are there.
	s.until(t, func() bool { return s.Sessions() <= 2 }, "the server ends what runs for ever: "+q)
	s.answers(t, p)
}

// testClientCheck lets go of a statement without a word: the server ends it by itself.
func (s *server) testClientCheck(t *testing.T) {
	if s.Type != sqldb.Postgres {
		t.Skip("other servers end a statement at its time limit in any case")
	}
	if v := read(t, pools(t), s.Source, query("SELECT current_setting('client_connection_check_interval')")); v.Text != "1s" {
		t.Errorf("the server looks for us every %s, want 1s", v.Text)
	}
}

// testNotices has one statement send more notices than are read: that affects no other statement.
func (s *server) testNotices(t *testing.T) {
	noise := map[sqldb.Type]string{sqldb.Postgres: "SELECT chatter()", sqldb.MySQL: "SELECT repeat('canary-value ', 500000)"}[s.Type]
	p := pools(t)
	for range 5 {
		refused(t, p, s.Source, query(noise), sqldb.TooLarge)
		if v := read(t, p, s.Source, query("SELECT 1")); v.Text != "1" {
			t.Errorf("the neighbour read %+v, want 1", v)
		}
	}
	if s.Type == sqldb.Postgres {
		read(t, p, s.Source, query("SELECT mutter()")) // the server is asked to keep notices to itself
	}
}

// failing is a database whose statements all fail like an outage, while everybody can connect to it.
type failing struct {
	dead
	asked atomic.Int64
}

// Open implements sqldb.Driver.
func (f *failing) Open(sqldb.Source, *sqldb.Line, sqldb.Limits) (sqldb.Database, error) {
	return f, nil
}

// Read implements sqldb.Database.
func (f *failing) Read(_ context.Context, _ *sql.Conn, w sqldb.Watch) (sqldb.Value, error) {
	f.asked.Add(1)
	if strings.Contains(w.Query, "good") {
		return sqldb.Value{Text: "1"}, nil
	}
	return sqldb.Value{}, sqldb.Broken()
}

// TestBreakerIsForConnections has one policy's statements break their connections: its neighbours read on.
func TestBreakerIsForConnections(t *testing.T) {
	f := &failing{}
	f.alive.Store(true)
	p := sqldb.New(sqldb.Options{Drivers: map[sqldb.Type]sqldb.Driver{sqldb.Postgres: f}})
	t.Cleanup(p.Close)
	for range 10 {
		refused(t, p, source, query("SELECT bad"), sqldb.Unreachable)
		read(t, p, source, query("SELECT good"))
	}
	if n := f.asked.Load(); n != 20 {
		t.Errorf("the server was asked %d times, want 20", n)
	}
}

// slow is a database that answers on command, and counts the waiting callers.
type slow struct {
	dead
	waiting, most atomic.Int64
	release       chan struct{}
}

// Open implements sqldb.Driver.
func (s *slow) Open(sqldb.Source, *sqldb.Line, sqldb.Limits) (sqldb.Database, error) { return s, nil }

// Read implements sqldb.Database.
func (s *slow) Read(context.Context, *sql.Conn, sqldb.Watch) (sqldb.Value, error) {
	s.most.Store(max(s.most.Load(), s.waiting.Add(1)))
	<-s.release
	s.waiting.Add(-1)
	return sqldb.Value{Text: "1"}, nil
}

// TestOneNamespace has one namespace read from fifty sources at once: few statements run, so that their values take
// little memory, and those of another namespace run beside them.
func TestOneNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &slow{release: make(chan struct{})}
		d.alive.Store(true)
		p := sqldb.New(sqldb.Options{Drivers: map[sqldb.Type]sqldb.Driver{sqldb.Postgres: d}})
		t.Cleanup(p.Close)
		done := make(chan error, 51)
		start := func(namespace, database string) {
			s := source
			s.Namespace, s.Database = namespace, database
			go func() { _, err := p.Read(t.Context(), s, query("SELECT 1")); done <- err }()
		}
		running := func(want int64) {
			t.Helper()
			synctest.Wait() // all that can run runs
			if n := d.waiting.Load(); n != want {
				t.Errorf("%d statements run, want %d", n, want)
			}
		}
		for i := range 50 {
			start("flood", strings.Repeat("x", i+1))
		}
		running(6)
		start("other", "app")
		running(7)
		close(d.release)
		for range 51 {
			if err := <-done; err != nil {
				t.Errorf("Read: %v", err)
			}
		}
		if n := d.most.Load(); n > 7 {
			t.Errorf("%d statements ran at once", n)
		}
	})
}

// testSilence goes through all ways to fail, with canaries wherever a secret or a value may be: no message repeats any,
// and each says where to look.
func (s *server) testSilence(t *testing.T) {
	const canary = "canary"
	s.Exec("CREATE TABLE quiet (v varchar(50), n int)", "INSERT INTO quiet VALUES ('canary-value', 1)", "GRANT SELECT ON quiet TO app",
		"CREATE TABLE locked (v varchar(50))")
	if s.Type == sqldb.Postgres {
		s.Exec("CREATE FUNCTION raise() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'canary-value' USING HINT = 'canary-hint'; END $$",
			"CREATE FUNCTION tell(c text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'canary-value' USING ERRCODE = c; END $$")
	}
	with := func(change func(*sqldb.Source)) sqldb.Source {
		source := s.Source
		change(&source)
		return source
	}
	type trouble struct {
		source sqldb.Source
		watch  sqldb.Watch
		want   sqldb.Reason
		says   string
	}
	troubles := map[string]trouble{
		"password":   {with(func(s *sqldb.Source) { s.Password = "canary-password" }), query("SELECT 1"), sqldb.LoginRefused, "source.credentialsSecretRef"},
		"user":       {with(func(s *sqldb.Source) { s.User = "canary-user" }), query("SELECT 1"), sqldb.LoginRefused, "source.credentialsSecretRef"},
		"both":       {with(func(s *sqldb.Source) { s.User, s.Password = "canary-a", "canary-b" }), query("SELECT 1"), sqldb.LoginRefused, "source.credentialsSecretRef"},
		"TLS name":   {with(func(s *sqldb.Source) { s.TLS.ServerName = "canary.acme.com" }), query("SELECT 1"), sqldb.Insecure, "source.tls.serverName"},
		"CA":         {with(func(s *sqldb.Source) { s.TLS.CA = "canary-ca" }), query("SELECT 1"), sqldb.Invalid, "source.tls.caSecretRef"},
		"table":      {s.Source, sqldb.Watch{Table: "canary_table", Column: "v"}, sqldb.Refused, "watch.table"},
		"column":     {s.Source, sqldb.Watch{Table: "quiet", Column: "canary_column"}, sqldb.Refused, "watch.column"},
		"schema":     {s.Source, sqldb.Watch{Table: "canary_schema.quiet", Column: "v"}, sqldb.Refused, "watch.table"},
		"rights":     {s.Source, sqldb.Watch{Table: "locked", Column: "v", Where: "v = 'canary'"}, sqldb.Refused, "grant SELECT"},
		"syntax":     {s.Source, sqldb.Watch{Table: "quiet", Column: "v", Where: "canary canary"}, sqldb.Refused, "watch.where"},
		"function":   {s.Source, query("SELECT canary_function('canary')"), sqldb.Refused, "watch.query"},
		"write":      {s.Source, query("SELECT v FROM quiet FOR UPDATE"), sqldb.Refused, ""},
		"subquery":   {s.Source, query("SELECT (SELECT 'canary' UNION SELECT 'canary2')"), sqldb.Refused, "watch.query"},
		"rows":       {s.Source, query("SELECT 'canary' UNION SELECT 'canary2'"), sqldb.ManyRows, "watch.query"},
		"columns":    {s.Source, query("SELECT 'canary', v FROM quiet"), sqldb.ManyColumns, "one"},
		"too large":  {s.Source, query("SELECT repeat('canary', 1000000)"), sqldb.TooLarge, "hash"},
		"no command": {s.Source, query("DROP TABLE canary"), sqldb.Refused, "watch.query"},
	}
	if s.Type == sqldb.Postgres {
		troubles["database"] = trouble{with(func(s *sqldb.Source) { s.Database = "postgres" }), query("SELECT 1"), sqldb.LoginRefused, "source."}
		troubles["cast"] = trouble{s.Source, query("SELECT v::int FROM quiet"), sqldb.Refused, "cast"}
		troubles["time"] = trouble{s.Source, query("SELECT v::date FROM quiet"), sqldb.Refused, "date"}
		troubles["range"] = trouble{s.Source, query("SELECT n * 2147483647 * 2147483647 FROM quiet"), sqldb.Refused, "range"}
		troubles["raised"] = trouble{s.Source, query("SELECT raise()"), sqldb.Refused, "function"}
		troubles["raised as a class"] = trouble{s.Source, query("SELECT tell('42P01')"), sqldb.Refused, "no such table"}
		troubles["raised as something else"] = trouble{s.Source, query("SELECT tell('Z0001')"), sqldb.Refused, "Z0001"}
		troubles["raised as an outage"] = trouble{s.Source, query("SELECT tell('57P01')"), sqldb.Unreachable, "57P01"}
		troubles["operator"] = trouble{s.Source, query("SELECT v + 'canary' FROM quiet"), sqldb.Refused, "watch.query"}
	} else {
		delete(troubles, "rights") // the user has all of them in its database
		delete(troubles, "schema") // a database that the user may not see
		delete(troubles, "write")  // takes no lock in a read-only transaction
		troubles["database"] = trouble{with(func(s *sqldb.Source) { s.Database = "canary_database" }), query("SELECT 1"), sqldb.LoginRefused, "source.database"}
		troubles["signal"] = trouble{s.Source, query("SELECT chatter()"), "", ""}
	}
	p := pools(t)
	for name, c := range troubles {
		t.Run(name, func(t *testing.T) {
			_, err := p.Read(t.Context(), c.source, c.watch)
			e := (*sqldb.Error)(nil)
			if c.want == "" && err == nil {
				return
			}
			if !errors.As(err, &e) || c.want != "" && e.Reason != c.want {
				t.Fatalf("Read = %v, want the reason %s", err, c.want)
			}
			for _, secret := range []string{canary, s.Password, `"` + s.User + `"`, "'" + s.User + "'"} {
				if strings.Contains(e.Message+e.Detail, secret) {
					t.Errorf("it repeats %s: %s (%s)", secret, e.Message, e.Detail)
				}
			}
			if !strings.Contains(e.Message, c.says) {
				t.Errorf("it does not say %q: %s", c.says, e.Message)
			}
		})
	}
}
