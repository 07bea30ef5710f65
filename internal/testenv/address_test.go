// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/acme/platform-operator/internal/testenv"
)

func TestAddress(t *testing.T) {
	first, second := testenv.Address(), testenv.Address()
	if first == second {
		t.Errorf("%s is given twice", first)
	}
	for _, address := range []netip.AddrPort{first, second} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address.String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		if ip := address.Addr(); !ip.IsLoopback() || ip == netip.MustParseAddr("127.0.0.1") {
			t.Errorf("%s is an address of others", address)
		}
	}
}
