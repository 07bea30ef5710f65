/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets this test binary play the components, under their names: etcd ends when it is asked
// to, kwok has to be killed, kube-scheduler fails at once.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case etcd:
		select {} // SIGTERM ends it
	case kwok:
		signal.Ignore(syscall.SIGTERM)
		_, _ = io.WriteString(os.Stdout, "deaf\n")
		select {}
	case scheduler:
		_, _ = io.WriteString(os.Stderr, "cannot work like this\n")
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// startFake runs a played component and ends it with the test.
func startFake(t *testing.T, name string) (*Cluster, *process) {
	t.Helper()
	c := newCluster(t, t.TempDir(), "demo")
	c.BinDir = t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(c.BinDir, name)); err != nil {
		t.Fatal(err)
	}
	p, err := c.start(component{name: name, args: []string{flag("data-dir", c.path("data"))}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.stop(name, 0); err != nil {
			t.Error(err)
		}
	})
	return c, p
}

func TestStopAsksFirst(t *testing.T) {
	c, p := startFake(t, etcd)
	if c.pid(etcd) == 0 {
		t.Fatal("it does not run")
	}
	if err := c.stop(etcd, time.Minute); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if c.pid(etcd) != 0 || p.exit() == nil || p.exit().Error() != "signal: terminated" {
		t.Errorf("process %d, ended by %v; want none, ended by SIGTERM", c.pid(etcd), p.exit())
	}
	if err := c.stop(etcd, time.Minute); err != nil {
		t.Errorf("stopping what is stopped: %v", err)
	}
}

func TestStopKillsWhatDoesNotListen(t *testing.T) {
	c, p := startFake(t, kwok)
	err := poll(t.Context(), pollInterval, p.ended, func() error {
		if got := c.logTail(kwok, 1); got != "deaf" {
			return fmt.Errorf("it says %q", got)
		}
		return nil
	}, p.exit)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.stop(kwok, 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if got := p.exit().Error(); got != "signal: killed" {
		t.Errorf("ended by %s, want killed", got)
	}
}

func TestStopLeavesARecycledProcessNumberAlone(t *testing.T) {
	c, p := startFake(t, etcd)
	stranger := newCluster(t, t.TempDir(), "demo")
	number := strconv.Itoa(c.pid(etcd))
	if err := os.WriteFile(stranger.pidPath(etcd), []byte(number), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := stranger.stop(etcd, time.Minute); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
		t.Error("a process of another cluster was stopped")
	default:
	}
	if c.pid(etcd) == 0 {
		t.Error("a process of another cluster is gone")
	}
}

func TestIsComponent(t *testing.T) {
	const dir = "/s/demo"
	for reason, test := range map[string]struct {
		cmdline string
		want    bool
	}{
		"the component":            {"/bin/etcd\x00--name=default\x00--data-dir=/s/demo/etcd\x00", true},
		"another cluster's":        {"/bin/etcd\x00--data-dir=/s/demo2/etcd\x00", false},
		"a folder that ends alike": {"/bin/etcd\x00--data-dir=/x/s/demo/etcd\x00", false},
		"another program":          {"/bin/kubectl\x00--kubeconfig=/s/demo/kubeconfig\x00", false},
		"an ended process":         {"", false},
	} {
		if got := isComponent([]byte(test.cmdline), etcd, dir); got != test.want {
			t.Errorf("%s: got %v", reason, got)
		}
	}
}

func TestAwaitHealthEndsWithTheProcess(t *testing.T) {
	c, p := startFake(t, scheduler)
	cWithCerts := withCredentials(t)
	client, err := cWithCerts.healthClient()
	if err != nil {
		t.Fatal(err)
	}
	comp := component{name: scheduler, health: "http://127.0.0.1:1/healthz"} // nobody listens on port 1
	err = awaitHealth(t.Context(), client, comp, p)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v, want it to say how the process ended", err)
	}
	if got := c.logTail(scheduler, 20); got != "cannot work like this" {
		t.Errorf("log: %q", got)
	}
}

func TestPollGivesUpWithTheLastReason(t *testing.T) {
	tooLong := errors.New("not ready after 1s")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := poll(ctx, pollInterval, nil, func() error {
		cancel(tooLong)
		return errors.New("connection refused")
	}, nil)
	if !errors.Is(err, tooLong) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}
