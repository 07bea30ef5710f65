// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plain has tests of Go's that fail, or hang, when that is asked for.
package plain

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestPasses(t *testing.T) {
	if seed := os.Getenv("SEED"); (seed == "2" || seed == "4") && os.Getenv("GOMAXPROCS") != "1" {
		t.Error("it may use all processors")
	}
	mine, err := os.OpenFile(filepath.Join(os.TempDir(), "toy-of-soak"), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Error("the folder for temporary files is not its own:", err)
	}
	_ = mine.Close()
	if _, err := os.Stat("plain_test.go"); err != nil {
		t.Error("it does not run in the folder of its package:", err)
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
