// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/acme/platform-operator/internal/database/result"
)

type pgxFallback = pgconn.FallbackConfig

// foreign are the schemas that are not the user's.
const foreign = "n.nspname NOT IN ('pg_catalog', 'information_schema', '" + result.Admin + "')" +
	" AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'"

// ownedByExtension are relations that CREATE EXTENSION makes again.
const notOfExtension = " AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')"

func (postgres) Tables(ctx context.Context, db Queryer) (tables []Table, err error) {
	rows, err := db.QueryContext(ctx, "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'm') AND "+
		foreign+notOfExtension+" ORDER BY 1, 2")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var t Table
		if err := rows.Scan(&t.Schema, &t.Name); err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, rows.Err()
}

// Sum adds up 60 bits of each row's digest.
func (p postgres) Sum(_ context.Context, _ Queryer, t Table) (string, error) {
	return "SELECT count(*), coalesce(sum(('x' || substr(md5(t::text), 1, 15))::bit(60)::bigint), 0)::text FROM ONLY " + p.Ident(t.Schema) + "." + p.Ident(t.Name) + " t", nil
}

// Objects lists what a copy has beside rows. Texts that servers of other versions write in another way are left out.
func (postgres) Objects(ctx context.Context, db Queryer) ([]string, error) {
	var all []string
	for _, query := range []string{
		"SELECT 'sequence ' || schemaname || '.' || sequencename || ' = ' || coalesce(last_value::text, 'unused') FROM pg_sequences WHERE schemaname <> '" + result.Admin + "' ORDER BY 1",
		"SELECT 'extension ' || extname FROM pg_extension ORDER BY 1",
		"SELECT CASE c.relkind WHEN 'i' THEN 'index ' WHEN 'I' THEN 'index ' WHEN 'v' THEN 'view ' WHEN 'p' THEN 'partitioned table ' ELSE 'relation ' END" +
			" || n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('i', 'I', 'v', 'p', 'f') AND " + foreign + notOfExtension + " ORDER BY 1",
		"SELECT 'routine ' || p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE " + foreign +
			" AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e') ORDER BY 1",
		"SELECT 'trigger ' || tgname || ' on ' || tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1",
		// NOT NULL became constraints of their own in version 18.
		"SELECT 'constraint ' || o.conname || ' of ' || n.nspname FROM pg_constraint o JOIN pg_namespace n ON n.oid = o.connamespace WHERE o.contype <> 'n' AND " + foreign + " ORDER BY 1",
		"SELECT 'large objects ' || count(*) || ' of ' || coalesce(sum(length(data)), 0) || ' bytes' FROM pg_largeobject",
	} {
		list, err := strs(ctx, db, query)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

func (p postgres) Missing(ctx context.Context, source, target Queryer) ([]string, error) {
	used, err := strs(ctx, source, "SELECT extname FROM pg_extension")
	if err != nil || len(used) == 0 {
		return nil, err
	}
	for i := range used {
		used[i] = "(" + p.Literal(used[i]) + ")"
	}
	return strs(ctx, target, "SELECT u.name FROM (VALUES "+strings.Join(used, ",")+") u (name) LEFT JOIN pg_available_extensions a ON a.name = u.name WHERE a.name IS NULL ORDER BY 1")
}

type pgSnapshot struct {
	tx *sql.Tx
	id string
}

func (s pgSnapshot) ID() string       { return s.id }
func (s pgSnapshot) Started()         {}
func (s pgSnapshot) Queryer() Queryer { return s.tx }
func (s pgSnapshot) Close()           { _ = s.tx.Rollback() } // it has only read

// Snapshot exports the snapshot of a transaction.
func (postgres) Snapshot(ctx context.Context, db *sql.DB) (Snapshot, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("beginning a transaction: %w", err)
	}
	s := pgSnapshot{tx: tx}
	if err := tx.QueryRowContext(ctx, "SELECT pg_export_snapshot()").Scan(&s.id); err != nil {
		s.Close()
		return nil, fmt.Errorf("exporting a snapshot: %w", err)
	}
	return s, nil
}
