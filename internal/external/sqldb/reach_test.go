// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/testenv/loopback"
)

// TestForbidden reads from addresses that must not be connected to.
func TestForbidden(t *testing.T) {
	deny := netip.MustParsePrefix("203.0.113.0/24")
	p := pools(t, func(o *sqldb.Options) { o.Dialer = &sqldb.Dialer{Deny: []netip.Prefix{deny}} })
	for _, kind := range []sqldb.Type{sqldb.Postgres, sqldb.MySQL} {
		for _, host := range []string{
			"127.0.0.1", "127.8.9.10", "::1", "169.254.169.254", "fe80::1", "0.0.0.0", "::", "224.0.0.1", "ff02::1",
			"::ffff:169.254.169.254", "64:ff9b::169.254.169.254", "::169.254.169.254", "2002:a9fe:a9fe::1",
			"fd00:ec2::254", "100.100.100.200", "203.0.113.7",
			"fd20:ce::254", "fd00:c1::a9fe:a9fe", "168.63.129.16", "192.0.0.192", "64:ff9b:1::7f00:2", "64:ff9b:1:fffe::1",
		} {
			t.Run(string(kind)+" "+host, func(t *testing.T) {
				s := source
				s.Type, s.Host = kind, host
				if says := refused(t, p, s, query("SELECT 1"), sqldb.Forbidden); !strings.Contains(says, "rebootPolicy.allowedNetworks") {
					t.Errorf("it does not say who can allow it: %s", says)
				}
			})
		}
	}
}

// listener is a port of this machine, and one without a listener.
func listener(t *testing.T) (open, closed uint16, accepted <-chan net.Conn) {
	t.Helper()
	conns := make(chan net.Conn, 100)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns <- conn
		}
	}()
	return l.Addr().(*net.TCPAddr).AddrPort().Port(), uint16(loopback.Port()), conns
}

// TestNoScanner reads from hosts and ports of all sorts: the messages are the same, so that they do not reveal
// what exists.
func TestNoScanner(t *testing.T) {
	open, closed, accepted := listener(t)
	reaching := func(ok bool, err error) func(*sqldb.Options) {
		return func(o *sqldb.Options) {
			o.Dialer.Reach = func(context.Context, string, netip.AddrPort) (bool, error) { return ok, err }
		}
	}
	for _, kind := range []sqldb.Type{sqldb.Postgres, sqldb.MySQL} {
		answer := func(p *sqldb.Pools, host string, port uint16) (string, string) {
			t.Helper()
			s := source
			s.Type, s.Host, s.Port = kind, host, port
			_, err := p.Read(t.Context(), s, query("SELECT 1"))
			e := (*sqldb.Error)(nil)
			if !errors.As(err, &e) {
				t.Fatalf("%s: reading from %s:%d = %v", kind, host, port, err)
			}
			at := net.JoinHostPort(host, portText(port))
			return string(e.Reason) + " " + strings.ReplaceAll(e.Message, at, "THERE"), e.Detail
		}
		t.Run(string(kind), func(t *testing.T) {
			beyond, unknown, permitted := pools(t, reaching(false, nil)), pools(t, reaching(true, errors.New("canary"))), pools(t, reaching(true, nil))
			impatient := pools(t, reaching(true, nil), func(o *sqldb.Options) { o.Limits.Connect = 200 * time.Millisecond })
			want := "SourceUnreachable cannot connect to THERE: the host does not exist, does not answer, or may not be connected to from this " +
				"namespace; check source.host and source.port"
			for _, c := range []struct {
				reason, host string
				port         uint16
				pools        *sqldb.Pools
				detail       string
			}{
				{"no such host", "nowhere.invalid", open, beyond, ""},
				{"no such host, within", "nowhere.invalid", open, permitted, ""},
				{"an open port", "localhost", open, beyond, "the address is forbidden by the NetworkPolicies of the namespace"},
				{"a closed port", "localhost", closed, beyond, "the address is forbidden by the NetworkPolicies of the namespace"},
				{"a closed port, within", "localhost", closed, permitted, "the connection was refused"},
				{"a closed port of an address, within", "127.0.0.1", closed, permitted, "the connection was refused"},
				{"it is unknown whether it is within", "127.0.0.1", open, unknown, "it is not known whether the address is forbidden"},
				{"no answer, within", "127.0.0.1", open, impatient, "no answer in time"},
			} {
				if got, detail := answer(c.pools, c.host, c.port); got != want || c.detail != "" && detail != c.detail {
					t.Errorf("%s: %s (%s)", c.reason, got, detail)
				}
				if n := len(accepted); n > 0 && c.reason != "no answer, within" {
					t.Errorf("%s: it was connected to", c.reason)
				}
			}
			for len(accepted) > 0 {
				_ = (<-accepted).Close()
			}
			// An address is what its author wrote, and so is what may not be reached.
			for _, port := range []uint16{open, closed} {
				if got, _ := answer(beyond, "127.0.0.1", port); !strings.HasPrefix(got, "AddressForbidden THERE may not be connected to") ||
					!strings.Contains(got, "DeploymentTier") {
					t.Errorf("port %d: %s", port, got)
				}
			}
		})
	}
}

func portText(port uint16) string {
	return strings.TrimPrefix(netip.AddrPortFrom(netip.IPv4Unspecified(), port).String(), "0.0.0.0:")
}

// TestReachOfNamespaces has two namespaces read from the same source: each reaches what it may, with its own
// connections.
func TestReachOfNamespaces(t *testing.T) {
	var asked []string
	d := &sqldb.Dialer{Allow: thisMachine, Reach: func(_ context.Context, namespace string, to netip.AddrPort) (bool, error) {
		asked = append(asked, namespace+" "+to.String())
		return namespace == "free", nil
	}}
	open, _, accepted := listener(t)
	at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), open).String()
	if conn, err := d.For("bound").Dial(t.Context(), "tcp", at); err == nil {
		_ = conn.Close()
		t.Error("the namespace that may not reach it is connected")
	}
	conn, err := d.For("free").Dial(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Close(), (<-accepted).Close()
	if want := []string{"bound " + at, "free " + at}; strings.Join(asked, ",") != strings.Join(want, ",") {
		t.Errorf("asked %v, want %v", asked, want)
	}
}

// TestNamespacesShareNothing has a policy ask with the credentials of another namespace's: it gets a connection of its
// own, or none.
func TestNamespacesShareNothing(t *testing.T) {
	d := &dead{reason: sqldb.Unreachable}
	d.alive.Store(true)
	p := sqldb.New(sqldb.Options{Drivers: map[sqldb.Type]sqldb.Driver{sqldb.Postgres: d}})
	t.Cleanup(p.Close)
	for _, namespace := range []string{"one", "two", "one"} {
		s := source
		s.Namespace = namespace
		read(t, p, s, query("SELECT 1"))
	}
	if n := d.tries.Load(); n != 2 {
		t.Errorf("two namespaces have %d connections", n)
	}
}
