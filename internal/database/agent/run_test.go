// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

func TestRunMakesADatabaseThatItsUserCanUse(t *testing.T) {
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		p.start()
		db := p.user()
		p.exec(db, "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
		s, err := p.status()
		if err != nil {
			t.Fatal(err)
		}
		if a := s.Account(result.SlotA); a == nil || !a.InForce || a.Revision != "1" || !a.Login || a.Error != "" || s.Account(result.SlotB) != nil {
			t.Errorf("the accounts are %+v", s.Accounts)
		}
		if s.Phase != result.Running || s.Door != result.DoorOpen || !s.Parameters.InForce || s.Storage.Total == 0 || s.Storage.Database == 0 || s.ServerVersion == "" {
			t.Errorf("the status is %+v", s)
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			if code, text, err := p.get(path); err != nil || code != 200 {
				t.Errorf("%s answers %d %s (%v)", path, code, text, err)
			}
		}
		if _, text, _ := p.get("/metrics"); !strings.Contains(text, "\ndatabase_up 1\n") || !strings.Contains(text, "\ndatabase_size_bytes ") {
			t.Errorf("the metrics are %s", text)
		}
		p.stop()
		p.start()
		if got := p.text(p.user(), "SELECT count(*) FROM t"); got != "2" {
			t.Errorf("after a restart there are %s rows, want 2", got)
		}
		p.stop()
		if text := p.log.String(); strings.Contains(text, adminPassword) || strings.Contains(text, userPassword) {
			t.Error("the log has a password")
		}
	})
}

func TestOnlyTheAgentHasPower(t *testing.T) {
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		p.start()
		// Everybody else needs a password, also on the socket and also the accounts that the server makes for itself.
		for _, name := range []string{"root", "postgres", "", result.Admin, result.Owner} {
			if err := p.as(name, "").PingContext(t.Context()); err == nil {
				t.Errorf("%q logs in without a password", name)
			}
		}
		query := "SELECT count(*) FROM acme_agent.records"
		if kind == result.Postgres {
			query = "SELECT count(*) FROM pg_authid"
			p.names.Database = result.AdminDatabase
			if err := p.user().PingContext(t.Context()); err == nil {
				t.Error("the user connects to the agent's database")
			}
			p.names.Database = "app"
		}
		if _, err := p.user().ExecContext(t.Context(), query); err == nil {
			t.Error("the user reads what is the agent's")
		}
	})
}

func TestOddNamesAndPasswords(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	t.Parallel()
	long := strings.Repeat("x", 61) + `"'`
	for name, c := range map[string]struct{ kind, database, user, password string }{
		"postgres root":     {result.Postgres, "select", "root", `quote'double"back\slash`},
		"postgres postgres": {result.Postgres, "postgres", "postgres", "line\nbreak\ttab 'x'"},
		"postgres quotes":   {result.Postgres, long, long, "pässwörd-密码-🔑"},
		"postgres equals":   {result.Postgres, `a=b 'c' \d`, "-rf", ":*:\\"},
		"mysql root":        {result.MySQL, "select", "root", `quote'double"back\slash`},
		"mysql postgres":    {result.MySQL, "root", "postgres", "line\nbreak\ttab 'x'"},
		"mysql quotes":      {result.MySQL, strings.Repeat("x", 60) + "`'\"", strings.Repeat("y", 29) + "`'\"", "pässwörd-密码"},
		"mysql wildcards":   {result.MySQL, `a_b%c\d`, "-rf", `$(reboot)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPod(t, c.kind)
			p.names.Database, p.names.User = c.database, c.user
			p.mount("accounts/a-password", c.password)
			p.mount("accounts/b-password", c.password+"2")
			p.start()
			p.exec(p.as(c.user, c.password), "CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)")
			p.exec(p.as(result.AccountName(c.kind, c.user, result.SlotB), c.password+"2"), "INSERT INTO t VALUES (2)", "ALTER TABLE t ADD more int")
			if err := p.as(c.user, c.password+"x").PingContext(t.Context()); err == nil {
				t.Error("another password logs in")
			}
		})
	}
}

func TestBadInputEndsWithAReason(t *testing.T) {
	t.Parallel()
	p := newPod(t, result.Postgres)
	for what, change := range map[string]func(){
		"user name":     func() { p.names.User = result.Admin },
		"database name": func() { p.names.Database = result.AdminDatabase },
		"long":          func() { p.names.User = strings.Repeat("x", 64) },
		"type":          func() { p.kind = "oracle" },
		"key":           func() { _ = os.Remove(p.path("accounts/admin-password")) },
	} {
		kind, names := p.kind, p.names
		change()
		p.launch()
		<-p.exited
		if code := p.process.ProcessState.ExitCode(); code != result.ExitInput {
			t.Errorf("%s: the exit code is %d, want %d", what, code, result.ExitInput)
		}
		p.process, p.kind, p.names = nil, kind, names
	}
}

func TestTwoAgentsNeverServeTheSameData(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		first := newPod(t, kind)
		first.start()
		first.exec(first.user(), "CREATE TABLE t (id int)")
		second := newPod(t, kind)
		if err := os.Remove(second.path("data")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(first.path("data"), second.path("data")); err != nil {
			t.Fatal(err)
		}
		second.launch()
		second.eventually("the second waits", func() error {
			s, err := second.status()
			if err == nil && (s.Phase != result.Waiting || !strings.Contains(s.Message, "another pod has this data")) {
				err = fmt.Errorf("it is %+v", s)
			}
			return err
		})
		first.kill() // without any cleaning up
		second.eventually("the second serves", func() error {
			s, err := second.status()
			if err == nil && !s.Ready {
				err = fmt.Errorf("it is %+v", s)
			}
			return err
		})
		second.exec(second.user(), "INSERT INTO t VALUES (1)")
	})
}

func TestAForeignServersLockIsWaitedFor(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	t.Parallel()
	p := newPod(t, result.Postgres)
	p.start()
	p.stop()
	p.mount("data/data/postmaster.pid", "1\n/data\n1\n5432\n\n*\n")
	p.launch()
	p.eventually("it waits", func() error {
		s, err := p.status()
		if err == nil && !strings.Contains(s.Message, "did not start") {
			err = fmt.Errorf("it is %+v", s)
		}
		return err
	})
	if err := os.Remove(p.path("data/data/postmaster.pid")); err != nil {
		t.Fatal(err)
	}
	p.eventually("it is ready", func() error { return p.user().PingContext(t.Context()) })
}

func TestSomethingElseInTheDataFolderIsLeftAlone(t *testing.T) {
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		if err := os.MkdirAll(p.path("data/data"), 0o755); err != nil {
			t.Fatal(err)
		}
		p.own("data/data")
		p.mount("data/data/precious", "text")
		p.refuses()
		if _, err := os.Stat(p.path("data/data/precious")); err != nil {
			t.Error(err)
		}
	})
}

// refuses asserts that the agent ends, and says that it changed nothing.
func (p *pod) refuses(extra ...string) {
	p.t.Helper()
	p.launch(extra...)
	<-p.exited
	text, err := os.ReadFile(p.path("run/result"))
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := result.Decode(string(text))
	if err != nil {
		p.t.Fatal(err)
	}
	p.wantReason(r, result.InvalidInput, "nothing was changed")
}

// TestNothingIsMadeThatWasNotWanted: no data in place of that which was adopted, and none of the version that an image happens to have.
func TestNothingIsMadeThatWasNotWanted(t *testing.T) {
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		for _, wrong := range []string{"--adopted", "--version=1"} {
			p := newPod(t, kind)
			p.refuses(wrong)
			if _, err := os.Stat(p.path("data/data")); !os.IsNotExist(err) {
				t.Errorf("%s: there is a database, or %v", wrong, err)
			}
		}
		p := newPod(t, kind)
		p.start()
		s, err := p.status()
		if err != nil {
			t.Fatal(err)
		}
		p.exec(p.user(), "CREATE TABLE t (id int)")
		p.stop()
		version := strings.FieldsFunc(s.ServerVersion, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })[0]
		p.start("--adopted", "--version="+version)
		p.exec(p.user(), "INSERT INTO t VALUES (1)")
	})
}

func TestSigtermWhileItInitialises(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		p.launch()
		p.eventually("it initialises", func() error {
			_, err := os.Stat(p.path("data/.init"))
			return err
		})
		if code := p.end(syscall.SIGTERM); code != 0 {
			t.Errorf("the exit code is %d, want 0", code)
		}
		if _, err := os.Stat(p.path("data/data")); err == nil {
			t.Error("there is a half-made database")
		}
		p.start()
		p.exec(p.user(), "CREATE TABLE t (id int)")
	})
}
