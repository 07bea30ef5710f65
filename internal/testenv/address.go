// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"net/netip"
	"os"
	"sync/atomic"
)

// firstPort is below the ports that the kernel gives to connections and to listeners that ask for any.
const firstPort = 10000

var addresses atomic.Uint32

// Address gives an address of loopback to listen on that no other process uses: it has the number of this process in it. A free port
// that is asked of the kernel, in contrast, may be taken before it is used. Each call gives another one.
func Address() netip.AddrPort {
	pid := os.Getpid() // below 1<<22
	ip := netip.AddrFrom4([4]byte{127, 64 + byte(pid>>16), byte(pid >> 8), byte(pid)})
	return netip.AddrPortFrom(ip, uint16(firstPort+addresses.Add(1))) //nolint:gosec // No process asks for 50,000 of them.
}
