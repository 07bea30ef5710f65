// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChoosePorts(t *testing.T) {
	names := []string{"a", "b", "c"}
	allFree := func(int) bool { return true }
	for reason, test := range map[string]struct {
		start int
		taken map[int]bool
		free  func(int) bool
		want  map[string]int
	}{
		"in a row from the start":       {20100, nil, allFree, map[string]int{"a": 20100, "b": 20101, "c": 20102}},
		"a neighbour's are left out":    {20100, map[int]bool{20101: true}, allFree, map[string]int{"a": 20100, "b": 20102, "c": 20103}},
		"ports in use are left out":     {20100, nil, func(p int) bool { return p%2 == 1 }, map[string]int{"a": 20101, "b": 20103, "c": 20105}},
		"beyond the end: at the bottom": {lastPort, nil, allFree, map[string]int{"a": lastPort, "b": firstPort, "c": firstPort + 1}},
	} {
		t.Run(reason, func(t *testing.T) {
			got, err := choosePorts(names, test.start, test.taken, test.free)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := choosePorts(names, firstPort, nil, func(p int) bool { return p < firstPort+2 }); err == nil {
		t.Error("two free ports for three names must be an error")
	}
}

func TestPortFree(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if portFree(port) {
		t.Error("a port that somebody listens on is not free")
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if !portFree(port) {
		t.Error("a port that nobody listens on is free")
	}
}

func TestPortsAreKeptAndDifferFromTheNeighbours(t *testing.T) {
	stateDir := t.TempDir()
	first := newCluster(t, stateDir, "first")
	if err := first.assignPorts(); err != nil {
		t.Fatal(err)
	}
	before := first.Ports
	if err := first.save(); err != nil {
		t.Fatal(err)
	}
	if err := first.assignPorts(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, first.Ports); diff != "" {
		t.Errorf("ports changed without need:\n%s", diff)
	}
	busy, err := net.Listen("tcp", loopback(before[etcd]))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	if err := first.assignPorts(); err != nil {
		t.Fatal(err)
	}
	for name, port := range first.Ports {
		for _, old := range before { // they still stand in the record on disk, as a neighbour's would
			if port == old {
				t.Errorf("%s got port %d again", name, port)
			}
		}
	}
}
