// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/database/store"
)

// Ways to verify a backup.
const (
	VerifyChecksum = "checksum"
	VerifyRestore  = "restore"
)

// Backup dumps a database into a destination, reads the dump back, and writes the manifest last. A crash before that leaves no backup.
func Backup(ctx context.Context, o Options) (*result.Backup, error) {
	d, err := o.checkBackup()
	if err != nil {
		return nil, err
	}
	m, err := store.ReadManifest(ctx, d, o.Path)
	switch {
	case result.ReasonOf(err) == result.NotFound:
	case err != nil:
		return nil, err
	case m.UID != o.UID:
		return nil, result.Errorf(result.Occupied, "there is another backup at %s", o.Path)
	default: // an earlier run of this Job was killed after its work
		m.Already = true
		m.RowsPerTable = m.Counts
		return &m.Backup, verifyChecksum(ctx, d, m)
	}
	a, err := o.connect(ctx, o.Host)
	if err != nil {
		return nil, err
	}
	defer a.close()
	if err := o.sweep(ctx, d); err != nil {
		return nil, err
	}
	dumped, err := o.dump(ctx, a, d)
	if err != nil {
		return nil, err
	}
	m = *dumped
	if err := o.verify(ctx, d, &m); err != nil {
		return nil, errors.Join(err, d.Remove(ctx, o.Path))
	}
	m.CompletedAt = o.Now().UTC().Format(time.RFC3339)
	if err := store.WriteManifest(ctx, d, m); err != nil {
		return nil, err
	}
	m.RowsPerTable = m.Counts
	return &m.Backup, nil
}

func (o Options) checkBackup() (store.Destination, error) {
	if o.Verify != VerifyChecksum && o.Verify != VerifyRestore {
		return nil, result.Errorf(result.InvalidInput, "--verify=%s is neither %s nor %s", o.Verify, VerifyChecksum, VerifyRestore)
	}
	if o.UID == "" {
		return nil, result.Errorf(result.InvalidInput, "no --uid is given")
	}
	if err := store.CheckPath(o.Path); err != nil {
		return nil, err
	}
	return store.Open(o.Destination)
}

// sweep removes what earlier backups left when they were killed, here and in this database's other backups.
func (o Options) sweep(ctx context.Context, d store.Destination) error {
	if err := d.Remove(ctx, o.Path); err != nil {
		return err
	}
	if o.SweepOlderThan <= 0 {
		return nil
	}
	swept, err := store.Sweep(ctx, d, o.Path, o.Now().Add(-o.SweepOlderThan))
	for _, path := range swept {
		o.Log.Info("Removed a backup that was never completed", "path", path)
	}
	return err
}

func (o Options) dump(ctx context.Context, a *admin, d store.Destination) (m *store.Manifest, err error) {
	m = &store.Manifest{UID: o.UID, Engine: o.Type, Database: o.Names.Database, User: o.Names.User}
	m.Path, m.StartedAt, m.Verified = o.Path, o.Now().UTC().Format(time.RFC3339), result.VerifiedChecksum
	recipient, err := o.optional("recipient")
	if err != nil {
		return m, err
	}
	m.Encrypted = recipient != ""
	db, err := a.engine.Open(a.target)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if m.ServerVersion, err = a.engine.Version(ctx, db); err != nil {
		return m, result.Errorf(result.ServerUnreachable, "asking for the version: %w", err)
	}
	snapshot, err := a.engine.Snapshot(ctx, db)
	if err != nil {
		return m, result.Errorf(result.DumpFailed, "preparing the dump: %w", err)
	}
	defer snapshot.Close()
	stream, err := store.NewStream(ctx, d, o.Path, recipient)
	if err != nil {
		return m, err
	}
	counting, cancel := context.WithCancel(ctx)
	defer cancel()
	counted := make(chan error, 1)
	err = a.pipe(ctx, snapshot, stream, func() {
		snapshot.Started()
		go func() { counted <- countInto(counting, m, a.engine, snapshot.Queryer(), db) }()
	})
	if err != nil {
		stream.Abort()
		cancel()
		return m, errors.Join(err, ignoreCancelled(<-counted))
	}
	m.SHA256, m.Size, m.PlainSize, err = stream.Commit()
	if err != nil {
		cancel()
	}
	return m, errors.Join(err, ignoreCancelled(<-counted))
}
