// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ldap_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/acme/platform-operator/internal/external/identity/ldap"
)

// hangingServer accepts one connection, does with it what serve does, and then reads until the client leaves.
type hangingServer struct {
	options ldap.Options
	serve   func(net.Conn) net.Conn
}

// lookup returns the error of a look-up. It fails the test unless there is one, soon, and the connection is closed.
func (s hangingServer) lookup(ctx context.Context, t *testing.T, timeout time.Duration) error {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var server sync.WaitGroup
	server.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			t.Errorf("accepting: %v", err)
			return
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(2 * generous))
		if _, err := io.Copy(io.Discard, s.serve(conn)); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the client left its connection open")
		}
	})
	s.options.URL += l.Addr().String()
	s.options.Timeout = timeout
	start := time.Now()
	found, err := newDirectory(t, s.options).Lookup(ctx, "sam")
	if found || err == nil {
		t.Errorf("Lookup = %v, %v; want false and an error", found, err)
	}
	if took := time.Since(start); took > generous {
		t.Errorf("Lookup took %v", took)
	}
	server.Wait()
	return err
}

func silent(c net.Conn) net.Conn { return c }

func encrypted(pair tls.Certificate) func(net.Conn) net.Conn {
	return func(c net.Conn) net.Conn {
		return tls.Server(c, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}})
	}
}

// endless sends an answer of 16 MiB, byte by byte.
func endless(pair tls.Certificate) func(net.Conn) net.Conn {
	return func(c net.Conn) net.Conn {
		c = encrypted(pair)(c)
		go func() {
			_, err := c.Write([]byte{0x30, 0x84, 0x01, 0x00, 0x00, 0x00})
			for err == nil {
				_, err = c.Write([]byte{0x02})
			}
		}()
		return c
	}
}

func TestHangingServer(t *testing.T) {
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	ldaps := ldap.Options{URL: "ldaps://", RootCAs: certPEM, BaseDN: "dc=acme,dc=com"}
	ldaps.Credentials = func(context.Context) (ldap.Credentials, error) {
		return ldap.Credentials{BindDN: "cn=operator", Password: "password-1"}, nil
	}
	startTLS := ldaps
	startTLS.URL, startTLS.StartTLS = "ldap://", true
	for reason, server := range map[string]hangingServer{
		"before the TLS handshake":   {ldaps, silent},
		"before StartTLS":            {startTLS, silent},
		"before the bind":            {ldaps, encrypted(pair)},
		"in the middle of an answer": {ldaps, endless(pair)},
	} {
		t.Run(reason+"/own time-out", func(t *testing.T) {
			if err := server.lookup(t.Context(), t, 200*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Lookup: %v; want a time-out", err)
			}
		})
		t.Run(reason+"/caller's deadline", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if err := server.lookup(ctx, t, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Lookup: %v; want a time-out", err)
			}
		})
		t.Run(reason+"/caller gives up", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(200*time.Millisecond, cancel).Stop()
			if err := server.lookup(ctx, t, time.Hour); !errors.Is(err, context.Canceled) {
				t.Errorf("Lookup: %v; want the caller's cancellation", err)
			}
		})
	}
}

func TestStartTLSRefused(t *testing.T) {
	server := hangingServer{
		options: ldap.Options{URL: "ldap://", StartTLS: true, BaseDN: "dc=acme,dc=com"},
		serve: func(c net.Conn) net.Conn {
			_, _ = c.Read(make([]byte, 64)) // the request
			// An extended response to message 1: protocolError, as servers without TLS answer.
			_, _ = c.Write([]byte{0x30, 0x0c, 0x02, 0x01, 0x01, 0x78, 0x07, 0x0a, 0x01, 0x02, 0x04, 0x00, 0x04, 0x00})
			return c
		},
	}
	server.options.Credentials = func(context.Context) (ldap.Credentials, error) {
		t.Error("the password was read for a connection in clear")
		return ldap.Credentials{}, nil
	}
	if err := server.lookup(t.Context(), t, generous); err == nil || !strings.Contains(err.Error(), "Protocol Error") {
		t.Errorf("Lookup: %v; want what the server said", err)
	}
}
