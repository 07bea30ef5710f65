// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
)

func TestAddressesDiffer(t *testing.T) {
	if os.Getenv("LOOPBACK_CHILD") != "" {
		_, _ = os.Stdout.WriteString(Host())
		os.Exit(0) //nolint:forbidigo // it is no test then
	}
	if ip := netip.MustParseAddr(Host()); !ip.IsLoopback() || Host() != ip.String() {
		t.Errorf("the address is %s, want one of loopback that stays", ip)
	}
	first, second := Address(), Address()
	if first == second {
		t.Errorf("%s is given twice", first)
	}
	for _, address := range []string{first, second} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
	}

	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAddressesDiffer$")
	child.Env = append(os.Environ(), "LOOPBACK_CHILD=1")
	if other, err := child.Output(); err != nil || string(other) == Host() || len(other) == 0 {
		t.Errorf("another process has the address %q (%v), this one has %s", other, err, Host())
	}
}

// The next process that has the number of this one must not get an address that is still taken.
func TestAnAddressIsKept(t *testing.T) {
	if l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", Host()+":23000"); err == nil {
		_ = l.Close()
		t.Errorf("%s may be taken by another process", Host())
	}
}
