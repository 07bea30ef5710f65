// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

func (mysqlEngine) Tables(ctx context.Context, db Queryer) ([]Table, error) {
	names, err := strs(ctx, db, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY 1")
	tables := make([]Table, len(names))
	for i, name := range names {
		tables[i].Name = name
	}
	return tables, err
}

// Sum adds up 60 bits of each row's digest. Numbers and times are compared as a dump writes them, everything else byte by byte.
func (m mysqlEngine) Sum(ctx context.Context, db Queryer, t Table) (string, error) {
	numbers := []string{
		"tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "year", "date", "datetime", "timestamp", "time",
	}
	columns, err := strs(ctx, db, "SELECT concat(data_type, ' ', column_name) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = "+
		m.Literal(t.Name)+" ORDER BY ordinal_position")
	if err != nil {
		return "", err
	}
	parts := make([]string, len(columns))
	for i, column := range columns {
		kind, name, _ := strings.Cut(column, " ")
		parts[i] = "coalesce(hex(" + m.Ident(name) + "), 'N')"
		if slices.Contains(numbers, strings.ToLower(kind)) {
			parts[i] = "coalesce(cast(" + m.Ident(name) + " AS CHAR), 'N')"
		}
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("the table %s has no columns", t)
	}
	return "SELECT count(*), cast(coalesce(sum(cast(conv(substring(md5(concat_ws('#', " + strings.Join(parts, ", ") + ")), 1, 15), 16, 10) AS UNSIGNED)), 0) AS CHAR) FROM " +
		m.Ident(t.Name), nil
}

func (mysqlEngine) Objects(ctx context.Context, db Queryer) ([]string, error) {
	var all []string
	for _, query := range []string{
		"SELECT concat('view ', table_name) FROM information_schema.views WHERE table_schema = DATABASE() ORDER BY 1",
		"SELECT concat(lower(routine_type), ' ', routine_name) FROM information_schema.routines WHERE routine_schema = DATABASE() ORDER BY 1",
		"SELECT concat('trigger ', trigger_name) FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY 1",
		"SELECT concat('event ', event_name) FROM information_schema.events WHERE event_schema = DATABASE() ORDER BY 1",
		"SELECT concat('index ', table_name, '.', index_name, ' ', group_concat(column_name ORDER BY seq_in_index)) FROM information_schema.statistics" +
			" WHERE table_schema = DATABASE() GROUP BY table_name, index_name ORDER BY 1",
		"SELECT concat('constraint ', table_name, '.', constraint_name) FROM information_schema.table_constraints WHERE table_schema = DATABASE() ORDER BY 1",
		// A table without rows may have been filled and emptied; its counter is in its definition.
		"SELECT concat('counter ', table_name, ' = ', auto_increment) FROM information_schema.tables WHERE table_schema = DATABASE() AND auto_increment IS NOT NULL" +
			" AND table_type = 'BASE TABLE' ORDER BY 1",
	} {
		list, err := strs(ctx, db, query)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// Missing is nothing: the server has no extensions that a dump names.
func (mysqlEngine) Missing(context.Context, Queryer, Queryer) ([]string, error) { return nil, nil }

type mysqlSnapshot struct {
	locked, reading *sql.Conn
}

func (*mysqlSnapshot) ID() string { return "" }

func (s *mysqlSnapshot) Started() {
	if s.locked != nil {
		_, err := s.locked.ExecContext(context.Background(), "UNLOCK TABLES")
		_ = errors.Join(err, s.locked.Close()) // the end of the connection unlocks too
		s.locked = nil
	}
}

func (s *mysqlSnapshot) Queryer() Queryer {
	if s.reading == nil {
		return nil
	}
	return s.reading
}

func (s *mysqlSnapshot) Close() {
	s.Started()
	if s.reading != nil {
		_ = s.reading.Close() // it has only read
	}
}

// Snapshot holds writers up until the dump has begun, because MySQL cannot share a snapshot. If there are statements that it would
// have to wait for longer than two seconds, it counts nothing rather than hold everybody up.
func (m mysqlEngine) Snapshot(ctx context.Context, db *sql.DB) (Snapshot, error) {
	s := &mysqlSnapshot{}
	var err error
	if s.locked, err = db.Conn(ctx); err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	if err := execute(ctx, s.locked, "SET SESSION lock_wait_timeout = 2", "FLUSH TABLES WITH READ LOCK"); err != nil {
		s.Close()
		return &mysqlSnapshot{}, ctx.Err()
	}
	if s.reading, err = db.Conn(ctx); err == nil {
		err = execute(ctx, s.reading, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("beginning a transaction: %w", err)
	}
	return s, nil
}
