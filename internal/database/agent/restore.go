// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/database/server"
	"github.com/acme/platform-operator/internal/database/store"
)

func isBrokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// Discard removes a backup; one that does not exist is no error.
func Discard(ctx context.Context, o Options) error {
	if err := store.CheckPath(o.Path); err != nil {
		return err
	}
	d, err := store.Open(o.Destination)
	if err != nil {
		return err
	}
	return d.Remove(ctx, o.Path)
}

// Restore fills a new database from a backup. Every stored byte is compared with the manifest before the database is touched. Users
// cannot log in from the moment that the database is found empty until the restore is complete; a restore that was killed is undone
// and done again.
func Restore(ctx context.Context, o Options) (*result.Restore, error) {
	if err := store.CheckPath(o.Path); err != nil {
		return nil, err
	}
	d, err := store.Open(o.Destination)
	if err != nil {
		return nil, err
	}
	m, err := store.ReadManifest(ctx, d, o.Path)
	if err != nil {
		return nil, err
	}
	if m.Engine != o.Type {
		return nil, result.Errorf(result.WrongEngine, "the backup at %s is of %s, the database is %s", o.Path, m.Engine, o.Type)
	}
	identity, err := o.optional("identity")
	if err != nil {
		return nil, err
	}
	report := &result.Restore{Path: m.Path, SHA256: m.SHA256}
	a, err := o.connect(ctx, o.Host)
	if err != nil {
		return nil, err
	}
	defer a.close()
	if err := a.checkVersion(ctx, m.ServerVersion, "the backup"); err != nil {
		return nil, err
	}
	// The first pass: it also finds out whether the key fits.
	if err := o.feed(ctx, d, m, identity, func() (*exec.Cmd, error) { return nil, nil }); err != nil {
		return nil, err
	}
	report.Already, err = a.fill(ctx, o, m.Path, func() error {
		return o.feed(ctx, d, m, identity, func() (*exec.Cmd, error) { return a.engine.Load(a.target, m.User == o.Names.User) })
	}, func(db server.Queryer) error {
		counts, err := rows(ctx, a.engine, db)
		if err != nil {
			return err
		}
		report.Tables, report.Rows = len(counts), total(counts)
		return compareCounts(m.Counts, counts)
	})
	return report, err
}

func compareCounts(want, got map[string]int64) error {
	if want == nil || maps.Equal(want, got) {
		return nil
	}
	for name, n := range want {
		if got[name] != n {
			return result.Errorf(result.Mismatch, "the table %s has %d rows, the backup had %d", name, got[name], n)
		}
	}
	return result.Errorf(result.Mismatch, "there are %d tables, the backup had %d", len(got), len(want))
}

// checkVersion makes sure that the server is not older than what it is to take.
func (a *admin) checkVersion(ctx context.Context, version, what string) error {
	own, err := a.engine.Version(ctx, a.db)
	if err != nil {
		return result.Errorf(result.ServerUnreachable, "asking for the version: %w", err)
	}
	if major(version) > major(own) {
		return result.Errorf(result.NewerVersion, "%s is of version %s, the server has %s: set a newer version", what, version, own)
	}
	return nil
}

func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(strings.TrimRightFunc(first, func(r rune) bool { return r < '0' || r > '9' }))
	if err != nil {
		return 0
	}
	return n
}

// fill fills an empty database: load, then check, with users kept outside. What is recorded at each step decides what the next attempt
// does after a crash: while it was only looked at nothing is undone; what had begun is emptied; what is done is only checked.
func (a *admin) fill(ctx context.Context, o Options, what string, load func() error, check func(db server.Queryer) error) (already bool, err error) {
	wanted, errWanted := o.accounts()
	state, errState := a.record(ctx, fillKey)
	if err := errors.Join(errWanted, errState); err != nil {
		return false, err
	}
	switch {
	case state == done+what:
		return true, a.checked(check)
	case strings.HasPrefix(state, done):
		return false, result.Errorf(result.NotEmpty, "the database was made from %s: restore into a new one", strings.TrimPrefix(state, done))
	case strings.HasPrefix(state, begun):
		// Before the door: an attempt that was killed in here has left no database whose door could be closed. Users cannot log in since
		// it was claimed.
		if err := a.engine.Reset(ctx, a.target, a.names); err != nil {
			return false, err
		}
	default:
		if err := a.claim(ctx, what, wanted); err != nil {
			return false, err
		}
	}
	for _, step := range []func() error{
		func() error { return a.mark(ctx, begun+what, wanted) },
		load,
		func() error { return a.checked(check) },
		func() error { return a.mark(ctx, done+what, wanted) },
	} {
		if err := step(); err != nil {
			return false, err
		}
	}
	return false, nil
}

// mark records a state of filling, and lets users in or not as it says.
func (a *admin) mark(ctx context.Context, state string, wanted []account) error {
	if err := a.setRecord(ctx, fillKey, state); err != nil {
		return err
	}
	_, err := a.applyDoor(ctx, wanted)
	return err
}

func (a *admin) checked(check func(db server.Queryer) error) (err error) {
	db, err := a.engine.Open(a.target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return check(db)
}

// claim makes sure that the database is empty, with users outside.
func (a *admin) claim(ctx context.Context, what string, wanted []account) error {
	if err := a.mark(ctx, checking+what, wanted); err != nil {
		return err
	}
	if err := a.checked(func(db server.Queryer) error { return a.empty(ctx, db) }); err != nil {
		return errors.Join(err, a.mark(ctx, "", wanted)) // users get in again
	}
	return nil
}

func (a *admin) empty(ctx context.Context, db server.Queryer) error {
	tables, err := a.engine.Tables(ctx, db)
	if err != nil {
		return err
	}
	objects, err := a.engine.Objects(ctx, db)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if !a.engine.IsNew(object) {
			return result.Errorf(result.NotEmpty, "the database has %d tables, and %s: restore into a new one", len(tables), object)
		}
	}
	if len(tables) > 0 {
		return result.Errorf(result.NotEmpty, "the database has %d tables, such as %s: restore into a new one", len(tables), tables[0])
	}
	return nil
}

// tryRestore restores a backup into a server that is thrown away, and compares the rows.
func (o Options) tryRestore(ctx context.Context, d store.Destination, m store.Manifest, identity string) (err error) {
	dir, err := os.MkdirTemp(o.ScratchDir, "try")
	if err != nil {
		return fmt.Errorf("making room for a restore: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	a, stop, err := o.throwAway(ctx, dir)
	if err != nil {
		return result.Errorf(result.RestoreFailed, "starting a server to restore into: %w", err)
	}
	defer stop()
	if err := o.feed(ctx, d, m, identity, func() (*exec.Cmd, error) { return a.engine.Load(a.target, false) }); err != nil {
		return err
	}
	return a.checked(func(db server.Queryer) error {
		counts, err := rows(ctx, a.engine, db)
		if err != nil {
			return err
		}
		return compareCounts(m.Counts, counts)
	})
}

// throwAway starts a server that only this process reaches.
func (o Options) throwAway(ctx context.Context, dir string) (_ *admin, stop func(), err error) {
	engine, err := o.engine()
	if err != nil {
		return nil, nil, err
	}
	password, err := o.secret("admin-password")
	if err != nil {
		return nil, nil, err
	}
	l := server.Launch{Data: filepath.Join(dir, "data"), Run: filepath.Join(dir, "run"), Port: o.port(), AdminPassword: password}
	if err := errors.Join(os.Mkdir(l.Data, 0o700), os.Mkdir(l.Run, 0o700)); err != nil {
		return nil, nil, err
	}
	cmd, err := engine.Initialize(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	if err := server.Output(cmd, func(cmd *exec.Cmd) error { return runCommand(ctx, cmd) }); err != nil {
		return nil, nil, err
	}
	if err := engine.Configure(l); err != nil {
		return nil, nil, err
	}
	if cmd, err = engine.Command(l); err != nil {
		return nil, nil, err
	}
	cmd.Stdout, cmd.Stderr = o.Output, o.Output
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() {
		_, atOnce := engine.Signals()
		_, _ = cmd.Process.Signal(atOnce), cmd.Wait() // nothing of it is needed
	}
	a := &admin{engine: engine, names: o.Names, now: o.Now, target: server.Target{
		Socket: l.Run, Port: l.Port, User: result.Admin, Password: password, Database: o.Names.Database, Client: l.Run,
	}}
	waiting, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := poll(waiting, 100*time.Millisecond, func() (bool, error) {
		err := engine.Prepare(waiting, a.target, o.Names)
		return err == nil, err
	}); err != nil {
		stop()
		return nil, nil, err
	}
	return a, stop, nil
}
