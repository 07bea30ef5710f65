// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/database/server"
	"github.com/acme/platform-operator/internal/testenv/loopback"
)

const patience = 2 * time.Minute

// program is the agent as it is built for the image.
var program string

func TestMain(m *testing.M) {
	code, err := build(m)
	if err != nil {
		log.Print(err)
	}
	os.Exit(code)
}

func build(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "agenttest")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "database-agent")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-ldflags", "-s -w", "-o", program, "../../../cmd/database-agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building the agent: %w: %s", err, output)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// engines are those that every test of a verb runs with.
var engines = []string{result.Postgres, result.MySQL}

func forEngines(t *testing.T, f func(t *testing.T, kind string)) {
	for _, kind := range engines {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f(t, kind)
		})
	}
}

// pod is what a pod of a Database has: folders, and an agent as the first process of a PID namespace. What a kill -9 does to a container
// it does to that namespace: every process ends.
type pod struct {
	t        *testing.T
	kind     string
	dir      string
	names    server.Names
	port     int
	httpPort int
	process  *exec.Cmd
	exited   chan struct{}
	log      *safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

const (
	adminPassword = "admin-Passw0rd"
	userPassword  = "user-Passw0rd"
)

func newPod(t *testing.T, kind string) *pod {
	t.Helper()
	// Paths of sockets are short, and a kill needs no disk: what is written stays in memory.
	memory := "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		memory = ""
	}
	dir, err := os.MkdirTemp(memory, "pod")
	if err != nil {
		t.Fatal(err)
	}
	p := &pod{t: t, kind: kind, dir: dir, names: server.Names{Database: "app", User: "app"}, log: &safeBuffer{}}
	p.port, p.httpPort = loopback.Port(), loopback.Port()
	t.Cleanup(func() {
		p.kill()
		_ = os.RemoveAll(dir)
		if t.Failed() {
			t.Logf("the agent of %s said:\n%s", dir, tail(p.log.String()))
		}
	})
	for _, name := range []string{"data", "run", "accounts", "parameters", "tls", "backups", "scratch", "setup", "encryption", "s3", "job"} {
		if err := os.Mkdir(p.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
		p.own(name)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p.mount("accounts/admin-password", adminPassword)
	p.mount("accounts/a-password", userPassword)
	p.mount("accounts/a-revision", "1")
	return p
}

func tail(text string) string {
	if len(text) > 2500 {
		return "…" + text[len(text)-2500:]
	}
	return text
}

func (p *pod) path(name string) string { return filepath.Join(p.dir, name) }

// own gives a file to the user that the agent runs as: servers do not run as root.
func (p *pod) own(name string) {
	p.t.Helper()
	if os.Getuid() != 0 {
		return
	}
	uid, gid := nobody(p.t)
	if err := os.Chown(p.path(name), uid, gid); err != nil {
		p.t.Fatal(err)
	}
}

func nobody(t *testing.T) (uid, gid int) {
	t.Helper()
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ = strconv.Atoi(u.Uid)
	gid, _ = strconv.Atoi(u.Gid)
	return uid, gid
}

// mount writes a file as the kubelet would, in one step.
func (p *pod) mount(name, content string) {
	p.t.Helper()
	if err := os.WriteFile(p.path(name)+".tmp", []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.own(name + ".tmp")
	if err := os.Rename(p.path(name)+".tmp", p.path(name)); err != nil {
		p.t.Fatal(err)
	}
}

// container is a command as the first process of a namespace of its own.
func container(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Getuid() == 0 {
		uid, gid := nobody(t)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	} else {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	return cmd
}

func (p *pod) httpAddress() string {
	return net.JoinHostPort(loopback.Host(), strconv.Itoa(p.httpPort))
}

func (p *pod) flags() []string {
	return []string{
		"--type=" + p.kind, "--database=" + p.names.Database, "--user=" + p.names.User, "--port=" + strconv.Itoa(p.port),
		"--accounts-dir=" + p.path("accounts"), "--parameters-dir=" + p.path("parameters"), "--tls-dir=" + p.path("tls"),
		"--setup-dir=" + p.path("setup"), "--encryption-dir=" + p.path("encryption"), "--s3-credentials-dir=" + p.path("s3"),
		"--scratch-dir=" + p.path("scratch"),
	}
}

func (p *pod) launch(extra ...string) {
	p.t.Helper()
	args := append([]string{"run"}, p.flags()...)
	args = append(args, "--data-dir="+p.path("data"), "--run-dir="+p.path("run"), "--listen="+loopback.Host(),
		"--http-address="+p.httpAddress(), "--result-file="+p.path("run/result"), "--stop-timeout=30s")
	p.process = container(p.t, append(args, extra...)...)
	p.process.Stdout, p.process.Stderr = p.log, p.log
	if err := p.process.Start(); err != nil {
		p.process = nil
		p.t.Fatalf("starting the agent: %v", err)
	}
	p.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(p.process, p.exited)
}

func (p *pod) start(extra ...string) {
	p.t.Helper()
	p.launch(extra...)
	p.eventually("it is ready", func() error {
		select {
		case <-p.exited:
			p.t.Fatalf("the agent has ended: %v", p.process.ProcessState)
		default:
		}
		s, err := p.status()
		if err == nil && !s.Ready {
			err = fmt.Errorf("it is %s: %s", s.Phase, s.Message)
		}
		return err
	})
}

// eventually waits until f has no objection.
func (p *pod) eventually(what string, f func() error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			p.t.Fatalf("waiting until %s: %v", what, err)
		case <-ticker.C:
		}
	}
}

func (p *pod) get(path string) (int, string, error) {
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+p.httpAddress()+path, nil)
	if err != nil {
		return 0, "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), errors.Join(err, answer.Body.Close())
}

func (p *pod) status() (s result.Status, err error) {
	_, text, err := p.get("/status")
	if err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	return s, err
}

// end sends a signal and waits; it returns the exit code.
func (p *pod) end(s syscall.Signal) int {
	p.t.Helper()
	if p.process == nil {
		return -1
	}
	_ = p.process.Process.Signal(s)
	select {
	case <-p.exited:
	case <-time.After(patience):
		_ = p.process.Process.Kill()
		p.t.Fatalf("the agent does not end after %s", s)
	}
	code := p.process.ProcessState.ExitCode()
	p.process = nil
	return code
}

func (p *pod) kill() { p.end(syscall.SIGKILL) }

func (p *pod) stop() {
	p.t.Helper()
	if code := p.end(syscall.SIGTERM); code != 0 {
		p.t.Fatalf("it stops with exit code %d", code)
	}
}

// as opens a pool as a user.
func (p *pod) as(name, password string) *sql.DB {
	p.t.Helper()
	return p.open(name, password, p.names.Database)
}

func (p *pod) open(name, password, database string) *sql.DB {
	p.t.Helper()
	engine, err := server.ForType(p.kind)
	if err != nil {
		p.t.Fatal(err)
	}
	db, err := engine.Open(server.Target{Host: loopback.Host(), Port: p.port, User: name, Password: password, Database: database})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = db.Close() })
	return db
}

func (p *pod) user() *sql.DB { return p.as(p.names.User, userPassword) }

func (p *pod) admin() *sql.DB { return p.as(result.Admin, adminPassword) }

// killedWhileEmptied leaves what a Job leaves that was killed after it had dropped the database that it fills: no database.
func (p *pod) killedWhileEmptied() {
	p.t.Helper()
	engine, err := server.ForType(p.kind)
	if err != nil {
		p.t.Fatal(err)
	}
	p.exec(p.open(result.Admin, adminPassword, result.AdminDatabase), engine.Upsert("filling", "begun "+p.names.Database), "DROP DATABASE app")
}

func (p *pod) exec(db *sql.DB, statements ...string) {
	p.t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(p.t.Context(), statement); err != nil {
			p.t.Fatalf("running %.200q: %v", statement, err)
		}
	}
}

func (p *pod) text(db *sql.DB, query string) (text string) {
	p.t.Helper()
	if err := db.QueryRowContext(p.t.Context(), query).Scan(&text); err != nil {
		p.t.Fatalf("running %.200q: %v", query, err)
	}
	return text
}
