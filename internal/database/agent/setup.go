// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/database/server"
)

// setupDone is the progress of a setup that was completed.
const setupDone = "done"

// setups lists the setups that were completed.
func (a *admin) setups(ctx context.Context) (hashes []string, err error) {
	err = a.use(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, "SELECT hash FROM "+a.engine.Setups()+" WHERE progress = '"+setupDone+"' ORDER BY hash")
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // it was only read
		for rows.Next() {
			var hash string
			if err := rows.Scan(&hash); err != nil {
				return err
			}
			hashes = append(hashes, hash)
		}
		return rows.Err()
	})
	return hashes, err
}

// script is a file of a setup.
type script struct{ name, text string }

func (o Options) scripts() ([]script, error) {
	entries, err := os.ReadDir(o.SetupDir) // in the order of their names
	if err != nil {
		return nil, result.Errorf(result.InvalidInput, "reading the setup: %w", err)
	}
	var list []script
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "..") { // the kubelet's own
			continue
		}
		text, err := os.ReadFile(filepath.Join(o.SetupDir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading the setup: %w", err)
		}
		list = append(list, script{entry.Name(), strings.TrimPrefix(string(text), "\ufeff")})
	}
	return list, nil
}

// Setup runs SQL files as the user, with the rights that the user has. What was completed under the same hash is not run again.
func Setup(ctx context.Context, o Options) (*result.Setup, error) {
	if o.Hash == "" || len(o.Hash) > 150 {
		return nil, result.Errorf(result.InvalidInput, "--hash is not given, or longer than 150 characters")
	}
	scripts, err := o.scripts()
	if err != nil {
		return nil, err
	}
	report := &result.Setup{Hash: o.Hash, Files: len(scripts)}
	conn, closeAll, err := o.asUser(ctx)
	if err != nil {
		return report, err
	}
	defer closeAll()
	engine, err := o.engine()
	if err != nil {
		return report, err
	}
	s := &setup{engine: engine, conn: conn, hash: o.Hash, report: report}
	progress, err := s.progress(ctx)
	if err != nil {
		return report, err
	}
	if progress == setupDone {
		report.Already = true
		return report, nil
	}
	if o.Type == result.Postgres {
		return report, s.inOneTransaction(ctx, scripts)
	}
	return report, s.oneByOne(ctx, scripts, progress)
}

// asUser logs in with the first of the user's passwords that is valid, and waits up to a minute for a server that starts.
func (o Options) asUser(ctx context.Context) (_ *sql.Conn, closeAll func(), err error) {
	a, err := o.connect(ctx, o.Host) // it waits, and it tells a wrong password from a server that is away
	if err != nil {
		return nil, nil, err
	}
	defer a.close()
	wanted, err := o.accounts()
	if err != nil {
		return nil, nil, err
	}
	problem := result.Errorf(result.KeyMissing, "the Secret of the accounts has no password of the user")
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var conn *sql.Conn
	var db *sql.DB
	_ = poll(waiting, 500*time.Millisecond, func() (bool, error) { // what is wrong is in problem
		for _, w := range wanted {
			if w.password == "" {
				continue
			}
			t := a.target
			t.User, t.Password = w.name, w.password
			if db, err = a.engine.Open(t); err == nil {
				if conn, err = db.Conn(ctx); err == nil {
					return true, nil
				}
				_ = db.Close() // it is not used
			}
			problem = result.Errorf(result.SetupFailed, "logging in as %s: %s", w.name, hide(err.Error(), w.password))
		}
		return result.ReasonOf(problem) == result.KeyMissing, nil
	})
	if conn == nil {
		return nil, nil, problem
	}
	return conn, func() { _ = errors.Join(conn.Close(), db.Close()) }, nil // everything is committed
}

type setup struct {
	engine server.Engine
	conn   *sql.Conn
	hash   string
	report *result.Setup
}

func (s *setup) progress(ctx context.Context) (progress string, err error) {
	err = s.conn.QueryRowContext(ctx, "SELECT progress FROM "+s.engine.Setups()+" WHERE hash = "+s.engine.Literal(s.hash)).Scan(&progress)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("asking for the progress of the setup: %w", err)
	}
	return progress, nil
}

func (s *setup) failed(f script, line int, err error) error {
	s.report.File, s.report.Line = f.name, line
	where := f.name
	if line > 0 {
		where += " line " + strconv.Itoa(line)
	}
	return result.Errorf(result.SetupFailed, "the setup fails in %s: %w", where, err)
}

// inOneTransaction runs all files and records that they were run, or nothing.
func (s *setup) inOneTransaction(ctx context.Context, scripts []script) error {
	if _, err := s.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	var before, after string
	const transaction = "SELECT pg_catalog.txid_current()::text"
	if err := s.conn.QueryRowContext(ctx, transaction).Scan(&before); err != nil {
		return err
	}
	for _, f := range scripts {
		if strings.TrimSpace(f.text) == "" {
			continue
		}
		if _, err := s.conn.ExecContext(ctx, f.text); err != nil {
			return s.failed(f, s.engine.SetupLine(err, f.text), err)
		}
		if err := s.conn.QueryRowContext(ctx, transaction).Scan(&after); err != nil {
			return s.failed(f, 0, err)
		}
		if after != before {
			return s.failed(f, 0, errors.New("it ends the transaction that all files run in: remove COMMIT and ROLLBACK"))
		}
	}
	record := "INSERT INTO " + s.engine.Setups() + " VALUES (" + s.engine.Literal(s.hash) + ", '" + setupDone + "')"
	if _, err := s.conn.ExecContext(ctx, "RESET ROLE; "+record); err != nil {
		return fmt.Errorf("recording the setup: %w", err)
	}
	_, err := s.conn.ExecContext(ctx, "COMMIT")
	return err
}

// oneByOne runs statement after statement, and records in the same transaction how far it is. A statement that changes the schema commits
// what is before it, so that after a crash it may have been done already: then its answer that it has is no error. After a failure that
// was seen, which the mark failed records, it is one.
func (s *setup) oneByOne(ctx context.Context, scripts []script, progress string) error {
	const failed = "!"
	reached, _ := strconv.Atoi(strings.TrimSuffix(progress, failed)) // nothing is 0
	doubtful := progress != "" && !strings.HasSuffix(progress, failed)
	if _, err := s.conn.ExecContext(ctx, s.recorded(strconv.Itoa(reached))); err != nil {
		return err
	}
	n := 0
	for _, f := range scripts {
		statements, err := split(f.text)
		if err != nil {
			return s.failed(f, 0, err)
		}
		for _, statement := range statements {
			n++
			if n <= reached && !statement.ofSession() {
				continue
			}
			if err := s.one(ctx, statement, n, doubtful && n == reached+1); err != nil {
				_, errRecord := s.conn.ExecContext(context.WithoutCancel(ctx), s.recorded(strconv.Itoa(n-1)+failed))
				return s.failed(f, statement.line, errors.Join(err, errRecord))
			}
		}
	}
	_, err := s.conn.ExecContext(ctx, s.recorded(setupDone))
	return err
}

func (s *setup) recorded(progress string) string {
	values := " VALUES (" + s.engine.Literal(s.hash) + ", '" + progress + "')"
	return "INSERT INTO " + s.engine.Setups() + values + " ON DUPLICATE KEY UPDATE progress = '" + progress + "'"
}

func (s *setup) one(ctx context.Context, statement statement, n int, doubtful bool) error {
	if statement.ofSession() {
		_, err := s.conn.ExecContext(ctx, statement.text)
		return err
	}
	if _, err := s.conn.ExecContext(ctx, "START TRANSACTION"); err != nil {
		return err
	}
	_, err := s.conn.ExecContext(ctx, statement.text)
	if err != nil && (!doubtful || !s.engine.AlreadyDone(err)) {
		_, errUndo := s.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, errUndo)
	}
	if _, err := s.conn.ExecContext(ctx, s.recorded(strconv.Itoa(n))); err != nil {
		return err
	}
	_, err = s.conn.ExecContext(ctx, "COMMIT")
	return err
}
