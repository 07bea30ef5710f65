// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets this test binary play programs, under their names: obedient ends when it is asked to, deaf has to be
// killed, broken fails at once.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "obedient":
		<-time.After(time.Hour) // SIGTERM ends it
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		_, _ = io.WriteString(os.Stdout, "one\ntwo\ndeaf\n")
		<-time.After(time.Hour)
	case "broken":
		_, _ = io.WriteString(os.Stderr, "cannot work like this\n")
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// TestAwaitCommandLine: what has just started has no command line yet, and what has ended never gets one.
func TestAwaitCommandLine(t *testing.T) {
	runs, ended := &Running{Ended: make(chan struct{})}, &Running{Ended: make(chan struct{})}
	close(ended.Ended)
	reads := 0
	if err := awaitCommandLine(runs, func() ([]byte, error) {
		reads++
		return []byte("tail")[:4*(reads/3)], nil
	}); err != nil || reads != 3 {
		t.Errorf("%d reads, %v; want it to be read until it is there, the third time", reads, err)
	}
	if err := awaitCommandLine(ended, func() ([]byte, error) { return nil, nil }); err == nil || !strings.HasPrefix(err.Error(), "it ended") {
		t.Errorf("it waits for what has ended: %v", err)
	}
}

// start runs a played program and ends it with the test.
func start(t *testing.T, name string) (Process, *Running) {
	t.Helper()
	p := Process{Name: name, Dir: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	r, err := p.Start(exec.Command(program, "--data-dir="+p.Dir+"/data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(0); err != nil {
			t.Error(err)
		}
	})
	return p, r
}

func TestStopAsksFirst(t *testing.T) {
	p, r := start(t, "obedient")
	if args := p.Args(); len(args) != 2 || !slices.Contains(args, "--data-dir="+p.Dir+"/data") {
		t.Fatalf("it runs with %q", args)
	}
	if err := p.Stop(2 * time.Minute); err != nil {
		t.Fatal(err)
	}
	<-r.Ended
	if p.PID() != 0 || p.Args() != nil || r.Exit().Error() != "signal: terminated" {
		t.Errorf("process %d, ended by %v; want none, ended by SIGTERM", p.PID(), r.Exit())
	}
	if err := p.Stop(2 * time.Minute); err != nil {
		t.Errorf("stopping what is stopped: %v", err)
	}
}

func TestStopKillsWhatDoesNotListen(t *testing.T) {
	p, r := start(t, "deaf")
	err := Poll(t.Context(), PollInterval, r, func() error {
		if got := p.LogTail(2); got != "two\ndeaf" {
			return fmt.Errorf("it says %q", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(200 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	<-r.Ended
	if got := r.Exit().Error(); got != "signal: killed" {
		t.Errorf("ended by %s, want killed", got)
	}
}

func TestStopLeavesARecycledProcessNumberAlone(t *testing.T) {
	p, r := start(t, "obedient")
	stranger := Process{Name: p.Name, Dir: t.TempDir()}
	if err := os.Mkdir(filepath.Dir(stranger.pidPath()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stranger.pidPath(), []byte(strconv.Itoa(p.PID())), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := stranger.Stop(2 * time.Minute); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.Ended:
		t.Error("a process of another folder was stopped")
	default:
	}
	if p.PID() == 0 {
		t.Error("a process of another folder is gone")
	}
}

func TestIs(t *testing.T) {
	p := Process{Name: "etcd", Dir: "/s/demo"}
	for reason, test := range map[string]struct {
		cmdline string
		want    bool
	}{
		"the process":              {"/bin/etcd\x00--name=default\x00--data-dir=/s/demo/etcd\x00", true},
		"another folder's":         {"/bin/etcd\x00--data-dir=/s/demo2/etcd\x00", false},
		"a folder that ends alike": {"/bin/etcd\x00--data-dir=/x/s/demo/etcd\x00", false},
		"another program":          {"/bin/kubectl\x00--kubeconfig=/s/demo/kubeconfig\x00", false},
		"an ended process":         {"", false},
	} {
		if got := p.is([]byte(test.cmdline)); got != test.want {
			t.Errorf("%s: got %v", reason, got)
		}
	}
}

func TestPollEndsWithTheProcess(t *testing.T) {
	p, r := start(t, "broken")
	err := Poll(t.Context(), PollInterval, r, func() error { return errors.New("not ready") })
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v, want it to say how the process ended", err)
	}
	if got := p.LogTail(20); got != "cannot work like this" {
		t.Errorf("log: %q", got)
	}
	if got := (Process{Name: "never", Dir: p.Dir}).LogTail(20); got != "" {
		t.Errorf("without a log: %q", got)
	}
}

func TestPollGivesUpWithTheLastReason(t *testing.T) {
	tooLong := errors.New("not ready after 1s")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := Poll(ctx, PollInterval, nil, func() error {
		cancel(tooLong)
		return errors.New("connection refused")
	})
	if !errors.Is(err, tooLong) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}
