// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestAResultFitsIntoATerminationMessage(t *testing.T) {
	r := Result{Verb: "backup", Backup: &Backup{Path: "a/b/c", RowsPerTable: map[string]int64{}}, Message: strings.Repeat("x\"\n", 5000) + "end"}
	for i := range 2000 {
		r.Backup.RowsPerTable[fmt.Sprintf("public.table_%d", i)] = int64(i)
	}
	r.Reason = Failed
	text := r.Encode()
	if len(text) > MaxMessage {
		t.Fatalf("the message has %d bytes", len(text))
	}
	got, err := Decode(string(text))
	if err != nil || !strings.HasSuffix(got.Message, "end") || got.Backup == nil || got.OK || got.Reason != Failed {
		t.Errorf("it is read as %+v (%v)", got, err)
	}
	r.Message, r.Reason = "", ""
	if got, err := Decode(string(r.Encode())); err != nil || !got.OK || got.Backup.RowsPerTable["public.table_1999"] != 1999 {
		t.Errorf("the largest table is missing: %+v (%v)", got, err)
	}
}

func TestDecodeRejects(t *testing.T) {
	for _, text := range []string{"", "killed", `{"protocol":2,"ok":true}`, `{"protocol":1,"ok":true,"reason":"Failed"}`, `{"protocol":1}`} {
		if r, err := Decode(text); err == nil {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
}

func TestReasonsHaveExitCodes(t *testing.T) {
	wrapped := fmt.Errorf("doing it: %w", Errorf(Corrupted, "x: %w", errors.New("cause")))
	for err, want := range map[error]int{nil: ExitOK, errors.New("x"): ExitFailed, wrapped: ExitCorrupted} {
		if got := ExitCode(ReasonOf(err)); got != want {
			t.Errorf("%v has the exit code %d, want %d", err, got, want)
		}
	}
}

func TestAccountNames(t *testing.T) {
	for _, c := range []struct{ kind, user, want string }{
		{Postgres, "app", "app_b"},
		{Postgres, strings.Repeat("x", 61), strings.Repeat("x", 61) + "_b"},
		{MySQL, strings.Repeat("x", 31), ""},
	} {
		got := AccountName(c.kind, c.user, SlotB)
		if len(got) > maxName(c.kind) || c.kind == Postgres && got != c.want || !strings.HasSuffix(got, "_b") {
			t.Errorf("the second account of %s is %s, want %s", c.user, got, c.want)
		}
	}
	umlauts := strings.Repeat("ä", 31)
	if got := AccountName(Postgres, umlauts, SlotB); len(got) > 63 || strings.ToValidUTF8(got, "?") != got {
		t.Errorf("the second account of %s is %q", umlauts, got)
	}
	if AccountName(Postgres, "app", SlotA) != "app" {
		t.Error("the first account is not the user")
	}
}

func TestCheckNames(t *testing.T) {
	for _, c := range []struct {
		kind, database, user string
		ok                   bool
	}{
		{Postgres, "app", "root", true},
		{Postgres, "postgres", "postgres", true},
		{MySQL, "app", "root", true},
		{Postgres, strings.Repeat("d", 63), strings.Repeat("u", 63), true},
		{Postgres, strings.Repeat("d", 64), "u", false},
		{MySQL, "app", strings.Repeat("u", 33), false},
		{Postgres, "template1", "app", false},
		{MySQL, "Sys", "app", false},
		{MySQL, "app", Admin, false},
		{Postgres, "app", "pg_app", false},
		{Postgres, "app", "public", false},
		{Postgres, "app", "none", false},
		{MySQL, "app", "public", true},
		{Postgres, "a\x00b", "app", false},
		{Postgres, "", "app", false},
		{"oracle", "app", "app", false},
	} {
		if err := CheckNames(c.kind, c.database, c.user); (err == nil) != c.ok || err != nil && ReasonOf(err) != InvalidInput {
			t.Errorf("%s, %s, %s: %v", c.kind, c.database, c.user, err)
		}
	}
}
