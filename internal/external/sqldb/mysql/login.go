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
	// packetHeader is how many bytes are before the content of a packet.
	packetHeader = 4
	// maxProof is how many bytes a proof that the password is known has at most: hashes and signatures have 20 to 64. A
	// password that is encrypted has as many as the key, 128 and more.
	maxProof = 64
)

var (
	// errServerKey is what logging in fails with when the server wants the password, encrypted with a key of its choice.
	errServerKey = errors.New("the server wants the password itself")
	// errDriver is what connecting fails with when the driver cannot cope with what the server says.
	errDriver = errors.New("the driver failed")
)

// login is the connection of somebody who logs in. It is the place that every version of the driver and every plugin
// have to pass: without TLS no packet but the first, with the user's name, is larger than a proof.
type login struct {
	net.Conn
	encrypted bool // by TLS: then it is the driver that knows to whom it speaks
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

// loginKey is where the context of a connection that is being made has its login.
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

// Connect implements driver.Connector. The driver panics over some of what a server may say, and leaves the connection
// open then.
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
