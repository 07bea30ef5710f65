// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sqltest runs real database servers (PostgreSQL and MariaDB) for tests.
package sqltest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"

	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/testenv/loopback"
)

const patience = 2 * time.Minute

// TB is the part of a test that a server needs: a *testing.T, or Ginkgo's GinkgoT().
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Server is a running server with a database "app" that its user "app" may read from and write to. It accepts
// connections with and without TLS; its certificate is for its address only.
type Server struct {
	// Source is how to connect as the user.
	sqldb.Source
	// CA is the PEM bundle to verify the server with; Source has it too.
	CA string

	t       TB
	make    maker
	dir     string
	as      *syscall.SysProcAttr
	process *exec.Cmd
	exited  chan struct{}
	log     bytes.Buffer // written by process; read it after exited is closed
}

// maker is the part that differs between the servers.
type maker interface {
	// prepare creates the data directory, once.
	prepare(s *Server) error
	// command is the command line of the server.
	command(s *Server) ([]string, error)
	// admin connects as the superuser, to the user's database if it exists.
	admin(s *Server, database string) (*sql.DB, error)
	// populate creates the user and the database.
	populate(s *Server) error
	// password is the statement that changes the user's password.
	password(s *Server, password string) string
	// sessions is the query that counts the user's connections.
	sessions() string
}

// StartPostgres runs a PostgreSQL until the test ends. It fails the test if none is installed.
func StartPostgres(t TB) *Server {
	t.Helper()
	return start(t, sqldb.Postgres, &postgres{})
}

// StartMariaDB runs a MariaDB until the test ends. It fails the test if none is installed.
func StartMariaDB(t TB) *Server {
	t.Helper()
	return start(t, sqldb.MySQL, &mariadb{})
}

func start(t TB, kind sqldb.Type, m maker) *Server {
	t.Helper()
	s := &Server{t: t, make: m, Source: sqldb.Source{
		Type: kind, Host: loopback.Host(), Database: "app", User: "app", Password: "app-password",
		Port: uint16(loopback.Port()), //nolint:gosec // G115: a port
	}}
	if err := s.setUp(); err != nil {
		t.Fatalf("preparing %s: %v", kind, err)
	}
	if err := s.launch(); err != nil {
		t.Fatalf("starting %s: %v", kind, err)
	}
	if err := m.populate(s); err != nil {
		t.Fatalf("populating %s: %v", kind, err)
	}
	return s
}

// Stop ends the server; so does the end of the test.
func (s *Server) Stop() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(syscall.SIGQUIT) // at once; its data is not needed
	select {
	case <-s.exited:
	case <-time.After(patience):
	}
	_ = s.process.Process.Kill() // fails if it has ended already
	<-s.exited
	s.process = nil
}

// Restart starts the server again, at the same address and with the same data.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.launch(); err != nil {
		s.t.Fatalf("starting %s again: %v", s.Type, err)
	}
}

// Exec runs statements as the superuser.
func (s *Server) Exec(statements ...string) {
	s.t.Helper()
	if err := s.exec(s.Database, statements...); err != nil {
		s.t.Fatalf("%v", err)
	}
}

// Int runs a query that returns one number, as the superuser.
func (s *Server) Int(query string) int {
	s.t.Helper()
	db, err := s.make.admin(s, s.Database)
	if err != nil {
		s.t.Fatalf("connecting: %v", err)
	}
	defer func() { _ = db.Close() }()
	n := 0
	if err := db.QueryRowContext(context.Background(), query).Scan(&n); err != nil {
		s.t.Fatalf("running %q: %v", query, err)
	}
	return n
}

// Sessions counts the connections of the user.
func (s *Server) Sessions() int {
	s.t.Helper()
	return s.Int(s.make.sessions())
}

// SetPassword changes the password of the user, in the server and in Password.
func (s *Server) SetPassword(password string) {
	s.t.Helper()
	s.Exec(s.make.password(s, password))
	s.Password = password
}

func (s *Server) exec(database string, statements ...string) error {
	db, err := s.make.admin(s, database)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range statements {
		if _, err := db.ExecContext(context.Background(), statement); err != nil {
			return fmt.Errorf("running %q: %w", statement, err)
		}
	}
	return nil
}

// setUp creates a folder for the user that the server runs as, because the servers do not run as root.
func (s *Server) setUp() error {
	ca, key, err := cert.GenerateSelfSignedCertKey(s.Host, nil, nil)
	if err != nil {
		return fmt.Errorf("making certificates: %w", err)
	}
	s.CA, s.TLS.CA = string(ca), string(ca)
	if s.dir, err = os.MkdirTemp("", "sqltest"); err != nil {
		return err
	}
	s.t.Cleanup(func() {
		s.Stop()
		_ = os.RemoveAll(s.dir)
	})
	err = errors.Join(
		os.WriteFile(s.path("server.crt"), ca, 0o600),
		os.WriteFile(s.path("server.key"), key, 0o600),
	)
	if err == nil && os.Getuid() == 0 {
		err = s.handOver()
	}
	if err != nil {
		return err
	}
	return s.make.prepare(s)
}

func (s *Server) handOver() error {
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return fmt.Errorf("finding a user to run the server as: %w", err)
	}
	uid, _ := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, _ := strconv.ParseUint(nobody.Gid, 10, 32)
	s.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	for _, path := range []string{s.dir, s.path("server.crt"), s.path("server.key")} {
		if err := os.Chown(path, int(uid), int(gid)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

// run runs a program to its end.
func (s *Server) run(args ...string) error {
	out, err := s.cmd(args).CombinedOutput()
	if err != nil {
		return fmt.Errorf("running %s: %w: %s", args[0], err, out)
	}
	return nil
}

func (s *Server) cmd(args []string) *exec.Cmd {
	c := exec.CommandContext(context.Background(), args[0], args[1:]...) //nolint:gosec // G204: the programs of the makers
	c.Dir, c.SysProcAttr = s.dir, s.as
	return c
}

func (s *Server) launch() error {
	args, err := s.make.command(s)
	if err != nil {
		return err
	}
	s.log.Reset()
	s.process = s.cmd(args)
	s.process.Stdout, s.process.Stderr = &s.log, &s.log
	if err := s.process.Start(); err != nil {
		s.process = nil
		return fmt.Errorf("running %s: %w", args[0], err)
	}
	exited := make(chan struct{})
	s.exited = exited
	go func(p *exec.Cmd) {
		_ = p.Wait()
		close(exited)
	}(s.process)
	if err := s.waitReady(); err != nil {
		s.Stop()
		return fmt.Errorf("%w; it said: %s", err, s.log.String())
	}
	return nil
}

func (s *Server) waitReady() error {
	var last error
	err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, patience, true,
		func(context.Context) (bool, error) {
			select {
			case <-s.exited:
				return false, errors.New("it ended")
			default:
				last = s.exec("", "SELECT 1")
				return last == nil, nil
			}
		})
	if err != nil {
		return fmt.Errorf("waiting until it answers: %w", errors.Join(err, last))
	}
	return nil
}

// find returns the first program that exists.
func find(name string, candidates ...string) (string, error) {
	for _, pattern := range candidates {
		if paths, err := filepath.Glob(pattern); err == nil && len(paths) > 0 {
			return paths[len(paths)-1], nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is needed for this test (make test-tools installs it): %w", name, err)
	}
	return path, nil
}
