// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent is the database agent: it runs a database server as the first process of a container, and backs up, restores, fills and
// copies databases in Jobs. It is the only part of the operator that touches data. It knows no Kubernetes.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/database/server"
	"github.com/acme/platform-operator/internal/database/store"
)

// Options are what the command line says. Paths have defaults in the package result.
type Options struct {
	Type  string
	Names server.Names
	// Host is the server of a Job, SourceHost the one that migrate copies from.
	Host, SourceHost string
	// Port is the server's port, 0 for the default of the type.
	Port int

	// Version is the one that the server of the image must have, such as 18 or 8.4; empty allows any.
	Version string
	// Adopted: the data was there before. An empty folder is an error.
	Adopted bool

	DataDir, RunDir, ScratchDir                  string
	AccountsDir, ParametersDir, TLSDir, SetupDir string
	EncryptionDir                                string
	// Listen is the address of the server that run starts.
	Listen      string
	HTTPAddress string
	AgentPort   int
	StopTimeout time.Duration
	// Timeout ends a Job; 0 is none.
	Timeout time.Duration

	Path, UID, Verify string
	SweepOlderThan    time.Duration
	Destination       store.Options
	Hash              string
	State             string
	// To is where install copies the agent.
	To            string
	SourcePort    int
	WantRevisions map[string]string

	Log *slog.Logger
	// Output gets what the server says.
	Output io.Writer
	Now    func() time.Time
}

func (o Options) engine() (server.Engine, error) {
	e, err := server.ForType(o.Type)
	if err != nil {
		return nil, err
	}
	return e, result.CheckNames(o.Type, o.Names.Database, o.Names.User)
}

func (o Options) port() int {
	switch {
	case o.Port != 0:
		return o.Port
	case o.Type == result.Postgres:
		return result.PostgresPort
	default:
		return result.MySQLPort
	}
}

// secret reads a password; every byte counts.
func (o Options) secret(key string) (string, error) {
	text, err := os.ReadFile(filepath.Join(o.AccountsDir, key))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", result.Errorf(result.KeyMissing, "the Secret of the accounts has no key %s: restore it", key)
	case err != nil:
		return "", fmt.Errorf("reading %s: %w", key, err)
	case len(text) == 0:
		return "", result.Errorf(result.KeyMissing, "the key %s of the Secret of the accounts is empty: set a password", key)
	}
	return string(text), nil
}

// target is how a Job logs in to a server as the administrator.
func (o Options) target(host string) (server.Target, error) {
	if host == "" {
		return server.Target{}, result.Errorf(result.InvalidInput, "no --host is given")
	}
	password, err := o.secret("admin-password")
	return server.Target{Host: host, Port: o.port(), User: result.Admin, Password: password, Database: o.Names.Database, Client: o.RunDir}, err
}

// connect logs in to a server, and waits up to a minute for one that starts.
func (o Options) connect(ctx context.Context, host string) (*admin, error) {
	engine, err := o.engine()
	if err != nil {
		return nil, err
	}
	target, err := o.target(host)
	if err != nil {
		return nil, err
	}
	a := &admin{engine: engine, names: o.Names, target: target, now: o.Now}
	if err := a.open(); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = poll(waiting, 200*time.Millisecond, func() (bool, error) {
		err := a.db.PingContext(waiting)
		return err == nil || !engine.Transient(err), err
	})
	if err != nil {
		a.close()
		return nil, result.Errorf(result.ServerUnreachable, "logging in to the server at %s as %s: %w", host, result.Admin, err)
	}
	return a, nil
}

// poll runs f until it says that it is done, and returns its last error; the end of the context ends it too.
func poll(ctx context.Context, every time.Duration, f func() (done bool, err error)) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		done, err := f()
		if done {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-ticker.C:
		}
	}
}

// runCommand runs a program of a Job until it ends or the context does.
func runCommand(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // it may have ended already
	defer stop()
	return errors.Join(cmd.Wait(), ctx.Err())
}
