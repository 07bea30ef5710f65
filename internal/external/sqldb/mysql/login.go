// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"

	"github.com/acme/platform-operator/internal/external/sqldb"
)

const (
	// packetHeader is the size of a packet's header, in bytes.
	packetHeader = 4
	// maxProof is the largest proof of the password, in bytes: hashes and signatures have 20 to 64. An
	// encrypted password has as many as the key, 128 and more.
	maxProof = 64
)

var (
	// errServerKey is the error of a login for which the server requests the password, encrypted with a key of
	// its choice.
	errServerKey = errors.New("the server wants the password itself")
	// errDriver is the error of connecting when the driver fails on the server's data.
	errDriver = errors.New("the driver failed")
)

// login is a connection during the login. Every version of the driver and every plugin has to write through it:
// without TLS no packet but the first, with the user's name, may be larger than a proof.
type login struct {
	net.Conn
	encrypted bool // by TLS: then the driver verifies the server
	greeted   bool
	refused   bool
	over      bool
}

// Write implements net.Conn.
func (l *login) Write(p []byte) (int, error) {
	if !l.over && !l.encrypted && l.greeted && len(p) > packetHeader+maxProof {
		l.refused = true
		return 0, errServerKey
	}
	l.greeted = true
	return l.Conn.Write(p)
}

// loginKey is the key of the login in the context of a connection that is being made.
type loginKey struct{}

func dial(line *sqldb.Line) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := line.Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		l, ok := ctx.Value(loginKey{}).(*login)
		if !ok {
			_ = conn.Close()
			return nil, errDriver
		}
		l.Conn = conn
		return l, nil
	}
}

// Connect implements driver.Connector. The driver panics on some data that a server may send, and then leaves
// the connection open.
func (d *database) Connect(ctx context.Context) (conn driver.Conn, err error) {
	l := &login{encrypted: !d.source.TLS.Disabled}
	defer func() {
		if x := recover(); x != nil {
			conn, err = nil, fmt.Errorf("%w: %T", errDriver, x)
			if l.Conn != nil {
				_ = l.Close()
			}
		}
	}()
	conn, err = d.Connector.Connect(context.WithValue(ctx, loginKey{}, l))
	if l.refused {
		return nil, errServerKey
	}
	l.over = true
	return conn, err
}
