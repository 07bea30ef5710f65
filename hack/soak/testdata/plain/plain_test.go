// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plain has tests of Go's that fail, or hang, when that is asked for.
package plain

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

func TestPasses(t *testing.T) {
	fmt.Fprintln(os.Stderr, "GOMAXPROCS is", os.Getenv("GOMAXPROCS"))
	if err := os.WriteFile(os.TempDir()+"/mine", nil, 0o600); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("plain_test.go"); err != nil {
		t.Error(err)
	}
}

func TestFailsForThree(t *testing.T) {
	if os.Getenv("SEED") == "3" {
		t.Error("as it has to")
	}
}

func TestIsLeftOut(t *testing.T) { t.Skip("always") }

// TestHangs starts a program that does not end either, and names it in a file.
func TestHangs(t *testing.T) {
	file := os.Getenv("TOY_HANGS")
	if file == "" {
		t.Skip("not asked for")
	}
	child := exec.Command("sleep", "3600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(fmt.Sprint(child.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
}
