// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/database/server"
)

// Migrate copies a database into a new server and compares both. The door of the source has to be closed, so that nothing is written
// there that the copy lacks. The source is only read; a copy that was killed is undone and done again.
func Migrate(ctx context.Context, o Options) (*result.Migrate, error) {
	of := o
	if o.SourcePort != 0 {
		of.Port = o.SourcePort
	}
	// Client programs of both read their passwords from files.
	of.RunDir = filepath.Join(o.RunDir, "source")
	if err := os.MkdirAll(of.RunDir, 0o700); err != nil {
		return nil, fmt.Errorf("making a folder for the source: %w", err)
	}
	source, err := of.connect(ctx, o.SourceHost)
	if err != nil {
		return nil, err
	}
	defer source.close()
	target, err := o.connect(ctx, o.Host)
	if err != nil {
		return nil, err
	}
	defer target.close()
	report := &result.Migrate{}
	if err := checkMigration(ctx, o, source, target, report); err != nil {
		return report, err
	}
	begin := o.Now()
	_, err = target.fill(ctx, o, copied, func() error {
		err := source.copyTo(ctx, target)
		report.CopySeconds = o.Now().Sub(begin).Seconds()
		return err
	}, func(db server.Queryer) error {
		begin := o.Now()
		err := source.use(func(own *sql.DB) error { return compare(ctx, source.engine, own, db, report) })
		report.CompareSeconds = o.Now().Sub(begin).Seconds()
		return err
	})
	return report, err
}

func checkMigration(ctx context.Context, o Options, source, target *admin, report *result.Migrate) (err error) {
	wanted, err := o.accounts()
	if err != nil {
		return err
	}
	if report.SourceVersion, err = source.engine.Version(ctx, source.db); err != nil {
		return result.Errorf(result.ServerUnreachable, "asking for the version of the source: %w", err)
	}
	if report.TargetVersion, err = target.engine.Version(ctx, target.db); err != nil {
		return result.Errorf(result.ServerUnreachable, "asking for the version: %w", err)
	}
	if err := target.checkVersion(ctx, report.SourceVersion, "the source"); err != nil {
		return err
	}
	state, _, err := source.door(ctx)
	if err != nil {
		return err
	}
	if state != result.DoorClosed {
		return result.Errorf(result.DoorNotClosed, "the door of the source is open: close it, so that nothing is written that the copy lacks")
	}
	if err := source.endSessions(ctx, wanted); err != nil {
		return err
	}
	return source.use(func(own *sql.DB) error {
		missing, err := source.engine.Missing(ctx, own, target.db)
		if err == nil && len(missing) > 0 {
			err = result.Errorf(result.ExtensionMissing, "the new server lacks the extensions %s: use an image that has them", strings.Join(missing, ", "))
		}
		return err
	})
}

// copyTo pipes the dump of one server into the other, and copies which setups were completed.
func (a *admin) copyTo(ctx context.Context, target *admin) error {
	load, err := target.engine.Load(target.target, true)
	if err != nil {
		return err
	}
	reader, writer := io.Pipe()
	dumped := make(chan error, 1)
	go func() {
		err := a.pipe(ctx, wholeSnapshot{}, writer, func() {})
		_ = writer.CloseWithError(err) // an error, so that half a dump is not taken for a whole one
		dumped <- err
	}()
	err = feedTo(ctx, load, reader)
	_ = reader.CloseWithError(errAbandoned) // a dump that nobody reads ends
	if err := errors.Join(err, ignoreAbandoned(<-dumped)); err != nil {
		return err
	}
	return a.copySetups(ctx, target)
}

var errAbandoned = errors.New("nobody reads the dump any more")

func ignoreAbandoned(err error) error {
	if errors.Is(err, errAbandoned) {
		return nil
	}
	return err
}

// wholeSnapshot is that of a database that nobody writes to.
type wholeSnapshot struct{}

func (wholeSnapshot) ID() string              { return "" }
func (wholeSnapshot) Started()                {}
func (wholeSnapshot) Queryer() server.Queryer { return nil }
func (wholeSnapshot) Close()                  {}

func (a *admin) copySetups(ctx context.Context, target *admin) error {
	hashes, err := a.setups(ctx)
	if err != nil {
		return err
	}
	return target.use(func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, "DELETE FROM "+target.engine.Setups())
		for _, hash := range hashes {
			if err == nil {
				_, err = db.ExecContext(ctx, "INSERT INTO "+target.engine.Setups()+" VALUES ("+target.engine.Literal(hash)+", '"+setupDone+"')")
			}
		}
		return err
	})
}

// compare compares the rows of all tables and everything else that a copy must have.
func compare(ctx context.Context, e server.Engine, source, target server.Queryer, report *result.Migrate) error {
	tables, err := e.Tables(ctx, source)
	if err != nil {
		return fmt.Errorf("listing the tables: %w", err)
	}
	copies, err := e.Tables(ctx, target)
	if err != nil {
		return fmt.Errorf("listing the tables: %w", err)
	}
	report.Tables = len(tables)
	for _, t := range copies {
		if !slices.Contains(tables, t) {
			report.Differences = append(report.Differences, "table "+t.String()+" is only in the copy")
		}
	}
	for _, t := range tables {
		if !slices.Contains(copies, t) {
			report.Differences = append(report.Differences, "table "+t.String()+" is missing")
			continue
		}
		if err := compareTable(ctx, e, source, target, t, report); err != nil {
			return err
		}
	}
	if err := compareObjects(ctx, e, source, target, report); err != nil {
		return err
	}
	if len(report.Differences) > 0 {
		first := report.Differences[:min(5, len(report.Differences))]
		return result.Errorf(result.Mismatch, "the copy differs from the original: %s", strings.Join(first, "; "))
	}
	return nil
}

type sum struct {
	rows int64
	sum  string
	err  error
}

func sumOf(ctx context.Context, e server.Engine, db server.Queryer, t server.Table) (s sum) {
	query, err := e.Sum(ctx, db, t)
	if err == nil {
		err = db.QueryRowContext(ctx, query).Scan(&s.rows, &s.sum)
	}
	s.err = err
	return s
}

func compareTable(ctx context.Context, e server.Engine, source, target server.Queryer, t server.Table, report *result.Migrate) error {
	copied := make(chan sum, 1)
	go func() { copied <- sumOf(ctx, e, target, t) }()
	original := sumOf(ctx, e, source, t)
	its := <-copied
	if err := errors.Join(original.err, its.err); err != nil {
		return fmt.Errorf("adding up the rows of %s: %w", t, err)
	}
	report.Rows += its.rows
	switch {
	case original.rows != its.rows:
		report.Differences = append(report.Differences, fmt.Sprintf("table %s has %d rows, the original %d", t, its.rows, original.rows))
	case original.sum != its.sum:
		report.Differences = append(report.Differences, fmt.Sprintf("the rows of table %s are not the same", t))
	}
	return nil
}

func compareObjects(ctx context.Context, e server.Engine, source, target server.Queryer, report *result.Migrate) error {
	originals, err := e.Objects(ctx, source)
	if err != nil {
		return fmt.Errorf("listing what is in the original: %w", err)
	}
	copies, err := e.Objects(ctx, target)
	if err != nil {
		return fmt.Errorf("listing what is in the copy: %w", err)
	}
	for _, object := range originals {
		if !slices.Contains(copies, object) {
			report.Differences = append(report.Differences, "missing: "+object)
		}
	}
	for _, object := range copies {
		if !slices.Contains(originals, object) {
			report.Differences = append(report.Differences, "only in the copy: "+object)
		}
	}
	return nil
}
