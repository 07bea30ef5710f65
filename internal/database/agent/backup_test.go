// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

// fixture are statements that leave a database with rows, quotes, NULLs, bytes, a view, an index, a counter and a routine.
var fixture = map[string][]string{
	result.Postgres: {
		"CREATE TABLE t (id serial PRIMARY KEY, name text, b bytea, f float8, at timestamptz DEFAULT now())",
		"INSERT INTO t (name, b, f) SELECT 'row ' || i || ' ''\"\\ ä', decode(md5(i::text), 'hex'), i / 3.0 FROM generate_series(1, 2000) i",
		`CREATE TABLE "odd ""name'" (a int, b text)`,
		`INSERT INTO "odd ""name'" VALUES (NULL, NULL), (1, E'line\nbreak')`,
		"CREATE VIEW v AS SELECT count(*) AS n FROM t",
		"CREATE INDEX by_name ON t (name)",
		"CREATE EXTENSION pgcrypto",
		"CREATE FUNCTION plus(a int) RETURNS int LANGUAGE sql AS 'SELECT a + 1'",
		"CREATE SCHEMA other",
		"CREATE TABLE other.t (id int)",
		"SELECT setval('t_id_seq', 5000)",
	},
	result.MySQL: {
		"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, name varchar(100), b blob, f double, at timestamp DEFAULT now())",
		"INSERT INTO t (name, b, f) WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 900) SELECT concat('row ', i, ' ''\" ä'), unhex(md5(i)), i / 3 FROM s",
		"CREATE TABLE `odd ``name'` (a int, b text)",
		"INSERT INTO `odd ``name'` VALUES (NULL, NULL), (1, 'line\nbreak')",
		"CREATE VIEW v AS SELECT count(*) AS n FROM t",
		"CREATE INDEX by_name ON t (name)",
		"CREATE FUNCTION plus(a int) RETURNS int DETERMINISTIC RETURN a + 1",
		"CREATE EVENT daily ON SCHEDULE EVERY 1 DAY DO DELETE FROM t WHERE id < 0",
	},
}

const backupPath = "team/db/20261123T011500Z-1a2b3c4d"

func (p *pod) dest(extra ...string) []string {
	return append([]string{"--path=" + backupPath, "--uid=1a2b3c4d", "--destination-dir=" + p.path("backups")}, extra...)
}

// contents is a text of what the user's database holds.
func (p *pod) contents() string {
	p.t.Helper()
	db := p.admin()
	var all []string
	for _, query := range map[string][]string{
		result.Postgres: {
			"SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM t", `SELECT md5(string_agg(t::text, ',' ORDER BY a)) FROM "odd ""name'" t`,
			"SELECT n::text FROM v", "SELECT last_value::text FROM t_id_seq", "SELECT plus(1)::text", "SELECT count(*)::text FROM other.t",
		},
		result.MySQL: {
			"SELECT coalesce(sum(crc32(concat_ws(',', id, name, hex(b), f, at))), 0) FROM t", "SELECT coalesce(sum(crc32(concat_ws(',', a, b))), 0) FROM `odd ``name'`",
			"SELECT n FROM v", "SELECT plus(1)", "SELECT event_name FROM information_schema.events WHERE event_schema = 'app'",
		},
	}[p.kind] {
		if p.kind == result.Postgres {
			query = strings.NewReplacer("plus(", "public.plus(", "FROM t", "FROM public.t", "FROM v", "FROM public.v", `FROM "odd`, `FROM public."odd`).Replace(query)
		}
		all = append(all, p.text(db, query))
	}
	return strings.Join(all, "|")
}

// clone is another pod with the same backups and keys.
func (p *pod) clone() *pod {
	p.t.Helper()
	other := newPod(p.t, p.kind)
	for _, name := range []string{"backups", "encryption", "s3"} {
		if err := os.Remove(other.path(name)); err != nil {
			p.t.Fatal(err)
		}
		if err := os.Symlink(p.path(name), other.path(name)); err != nil {
			p.t.Fatal(err)
		}
	}
	return other
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		p.start()
		p.exec(p.user(), fixture[kind]...)
		want := p.contents()
		key, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		p.mount("encryption/recipient", key.Recipient().String())
		p.mount("encryption/identity", key.String())
		b := p.mustJob("backup", p.dest("--verify=restore")...).Backup
		if b == nil || b.Verified != result.VerifiedRestore || b.Size == 0 || b.Tables < 2 || b.Rows < 902 || b.RowsPerTable == nil || !b.Encrypted || b.Already {
			t.Fatalf("the backup is %+v", b)
		}
		if again := p.mustJob("backup", p.dest()...).Backup; !again.Already || again.SHA256 != b.SHA256 {
			t.Errorf("the same backup again is %+v", again)
		}
		p.wantReason(p.job("backup", append(p.dest(), "--uid=other")...), result.Occupied)
		p.wantReason(p.job("restore", p.dest()...), result.NotEmpty, "t")
		p.exec(p.user(), "INSERT INTO t (name) VALUES ('users are not locked out')")

		q := p.clone()
		q.start()
		r := q.mustJob("restore", q.dest()...).Restore
		if got := q.contents(); got != want || r.Rows != b.Rows || r.Tables != b.Tables {
			t.Errorf("restored %+v with %s, want %s", r, got, want)
		}
		q.eventually("the status has it", func() error {
			s, err := q.status()
			if err == nil && s.Restored != backupPath {
				err = fmt.Errorf("it is %+v", s)
			}
			return err
		})
		q.exec(q.user(), "INSERT INTO t (name) VALUES ('mine')", "ALTER TABLE t ADD more int")
		if again := q.job("restore", q.dest()...); again.Reason != result.Mismatch && !again.OK {
			t.Errorf("the same restore again: %+v", again)
		}

		// A key that is gone.
		q.remove("encryption/identity")
		s := p.clone()
		s.start()
		s.wantReason(s.job("restore", s.dest()...), result.KeyMissing)
		s.mustJob("discard", s.dest()...)
		s.mustJob("discard", s.dest()...)
		s.wantReason(s.job("restore", s.dest()...), result.NotFound)
	})
}

func TestAFlippedByteIsNeverRestored(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		p.start()
		p.exec(p.user(), fixture[kind]...)
		p.mustJob("backup", p.dest()...)
		q := p.clone()
		q.start()
		for _, name := range []string{"data.zst", "manifest.json"} {
			file := filepath.Join(p.path("backups"), backupPath, name)
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 4 {
				at := len(whole) * (2*i + 1) / 8
				flipped := append([]byte(nil), whole...)
				flipped[at] ^= 0x01
				if err := os.WriteFile(file, flipped, 0o600); err != nil {
					t.Fatal(err)
				}
				if r := q.job("restore", q.dest()...); r.Reason != result.Corrupted && r.Reason != result.NewerVersion {
					t.Errorf("byte %d of %s: %q %s, want %s", at, name, r.Reason, r.Message, result.Corrupted)
				}
			}
			if err := os.WriteFile(file, whole[:len(whole)-1], 0o600); err != nil {
				t.Fatal(err)
			}
			q.wantReason(q.job("restore", q.dest()...), result.Corrupted)
			if err := os.WriteFile(file, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		q.exec(q.user(), "CREATE TABLE still_open (id int)", "DROP TABLE still_open")
		q.mustJob("restore", q.dest()...)
	})
}

func TestKillsOfBackupsLeaveThemWholeOrAbsent(t *testing.T) {
	limit.Labeled(t, limit.Random)
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		p.start()
		p.exec(p.user(), fixture[kind]...)
		begin := time.Now()
		p.mustJob("backup", append(p.dest(), "--path=team/db/20261123T000000Z-a")...)
		took := time.Since(begin)
		old := "team/db/20200101T000000Z-old"
		if err := os.MkdirAll(filepath.Join(p.path("backups"), old), 0o777); err != nil {
			t.Fatal(err)
		}
		p.own("backups/" + old)
		killed := 0
		for range kills() {
			if p.killJob(took, "backup", p.dest()...) {
				killed++
			}
		}
		p.mustJob("backup", p.dest()...)
		if _, err := os.Stat(filepath.Join(p.path("backups"), old)); err == nil {
			t.Error("a leftover without a manifest was not swept")
		}
		q := p.clone()
		q.start()
		for range kills() {
			if q.killJob(2*took, "restore", q.dest()...) {
				killed++
			}
		}
		q.mustJob("restore", q.dest()...)
		if got, want := q.contents(), p.contents(); got != want {
			t.Errorf("restored %s, want %s", got, want)
		}
		user := q.user()
		q.eventually("the server lets the user in again", func() error {
			_, err := user.ExecContext(t.Context(), "INSERT INTO t (name) VALUES ('mine')")
			return err
		})
		for range kills() {
			q.killJob(took/8, "discard", q.dest()...)
		}
		q.mustJob("discard", q.dest()...)
		t.Logf("%d Jobs were killed", killed)
	})
}
