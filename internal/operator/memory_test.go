// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestSoftLimit(t *testing.T) {
	for reason, row := range map[string]struct {
		text string
		want int64
	}{
		"a container with a limit":             {"268435450\n", 187904815},
		"no limit, with control groups 2":      {"max\n", 0},
		"no limit, with control groups 1":      {"9223372036854771712\n", 0},
		"what can be read is no number at all": {"", 0},
	} {
		file := filepath.Join(t.TempDir(), "limit")
		if err := os.WriteFile(file, []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := softLimit([]string{filepath.Join(t.TempDir(), "none"), file}); got != row.want {
			t.Errorf("%s: %d, want %d", reason, got, row.want)
		}
	}
	if got := softLimit(nil); got != 0 {
		t.Errorf("outside of a container: %d", got)
	}
}

func TestTuneMemory(t *testing.T) {
	gc, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() { debug.SetGCPercent(gc); debug.SetMemoryLimit(limit) })
	file := filepath.Join(t.TempDir(), "limit")
	if err := os.WriteFile(file, []byte("1000000000"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOGC", "100")
	t.Setenv("GOMEMLIMIT", "off")
	TuneMemory([]string{file})
	if gc, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1); gc != 100 || limit != math.MaxInt64 {
		t.Errorf("what the environment says is overridden: %d, %d", gc, limit)
	}
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	TuneMemory([]string{file})
	if gc, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1); gc != 50 || limit != 700000000 {
		t.Errorf("GC at %d %%, limit %d", gc, limit)
	}
}
