// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// newCluster makes the folder and the ports of a cluster that does not run.
func newCluster(t *testing.T, stateDir, name string) *Cluster {
	t.Helper()
	dir, err := folder(stateDir, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"kubeconfigs", "logs", "pids"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return &Cluster{dir: dir, record: record{Name: name, Version: "v1.36.3", NodeCount: 2}}
}

func TestFolderRefusesNamesThatLeadElsewhere(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../x", "a/b", "A", "-a", "a-", strings.Repeat("a", 41)} {
		if dir, err := folder("/state", name); err == nil {
			t.Errorf("%q gives %s, want an error", name, dir)
		}
	}
	if dir, err := folder("/state", "demo-1"); err != nil || dir != "/state/demo-1" {
		t.Errorf("demo-1 gives %q, %v", dir, err)
	}
}

func TestOpenFindsWhatWasSaved(t *testing.T) {
	stateDir := t.TempDir()
	if _, err := Open(stateDir, "demo"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	c := newCluster(t, stateDir, "demo")
	c.Ports = map[string]int{etcd: 20001}
	if err := c.save(); err != nil {
		t.Fatal(err)
	}
	opened, err := Open(stateDir, "demo")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.record, opened.record); diff != "" {
		t.Errorf("record (-saved +opened):\n%s", diff)
	}
	if err := os.WriteFile(filepath.Join(stateDir, "a-file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	names, err := List(stateDir)
	if diff := cmp.Diff([]string{"demo"}, names); err != nil || diff != "" {
		t.Errorf("List: %v\n%s", err, diff)
	}
	if names, err := List(filepath.Join(stateDir, "nowhere")); err != nil || len(names) != 0 {
		t.Errorf("List without a folder: %v, %v; want nothing", names, err)
	}
}

func TestEverythingListensOnThisMachineOnly(t *testing.T) {
	inside := map[NodeKind][]string{
		SimulatedNodes: {"127.0.0.1"},
		RealNode:       {"127.0.0.1", "10.239.0.1", "10.239.0.2"}, // the bridge that was made for it
	}
	seen := map[string]bool{}
	for kind, addresses := range inside {
		c := newCluster(t, t.TempDir(), "demo")
		c.record.Nodes, c.Ports = kind, map[string]int{}
		for i, name := range c.portNames() {
			c.Ports[name] = 20000 + i
		}
		for _, comp := range c.components() {
			seen[comp.name] = true
			for _, arg := range comp.args {
				name, value, _ := strings.Cut(arg, "=")
				listens := strings.Contains(name, "listen-") || strings.HasSuffix(name, "address") ||
					strings.HasSuffix(name, "addresses") || strings.HasSuffix(name, "-urls")
				isInside := slices.ContainsFunc(addresses, func(a string) bool { return strings.Contains(value, a+":") || value == a })
				if listens && !isInside {
					t.Errorf("%s nodes, %s: %s", kind, comp.name, arg)
				}
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(seen)), slices.Sorted(slices.Values(componentNames)); !cmp.Equal(got, want) {
		t.Errorf("components of both kinds (-stopped by down +started by up):\n%s", cmp.Diff(want, got))
	}
}

// TestDownEndsGuests checks that what others have started in a cluster's folder does not outlive it.
func TestDownEndsGuests(t *testing.T) {
	stateDir := t.TempDir()
	c := newCluster(t, stateDir, "demo")
	guest := c.process("tail")
	running, err := guest.Start(exec.Command("tail", "-F", "nothing="+c.path("nothing")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Down(t.Context(), stateDir, "demo", io.Discard); err != nil {
		t.Fatal(err)
	}
	select {
	case <-running.Ended:
	case <-time.After(2 * time.Minute):
		t.Error("it still runs")
	}
}
