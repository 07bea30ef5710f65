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

package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

// TestOperatorProcess starts a stand-in, finds it, and ends it.
func TestOperatorProcess(t *testing.T) {
	g := gomega.NewWithT(t)
	d := &demo{name: "test", root: t.TempDir(), timeout: time.Minute}
	g.Expect(os.MkdirAll(d.binDir(), 0o700)).To(gomega.Succeed())
	g.Expect(os.MkdirAll(d.path("operator"), 0o700)).To(gomega.Succeed())
	self, err := os.Executable()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(os.Symlink(self, d.operatorBinary())).To(gomega.Succeed())
	g.Expect(d.operatorHealth(t.Context())).To(gomega.MatchError("not running"))

	p, err := usable(ports{})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	want := started{Args: d.operatorArgs(p), Ports: p}
	t.Cleanup(func() { _, _ = d.stopOperator(context.Background()) }) // there is one only when the test has failed
	ended, err := (&session{demo: d}).spawn(&want)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(d.awaitReady(t.Context(), p, ended)).To(gomega.Succeed())

	g.Expect(d.operatorPIDs()).To(gomega.Equal([]int{want.PID}))
	g.Expect(d.operatorHealth(t.Context())).To(gomega.Succeed())
	g.Expect(d.readStarted()).To(gomega.Equal(want))
	other := &demo{name: "other", root: d.root}
	g.Expect(other.operatorPIDs()).To(gomega.BeEmpty())

	g.Expect(d.stopOperator(t.Context())).To(gomega.BeTrue(), "there was one")
	g.Expect(d.operatorPIDs()).To(gomega.BeEmpty())
	g.Expect(d.stopOperator(t.Context())).To(gomega.BeFalse(), "there was none")
	g.Expect(lastLines(d.logPath(), 1)).To(gomega.Equal("asked to end"))
}

func TestAwaitReadyEnds(t *testing.T) {
	p, err := usable(ports{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ended <- os.ErrProcessDone
	d := &demo{timeout: time.Minute}
	if err := d.awaitReady(t.Context(), p, ended); err == nil || !strings.Contains(err.Error(), "the process ended") {
		t.Errorf("an operator that has ended: %v", err)
	}
	d.timeout = time.Millisecond
	if err := d.awaitReady(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), "not ready after 1ms") {
		t.Errorf("an operator that does not answer: %v", err)
	}
}

func TestIsOperator(t *testing.T) {
	const flag = "--kubeconfig=/r/.cluster/demo/operator/kubeconfig"
	for reason, test := range map[string]struct {
		words []string
		want  bool
	}{
		"ours":               {[]string{"/r/bin/manager", flag, "--leader-elect"}, true},
		"another demo's":     {[]string{"/r/bin/manager", "--kubeconfig=/r/.cluster/demo2/operator/kubeconfig"}, false},
		"another program":    {[]string{"/usr/bin/vi", flag}, false},
		"a part of the flag": {[]string{"/r/bin/manager", flag + ".old"}, false},
		"has ended":          {nil, false},
	} {
		t.Run(reason, func(t *testing.T) {
			cmdline := strings.Join(append(test.words, ""), "\x00")
			if got := isOperator([]byte(cmdline), flag); got != test.want {
				t.Errorf("%q: %v, want %v", cmdline, got, test.want)
			}
		})
	}
}

func TestSameStart(t *testing.T) {
	base := started{Binary: "b", Cluster: "c", Args: []string{"a"}, Ports: ports{1, 2, 3}, PID: 4}
	for reason, test := range map[string]struct {
		change func(*started)
		want   bool
	}{
		"the process is another": {func(s *started) { s.PID = 5 }, true},
		"the program":            {func(s *started) { s.Binary = "x" }, false},
		"the cluster":            {func(s *started) { s.Cluster = "x" }, false},
		"a flag":                 {func(s *started) { s.Args = []string{"x"} }, false},
		"a port":                 {func(s *started) { s.Ports.Webhooks = 9 }, false},
	} {
		other := base
		test.change(&other)
		if got := base.same(other); got != test.want {
			t.Errorf("%s: %v, want %v", reason, got, test.want)
		}
	}
}

func TestUsablePorts(t *testing.T) {
	g := gomega.NewWithT(t)
	first, err := usable(ports{})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(map[int]bool{0: true, first.Metrics: true, first.Probes: true, first.Webhooks: true}).To(gomega.HaveLen(4))
	g.Expect(usable(first)).To(gomega.Equal(first), "free ones stay")

	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(first.Probes)))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	defer func() { _ = listener.Close() }()
	other, err := usable(first)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(other.Probes).NotTo(gomega.Or(gomega.Equal(first.Probes), gomega.BeZero()), "it is taken")
}

func TestDigest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if got, err := digest(path); err != nil || got != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}
