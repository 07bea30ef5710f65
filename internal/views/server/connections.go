// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"

	"github.com/acme/platform-operator/internal/views/places"
)

const (
	// maxConnections is how many connections are open at once, and maxConnectionsOfOne how many of them one address may have. kube-apiserver
	// sends all requests on one connection; a kubelet opens one for each probe.
	maxConnections      = 500
	maxConnectionsOfOne = 100
)

// connections is a listener that closes new connections of an address that has too many open.
type connections struct {
	net.Listener

	open *places.Places
}

func bounded(l net.Listener) net.Listener {
	return &connections{Listener: l, open: places.New(maxConnections, maxConnectionsOfOne)}
}

// Accept waits for a connection that may be opened.
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if free, ok := l.open.Take(hostOf(c.RemoteAddr().String()), 1); ok {
			return &connection{Conn: c, free: free}, nil
		}
		_ = c.Close()
	}
}

// connection gives its place back when it is closed.
type connection struct {
	net.Conn

	free func()
}

func (c *connection) Close() error {
	defer c.free()
	return c.Conn.Close()
}
