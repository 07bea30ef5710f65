// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/testenv/limit"
	"github.com/acme/platform-operator/internal/testenv/loopback"
)

func TestSetup(t *testing.T) {
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		p.start()
		p.mount("setup/020-rows.sql", "INSERT INTO t VALUES (1, 'a;b');\nINSERT INTO t VALUES (2, 'it''s');")
		p.mount("setup/010-tables.sql", "-- the first\nCREATE TABLE t (id int PRIMARY KEY, name varchar(20));\n")
		p.mount("setup/030.sql", "INSERT INTO t VALUES (3, 'c');\nINSERT INTO nowhere VALUES (1);")
		r := p.job("setup", "--hash=h1")
		p.wantReason(r, result.SetupFailed, "030.sql line 2", "nowhere")
		if r.Setup.File != "030.sql" || r.Setup.Line != 2 {
			t.Errorf("the result is %+v", r.Setup)
		}
		p.mount("setup/030.sql", "INSERT INTO t VALUES (3, 'c');")
		if kind == result.MySQL { // what was run stays, and is continued under the same hash
			p.mount("setup/030.sql", "INSERT INTO t VALUES (3, 'c');\nINSERT INTO t VALUES (4, 'd');")
		}
		if s := p.mustJob("setup", "--hash=h1").Setup; s.Files != 3 || s.Already {
			t.Errorf("the result is %+v", s)
		}
		want := p.text(p.user(), "SELECT count(*) FROM t")
		if again := p.mustJob("setup", "--hash=h1").Setup; !again.Already {
			t.Errorf("the same setup again is %+v", again)
		}
		if got := p.text(p.user(), "SELECT count(*) FROM t"); got != want || got == "0" {
			t.Errorf("the same setup again leaves %s rows, want %s", got, want)
		}
	})
}

func TestASetupMustNotCommit(t *testing.T) {
	t.Parallel()
	p := newPod(t, result.Postgres)
	p.start()
	p.mount("setup/1.sql", "CREATE TABLE t (id int); COMMIT;")
	p.wantReason(p.job("setup", "--hash=h"), result.SetupFailed, "COMMIT")
}

func TestKillsOfSetupsRunEachStatementOnce(t *testing.T) {
	limit.Labeled(t, limit.Random)
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		p.start()
		var text strings.Builder
		text.WriteString("CREATE TABLE t (id int);\n")
		if kind == result.MySQL {
			text.WriteString("SET @base = 0;\nDELIMITER //\nCREATE FUNCTION f(a int) RETURNS int DETERMINISTIC BEGIN RETURN a; END//\nDELIMITER ;\n")
		}
		for i := range 400 {
			text.WriteString("INSERT INTO t VALUES (" + strconv.Itoa(i) + ");\n")
		}
		p.mount("setup/1.sql", text.String())
		killed := 0
		for range kills() {
			if p.killJob(600*time.Millisecond, "setup", "--hash=h") {
				killed++
			}
		}
		p.mustJob("setup", "--hash=h")
		if got := p.text(p.user(), "SELECT concat(count(*), ' ', count(DISTINCT id)) FROM t"); got != "400 400" {
			t.Errorf("there are %s rows, want 400 once each", got)
		}
		t.Logf("%d Jobs were killed", killed)
	})
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		old := newPod(t, kind)
		old.start()
		old.exec(old.user(), fixture[kind]...)
		old.mount("setup/1.sql", "CREATE TABLE made_by_setup (id int);")
		old.mustJob("setup", "--hash=h1")
		fresh := newPod(t, kind)
		fresh.start()
		args := []string{"--source-host=" + loopback.Host(), "--source-port=" + strconv.Itoa(old.port)}
		fresh.wantReason(fresh.job("migrate", args...), result.DoorNotClosed, "open")
		begin := time.Now()
		old.mustJob("door", "--state=closed")
		took := time.Since(begin) + 500*time.Millisecond
		fresh.killedWhileEmptied()
		for range kills() {
			fresh.killJob(2*took, "migrate", args...)
		}
		m := fresh.mustJob("migrate", args...).Migrate
		if m.Tables < 3 || m.Rows < 902 || len(m.Differences) > 0 || m.SourceVersion == "" || m.TargetVersion == "" {
			t.Errorf("the result is %+v", m)
		}
		if got, want := fresh.contents(), old.contents(); got != want {
			t.Errorf("the copy has %s, want %s", got, want)
		}
		fresh.exec(fresh.user(), "INSERT INTO t (name) VALUES ('mine')")
		if s := fresh.mustJob("setup", "--hash=h1").Setup; !s.Already {
			t.Error("the copy does not know which setups were run")
		}
		// A copy that differs is found out.
		r := fresh.job("migrate", args...)
		fresh.wantReason(r, result.Mismatch, "table", "t has")
		fresh.exec(fresh.admin(), map[string]string{
			result.Postgres: "UPDATE other.t SET id = id; DELETE FROM public.t WHERE name = 'mine'; UPDATE public.t SET name = 'x' WHERE id = 7; SELECT setval('public.t_id_seq', 5000)",
			result.MySQL:    "DELETE FROM t WHERE name = 'mine'",
		}[kind])
		if kind == result.MySQL {
			fresh.exec(fresh.admin(), "UPDATE t SET name = 'x', at = at WHERE id = 7")
		}
		fresh.wantReason(fresh.job("migrate", args...), result.Mismatch, "not the same")
		old.mustJob("door", "--state=open")
		old.exec(old.user(), "INSERT INTO t (name) VALUES ('back')")
	})
}
