// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loopback gives the servers of tests addresses that nothing else uses. A port of 127.0.0.1 that was found free, and given
// back for a server to listen on, may be another program's by then. Linux has a whole network on this machine, 127.0.0.0/8:
// each process takes an address of its own there, and counts its ports.
package loopback

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

// taken is the port of an address that its process listens on for as long as it runs. The ports from there on are those that
// Port gives: fewer than those that Linux gives to who asks for any, which may be of all addresses.
const taken = 23000

var (
	next atomic.Int32
	host = sync.OnceValue(func() string {
		// From 127.64.0.0 on, where nobody listens by habit. Linux has 4,194,304 processes at most.
		for process := os.Getpid(); ; process++ {
			address := fmt.Sprintf("127.%d.%d.%d", 64+process>>16&63, process>>8&255, process&255)
			l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort(address, strconv.Itoa(taken)))
			if err == nil {
				keep = l
				return address
			}
		}
	})
	// keep holds the address.
	keep net.Listener //nolint:unused // what it holds is listened on
)

// Host is the address of this process: an IPv4 address of loopback that no other process has.
func Host() string { return host() }

// Port gives a port of Host that nothing listens on, and that is not given again. It panics when there are no more.
func Port() int {
	Host()
	n := int(next.Add(1))
	if n > 8000 {
		panic("all ports are used up: this process has started 8000 servers")
	}
	return taken + n
}

// Address gives Host with another Port.
func Address() string { return net.JoinHostPort(Host(), strconv.Itoa(Port())) }
