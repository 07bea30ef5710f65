// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io"
	"net"
	"strings"
	"testing"
)

// offered is a listener with connections, each from an address.
type offered []*caller

// caller is a connection from an address.
type caller struct {
	net.Conn

	address string
	closed  bool
}

func (f *caller) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(f.address), Port: 9}
}

func (f *caller) Close() error {
	f.closed = true
	return nil
}

func (o *offered) Accept() (net.Conn, error) {
	if len(*o) == 0 {
		return nil, io.EOF
	}
	next := (*o)[0]
	*o = (*o)[1:]
	return next, nil
}

func (*offered) Close() error   { return nil }
func (*offered) Addr() net.Addr { return nil }

// One address that opens connections without end keeps out no other, such as kube-apiserver.
func TestConnectionsAreBoundedByAddress(t *testing.T) {
	var all []*caller
	for _, address := range strings.Fields(strings.Repeat("192.0.2.1 ", maxConnectionsOfOne+5) + "192.0.2.2 2001:db8::1") {
		all = append(all, &caller{address: address})
	}
	line := offered(all)
	l := bounded(&line)
	var open []net.Conn
	accept := func() {
		t.Helper()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	for range maxConnectionsOfOne + 2 {
		accept()
	}
	for i, c := range all {
		if want := i >= maxConnectionsOfOne && c.address == "192.0.2.1"; c.closed != want {
			t.Errorf("connection %d of %s is closed: %t", i, c.address, c.closed)
		}
	}
	for range 2 { // the second time counts for nothing
		if err := open[0].Close(); err != nil {
			t.Error(err)
		}
	}
	line = offered{{address: "192.0.2.1"}, {address: "192.0.2.1"}}
	accept()
	if _, err := l.Accept(); err == nil {
		t.Error("a place is given back twice")
	}
}

// Connections of many addresses are bounded, too.
func TestConnectionsAreBoundedInAll(t *testing.T) {
	var line offered
	for i := range maxConnections + 5 {
		line = append(line, &caller{address: net.IPv4(192, 0, byte(i/256), byte(i)).String()})
	}
	l, accepted := bounded(&line), 0
	for {
		if _, err := l.Accept(); err != nil {
			break
		}
		accepted++
	}
	if accepted != maxConnections {
		t.Errorf("%d connections are open, not %d", accepted, maxConnections)
	}
}
