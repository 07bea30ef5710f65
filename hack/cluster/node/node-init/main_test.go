// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const asInit = "NODE_INIT_TEST"

// TestMain lets this test binary play node-init; it closes its standard output when it listens.
func TestMain(m *testing.M) {
	if os.Getenv(asInit) != "" {
		signals := listen()
		_ = os.Stdout.Close()
		hold(signals)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// eventually waits for condition for at most two minutes.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for ticker := time.NewTicker(10 * time.Millisecond); !condition(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}

// state is the letter that says what a process does: Z when it has ended and nobody took it in; empty
// when there is none.
func state(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(data), ") ")
	return after[:1]
}

func TestOrphansAreTakenIn(t *testing.T) {
	var children []int
	for range 3 {
		pid, err := syscall.ForkExec("/bin/true", []string{"true"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, pid)
	}
	for _, pid := range children {
		eventually(t, "the child ends", func() bool { return state(pid) == "Z" })
	}
	reap()
	for _, pid := range children {
		if got := state(pid); got != "" {
			t.Errorf("child %d is still there: %s", pid, got)
		}
	}
}

func TestItWaitsUntilItIsAskedToEnd(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = []string{asInit + "=1"}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(stdout); err != nil { // ends when it listens
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGCHLD); err != nil { // nobody to take in: it continues
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
