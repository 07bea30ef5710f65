// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/acme/platform-operator/internal/external/sqldb"
)

// publicKey is a key of the server's, as it sends it.
func publicKey(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// mysqlServer is a server without TLS that logs nobody in: it greets with a plugin, says one thing after the other when
// it has been answered, and then gives the number of bytes that it hears.
func mysqlServer(t *testing.T, plugin string, says ...string) (sqldb.Source, <-chan int) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	heard := make(chan int, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		header := make([]byte, 4)
		greeting := strings.Replace(mysqlGreeting, "mysql_native_password", plugin, 1)
		for i, text := range append([]string{greeting}, says...) {
			_, _ = io.WriteString(conn, string([]byte{byte(len(text)), byte(len(text) >> 8), 0, byte(2 * i)})+text)
			if i == len(says) {
				break
			}
			_, _ = io.ReadFull(conn, header)
			_, _ = io.CopyN(io.Discard, conn, int64(header[0])+int64(header[1])<<8)
		}
		rest, _ := io.ReadAll(io.LimitReader(conn, 256)) // that much an encrypted password has
		heard <- len(rest)
	}()
	return sqldb.Source{
		Type: sqldb.MySQL, Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).AddrPort().Port(), Database: "app", User: "app",
		Password: "secret-password", TLS: sqldb.TLS{Disabled: true},
	}, heard
}

// TestServerKey meets MySQL servers that ask for the password, encrypted with a key of theirs: without TLS anybody could
// have sent it.
func TestServerKey(t *testing.T) {
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key := "\x01" + publicKey(t, &own.PublicKey)
	for reason, c := range map[string]struct {
		plugin string
		says   []string
	}{
		"caching_sha2_password":              {"caching_sha2_password", []string{"\x01\x04", key}},
		"caching_sha2_password, on a switch": {"mysql_native_password", []string{"\xfecaching_sha2_password\x0012345678901234567890\x00", "\x01\x04", key}},
		"sha256_password":                    {"sha256_password", []string{key}},
		"sha256_password, on a switch":       {"mysql_native_password", []string{"\xfesha256_password\x0012345678901234567890\x00", key}},
	} {
		t.Run(reason, func(t *testing.T) {
			s, heard := mysqlServer(t, c.plugin, c.says...)
			if says := refused(t, pools(t), s, query("SELECT 1"), sqldb.LoginRefused); !strings.Contains(says, "source.tls") || !strings.Contains(says, "have an application log in once") {
				t.Errorf("it does not say what to do: %s", says)
			}
			if n := <-heard; n > 0 {
				t.Errorf("%d bytes were sent for the key", n)
			}
		})
	}
}

// TestDriverPanics meets a server whose key the driver cannot cope with: it is a server like any other that cannot be
// connected to, and no connection to it stays open.
func TestDriverPanics(t *testing.T) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, heard := mysqlServer(t, "caching_sha2_password", "\x01\x04", "\x01"+publicKey(t, &own.PublicKey))
	refused(t, pools(t), s, query("SELECT 1"), sqldb.Unreachable)
	if n := <-heard; n > 0 {
		t.Errorf("%d bytes were sent", n)
	}
}
