// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

// waitAccount waits until an account is as wanted.
func (p *pod) waitAccount(slot string, ok func(result.Account) bool) {
	p.t.Helper()
	p.eventually("the account is as wanted", func() error {
		s, err := p.status()
		if err != nil {
			return err
		}
		if a := s.Account(slot); a == nil || !ok(*a) {
			return fmt.Errorf("the accounts are %+v", s.Accounts)
		}
		return nil
	})
}

// A password that the server would take for something else, or of which its answer would have some bytes, is not set at all.
func TestPasswordsThatAreNotSet(t *testing.T) {
	t.Parallel()
	p := newPod(t, result.Postgres)
	p.start()
	for password, want := range map[string]string{
		"md5" + strings.Repeat("0", 32):   "takes a password like this for the digest",
		"SCRAM-SHA-256$4096:c2FsdA==$a:b": "takes a password like this for the digest",
		"\xe9pa55":                        "is not UTF-8 text",
	} {
		p.mount("accounts/b-password", password)
		p.waitAccount(result.SlotB, func(a result.Account) bool { return strings.Contains(a.Error, want) && !a.InForce && !a.Login })
	}
	p.mount("accounts/b-password", "md5 is only how it begins")
	p.waitAccount(result.SlotB, func(a result.Account) bool { return a.Error == "" && a.Login })
}

// The owner of a database may set another role for all who log in to it; the administrator stays who it is.
func TestARoleOfTheDatabaseIsNotTheAdministrators(t *testing.T) {
	t.Parallel()
	p := newPod(t, result.Postgres)
	p.start()
	p.exec(p.user(), "ALTER DATABASE "+p.names.Database+" SET role = 'acme_owner'")
	p.stop()
	p.start()
	p.exec(p.user(), "CREATE TABLE t (id int)")
}

func TestRotation(t *testing.T) {
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		p.mount("parameters/"+map[string]string{result.Postgres: "log_statement", result.MySQL: "general_log"}[kind],
			map[string]string{result.Postgres: "all", result.MySQL: "ON"}[kind])
		p.start()
		first := p.user()
		p.exec(first, "CREATE TABLE t (id int)")
		p.mount("accounts/b-password", "second'Passw0rd")
		p.mount("accounts/b-revision", "2")
		if r := p.mustJob("status", "--want-revision=b=2", "--timeout=1m"); r.Status == nil || !r.Status.Account(result.SlotB).InForce {
			t.Errorf("the verb status reports %+v", r.Status)
		}
		second := p.as("app_b", "second'Passw0rd")
		p.exec(second, "INSERT INTO t VALUES (1)", "ALTER TABLE t ADD more int", "CREATE TABLE u (id int)")
		p.exec(first, "INSERT INTO u VALUES (1)", "DROP TABLE u") // both are valid at once

		// The overlap ends.
		p.mount("accounts/a-password", "")
		p.waitAccount(result.SlotA, func(a result.Account) bool { return strings.Contains(a.Error, "empty") && a.Login })
		p.remove("accounts/a-password")
		p.waitAccount(result.SlotA, func(a result.Account) bool { return !a.Login })
		if err := p.user().PingContext(t.Context()); err == nil {
			t.Error("the old password is still valid")
		}
		if _, err := first.ExecContext(t.Context(), "INSERT INTO t VALUES (2)"); err == nil {
			t.Error("a session of the old password still writes")
		}
		p.exec(second, "INSERT INTO t (id) VALUES (3)")
		p.stop()
		for _, password := range []string{adminPassword, userPassword, "second'Passw0rd", "second''Passw0rd", `second\'Passw0rd`} {
			if strings.Contains(p.log.String(), password) {
				t.Error("the log has a password")
			}
			p.noFileHas("data/data", ".log", password)
		}
	})
}

// TestAPasswordIsText: also where parameters make the server read text in another way.
func TestAPasswordIsText(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	t.Parallel()
	for _, c := range []struct{ kind, parameter, value, password, powerful string }{
		{
			result.Postgres, "standard_conforming_strings", "off", `x\' SUPERUSER --`,
			"SELECT rolsuper::text FROM pg_roles WHERE rolname = 'app_b'",
		},
		{
			result.MySQL, "sql_mode", "NO_BACKSLASH_ESCAPES", `x\' OR '1'='1`,
			"SELECT if(super_priv = 'Y', 'true', 'false') FROM mysql.user WHERE user = 'app_b'",
		},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			p := newPod(t, c.kind)
			p.mount("parameters/"+c.parameter, c.value)
			p.start()
			p.mount("accounts/b-password", c.password)
			p.mount("accounts/b-revision", "2")
			p.waitAccount(result.SlotB, func(a result.Account) bool { return a.InForce && a.Revision == "2" })
			if err := p.as("app_b", c.password).PingContext(t.Context()); err != nil {
				t.Errorf("the password is another one: %v", err)
			}
			if got := p.text(p.admin(), c.powerful); got != "false" {
				t.Errorf("whether the user may do everything: %s", got)
			}
		})
	}
}

func TestAPasswordThatWasChangedInsideIsSetAgain(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		p.start()
		change := "ALTER ROLE app PASSWORD 'own'"
		if kind == result.MySQL {
			change = "ALTER USER app@'%' IDENTIFIED BY 'own'"
		}
		p.exec(p.admin(), change)
		p.stop()
		p.start()
		if err := p.user().PingContext(t.Context()); err != nil {
			t.Errorf("the mounted password is not in force: %v", err)
		}
	})
}

func TestTheDoor(t *testing.T) {
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		p.start()
		db := p.user()
		p.exec(db, "CREATE TABLE t (id int)")
		r := p.mustJob("door", "--state=closed")
		if r.Door == nil || r.Door.State != result.DoorClosed || r.Door.Ended == 0 {
			t.Errorf("the result is %+v, want the session ended", r.Door)
		}
		closed := func() error {
			if _, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (1)"); err == nil {
				return errors.New("a user writes through a closed door")
			}
			s, err := p.status()
			if err == nil && (s.Door != result.DoorClosed || !s.Ready || s.Account(result.SlotA).Login) {
				err = fmt.Errorf("the status is %+v", s)
			}
			return err
		}
		p.eventually("the door is closed", closed)
		p.kill()
		p.start()
		p.eventually("the door is still closed after a kill", closed)
		p.mustJob("door", "--state=closed")
		p.mustJob("door", "--state=open")
		p.exec(db, "INSERT INTO t VALUES (1)")
		p.mustJob("door", "--state=open")
		p.wantReason(p.job("door", "--state=ajar"), result.InvalidInput)
	})
}

func TestParameters(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	t.Parallel()
	for _, c := range []struct{ kind, reload, value, show, restart, size, bad, fatal string }{
		{result.Postgres, "work_mem", "8MB", "SHOW work_mem", "max_connections", "50", "work_mem", "shared_buffers"},
		{result.MySQL, "max_connections", "77", "SELECT @@max_connections", "innodb_log_buffer_size", "32M", "no_such_thing", "innodb_page_size"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			p := newPod(t, c.kind)
			p.start()
			p.mount("parameters/"+c.reload, c.value)
			p.eventually("it is reloaded", func() error {
				if got := p.text(p.admin(), c.show); got != c.value {
					return fmt.Errorf("it is %s", got)
				}
				return nil
			})
			p.mount("parameters/"+c.restart, c.size)
			p.waitParameters(func(s result.Parameters) bool {
				return s.InForce && len(s.PendingRestart) == 1 && s.PendingRestart[0] == c.restart
			})
			p.mount("parameters/"+c.bad, "nonsense")
			p.waitParameters(func(s result.Parameters) bool { return !s.InForce && strings.Contains(s.Error, c.bad) })
			p.stop()
			p.start() // with the last good ones
			if got := p.text(p.admin(), c.show); got != c.value {
				t.Errorf("after a restart it is %s, want %s", got, c.value)
			}
			p.waitParameters(func(s result.Parameters) bool { return !s.InForce && strings.Contains(s.Error, c.bad) })
			p.remove("parameters/" + c.bad)
			p.mount("parameters/"+c.fatal, map[string]string{result.Postgres: "100TB", result.MySQL: "65536"}[c.kind])
			p.stop()
			p.start() // the server itself ends with these
			p.waitParameters(func(s result.Parameters) bool { return !s.InForce && s.Error != "" })
			p.remove("parameters/" + c.fatal)
			p.mount("parameters/port", "1")
			p.waitParameters(func(s result.Parameters) bool { return strings.Contains(s.Error, "set by the agent") })
		})
	}
}

func (p *pod) waitParameters(ok func(result.Parameters) bool) {
	p.t.Helper()
	p.eventually("the parameters are as wanted", func() error {
		s, err := p.status()
		if err == nil && !ok(s.Parameters) {
			err = fmt.Errorf("they are %+v", s.Parameters)
		}
		return err
	})
}
