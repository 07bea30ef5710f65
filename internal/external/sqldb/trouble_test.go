// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/external/sqldb/sqltest"
	"github.com/acme/platform-operator/internal/testenv/loopback"
)

func (s *server) testMany(t *testing.T) {
	s.quiet(t)
	p := pools(t)
	reads, watching := make(chan error, 200), make(chan int)
	ctx, done := context.WithCancel(t.Context())
	go func() {
		most := 0
		for ctx.Err() == nil {
			most = max(most, s.Sessions())
		}
		watching <- most
	}()
	group := sync.WaitGroup{}
	for range 200 {
		group.Go(func() {
			_, err := p.Read(t.Context(), s.Source, query("SELECT 1"))
			reads <- err
		})
	}
	group.Wait()
	close(reads)
	for err := range reads {
		if err != nil {
			t.Errorf("Read: %v", err)
		}
	}
	most := s.Sessions()
	done()
	if most = max(most, <-watching); most < 1 || most > 2 {
		t.Errorf("there were %d connections, want at most 2", most)
	}
}

func (s *server) testLarge(t *testing.T) {
	p := pools(t)
	refused(t, p, s.Source, query("SELECT repeat('x', 3000000)"), sqldb.TooLarge)
	if v := read(t, p, s.Source, query("SELECT repeat('x', 1000000)")); len(v.Text) != 1000000 {
		t.Errorf("read %d bytes", len(v.Text))
	}
	if v := read(t, p, s.Source, query("SELECT 1")); v.Text != "1" {
		t.Errorf("read %+v, want 1", v)
	}
}

func (s *server) testTLS(t *testing.T) {
	other, _, err := cert.GenerateSelfSignedCertKey(s.Host, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := pools(t)
	with := func(tls sqldb.TLS) sqldb.Source {
		source := s.Source
		source.TLS = tls
		return source
	}
	read(t, p, with(sqldb.TLS{CA: s.CA}), query("SELECT 1"))
	read(t, p, with(sqldb.TLS{CA: s.CA, ServerName: s.Host}), query("SELECT 1"))
	read(t, p, with(sqldb.TLS{Disabled: true}), query("SELECT 1"))
	refused(t, p, with(sqldb.TLS{}), query("SELECT 1"), sqldb.Insecure)
	refused(t, p, with(sqldb.TLS{CA: string(other)}), query("SELECT 1"), sqldb.Insecure)
	refused(t, p, with(sqldb.TLS{CA: s.CA, ServerName: "db.acme.com"}), query("SELECT 1"), sqldb.Insecure)
	refused(t, p, with(sqldb.TLS{CA: "no certificate"}), query("SELECT 1"), sqldb.Invalid)
}

func (s *server) testLogin(t *testing.T) {
	p := pools(t)
	for _, change := range []func(*sqldb.Source){
		func(s *sqldb.Source) { s.Password = "wrong" },
		func(s *sqldb.Source) { s.Password = "" },
		func(s *sqldb.Source) { s.User = "nobody" },
		func(s *sqldb.Source) { s.Database = "nothing" },
	} {
		source := s.Source
		change(&source)
		refused(t, p, source, query("SELECT 1"), sqldb.LoginRefused)
	}
	if s.Type == sqldb.Postgres {
		s.Exec("ALTER ROLE app CONNECTION LIMIT 0")
		says := refused(t, pools(t), s.Source, query("SELECT 1"), sqldb.Unreachable)
		for _, limit := range []string{"CONNECTION LIMIT", "max_connections"} {
			if !strings.Contains(says, limit) {
				t.Errorf("it does not say that %s may be the cause: %s", limit, says)
			}
		}
		s.Exec("ALTER ROLE app CONNECTION LIMIT -1")
	}
	// A connection with the right password is of no use to others.
	read(t, p, s.Source, query("SELECT 1"))
	wrong := s.Source
	wrong.Password = "wrong"
	refused(t, p, wrong, query("SELECT 1"), sqldb.LoginRefused)
}

// testPasswords changes the password time and again, to every awkward one.
func (s *server) testPasswords(t *testing.T) {
	p := pools(t)
	for _, password := range []string{
		"@", ":", "/", "?", "#", "%", "%41", "'", `"`, `\`, ` leading and trailing `, "{", "}", "a&b=c", "$HOME", "ä€😀", ";", "`",
		`p@:/?#%'\ {"}&=;` + "`" + `\'`, "sslmode=disable host=elsewhere", "back-to-normal",
	} {
		before := s.Source
		s.SetPassword(password)
		// The connections with the password before are not kept.
		if v := read(t, p, s.Source, query("SELECT 1")); v.Text != "1" {
			t.Errorf("%q: read %+v, want 1", password, v)
		}
		s.until(t, func() bool { return s.Sessions() == 1 }, "only the connection with the new password is kept")
		refused(t, p, before, query("SELECT 1"), sqldb.LoginRefused)
	}
}

// testRestart restarts the server under connections that are in the pool.
func (s *server) testRestart(t *testing.T) {
	p := pools(t)
	read(t, p, s.Source, query("SELECT 1"))
	s.Restart()
	if v := read(t, p, s.Source, query("SELECT 2")); v.Text != "2" {
		t.Errorf("read %+v, want 2", v)
	}
}

func (s *server) testOutage(t *testing.T) {
	p := pools(t)
	read(t, p, s.Source, query("SELECT 1"))
	s.Stop()
	refused(t, p, s.Source, query("SELECT 1"), sqldb.Unreachable)
	refused(t, p, s.Source, query("SELECT 1"), sqldb.Unreachable)
	s.Restart()
	s.answers(t, p)
}

// TestHanging reads from a server that takes connections and never says anything, while another one answers.
func TestHanging(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", loopback.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	good := sqltest.StartPostgres(t)
	for _, kind := range []sqldb.Type{sqldb.Postgres, sqldb.MySQL} {
		t.Run(string(kind), func(t *testing.T) {
			hanging := good.Source
			hanging.Type, hanging.Port = kind, l.Addr().(*net.TCPAddr).AddrPort().Port()
			p := pools(t)
			ctx, giveUp := context.WithCancel(t.Context())
			hung := make(chan error)
			for range 50 {
				go func() {
					_, err := p.Read(ctx, hanging, query("SELECT 1"))
					hung <- err
				}()
			}
			for range 10 {
				read(t, p, good.Source, query("SELECT 1"))
			}
			giveUp()
			for range 50 {
				if err := <-hung; !errors.As(err, new(*sqldb.Error)) {
					t.Errorf("Read = %v", err)
				}
			}
			impatient := pools(t, func(o *sqldb.Options) { o.Limits.Connect = 200 * time.Millisecond })
			refused(t, impatient, hanging, query("SELECT 1"), sqldb.Unreachable)
		})
	}
}

// TestClearText connects to a PostgreSQL that requests the password itself, and does not get it without TLS.
func TestClearText(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	heard := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Read(make([]byte, 1000)) // who wants to log in
		_, _ = conn.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3})
		rest, _ := io.ReadAll(conn)
		heard <- string(rest)
	}()
	s := sqldb.Source{
		Type: sqldb.Postgres, Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).AddrPort().Port(), Database: "app", User: "app",
		Password: "secret-password", TLS: sqldb.TLS{Disabled: true},
	}
	refused(t, pools(t), s, query("SELECT 1"), sqldb.LoginRefused)
	if said := <-heard; strings.Contains(said, s.Password) {
		t.Error("the password was sent in clear text")
	}
}

// mysqlGreeting is what a server without TLS says first: its version, and that it knows the protocol and plugins.
const mysqlGreeting = "\x0a5.5.5\x00\x01\x00\x00\x0012345678\x00\x00\xa2\x21\x02\x00\x08\x00\x15" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00123456789012\x00mysql_native_password\x00"

// TestNoTLS meets servers that offer no TLS.
func TestNoTLS(t *testing.T) {
	for kind, greeting := range map[sqldb.Type]string{
		sqldb.Postgres: "N",
		sqldb.MySQL:    string([]byte{byte(len(mysqlGreeting)), 0, 0, 0}) + mysqlGreeting,
	} {
		t.Run(string(kind), func(t *testing.T) {
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
					if kind == sqldb.Postgres {
						_, _ = conn.Read(make([]byte, 8))
					}
					_, _ = conn.Write([]byte(greeting))
				}
			}()
			source := sqldb.Source{
				Type: kind, Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).AddrPort().Port(), Database: "app", User: "app", Password: "secret",
			}
			refused(t, pools(t), source, query("SELECT 1"), sqldb.Insecure)
		})
	}
}
