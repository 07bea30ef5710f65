// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/acme/platform-operator/internal/database/result"
)

// quiet keeps statements of the agent out of the server's log, because they hold passwords. search_path keeps functions of the user
// from being called by the administrator, standard_conforming_strings makes Literal quote all that is in a text, and role makes
// the administrator stay who it is when the owner has set another role for the database.
var quiet = map[string]string{
	"log_statement": "none", "log_min_error_statement": "panic", "log_min_duration_statement": "-1", "log_duration": "off",
	"log_min_duration_sample": "-1", "search_path": "pg_catalog", "standard_conforming_strings": "on",
	"role": "none", "statement_timeout": "0", "idle_in_transaction_session_timeout": "0",
	"default_transaction_read_only": "off", "lock_timeout": "0", "password_encryption": "scram-sha-256", "session_preload_libraries": "",
	"log_parser_stats": "off", "debug_print_parse": "off", "debug_print_rewritten": "off", "debug_print_plan": "off",
}

func (postgres) Open(t Target) (*sql.DB, error) {
	c, err := pgx.ParseConfig("host=localhost sslmode=prefer")
	if err != nil {
		return nil, err
	}
	c.Host, c.Port = t.Host, uint16(t.Port) //nolint:gosec // G115: a port
	if t.Socket != "" {
		c.Host, c.TLSConfig = t.Socket, nil
	}
	c.Fallbacks = fallbacks(c, t)
	c.User, c.Password, c.Database = t.User, t.Password, t.Database
	c.RuntimeParams = map[string]string{"application_name": result.Admin, "client_encoding": "UTF8"}
	if t.User == result.Admin {
		maps.Copy(c.RuntimeParams, quiet)
	}
	c.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	return stdlib.OpenDB(*c), nil
}

// fallbacks are the ways that sslmode=prefer tries after the first, to the target.
func fallbacks(c *pgx.ConnConfig, t Target) (list []*pgxFallback) {
	if t.Socket != "" {
		return nil
	}
	for _, f := range c.Fallbacks {
		if f.TLSConfig == nil {
			list = append(list, &pgxFallback{Host: t.Host, Port: c.Port})
		}
	}
	return list
}

func (postgres) Version(ctx context.Context, db Queryer) (version string, err error) {
	err = db.QueryRowContext(ctx, "SELECT split_part(current_setting('server_version'), ' ', 1)").Scan(&version)
	return version, err
}

func (p postgres) Prepare(ctx context.Context, t Target, n Names) error {
	t.Database = "postgres"
	if err := p.with(ctx, t, func(db *sql.DB) error { return p.prepareCluster(ctx, db, n) }); err != nil {
		return fmt.Errorf("making databases: %w", err)
	}
	t.Database = result.AdminDatabase
	if err := p.with(ctx, t, func(db *sql.DB) error {
		return execute(ctx, db, "CREATE TABLE IF NOT EXISTS public.records (k text PRIMARY KEY, v text NOT NULL)")
	}); err != nil {
		return fmt.Errorf("making the agent's records: %w", err)
	}
	t.Database = n.Database
	if err := p.with(ctx, t, func(db *sql.DB) error { return p.prepareDatabase(ctx, db) }); err != nil {
		return fmt.Errorf("making the agent's schema: %w", err)
	}
	return nil
}

func (p postgres) with(_ context.Context, t Target, use func(*sql.DB) error) (err error) {
	db, err := p.Open(t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return use(db)
}

func (p postgres) prepareCluster(ctx context.Context, db *sql.DB, n Names) error {
	roles, err := strs(ctx, db, "SELECT rolname FROM pg_roles WHERE rolname = "+p.Literal(result.Owner))
	if err != nil {
		return err
	}
	var statements []string
	if len(roles) == 0 {
		statements = append(statements, "CREATE ROLE "+result.Owner+" NOLOGIN")
	}
	owners, err := strs(ctx, db, "SELECT datname || '=' || pg_get_userbyid(datdba) FROM pg_database")
	if err != nil {
		return err
	}
	for name, owner := range map[string]string{result.AdminDatabase: result.Admin, n.Database: result.Owner} {
		switch {
		case slices.Contains(owners, name+"="+owner):
		case slices.ContainsFunc(owners, func(s string) bool { return strings.HasPrefix(s, name+"=") }):
			statements = append(statements, "ALTER DATABASE "+p.Ident(name)+" OWNER TO "+owner)
		default:
			statements = append(statements, "CREATE DATABASE "+p.Ident(name)+" OWNER "+owner+" TEMPLATE template0")
		}
	}
	for _, name := range []string{"postgres", "template1", result.AdminDatabase} {
		if name != n.Database {
			statements = append(statements, "REVOKE ALL ON DATABASE "+name+" FROM PUBLIC")
		}
	}
	return execute(ctx, db, statements...)
}

// prepareDatabase makes the table of setups in the user's database, because a setup and its record are one transaction.
func (p postgres) prepareDatabase(ctx context.Context, db *sql.DB) error {
	return execute(ctx, db,
		"CREATE SCHEMA IF NOT EXISTS "+result.Admin,
		"CREATE TABLE IF NOT EXISTS "+p.Setups()+" (hash text PRIMARY KEY, progress text NOT NULL)",
		"GRANT USAGE ON SCHEMA "+result.Admin+" TO "+result.Owner,
		"GRANT SELECT, INSERT ON "+p.Setups()+" TO "+result.Owner,
		"GRANT ALL ON SCHEMA public TO "+result.Owner)
}

func (p postgres) Reset(ctx context.Context, t Target, n Names) error {
	t.Database = "template1"
	if err := p.with(ctx, t, func(db *sql.DB) error {
		return execute(ctx, db, "DROP DATABASE IF EXISTS "+p.Ident(n.Database)+" WITH (FORCE)")
	}); err != nil {
		return fmt.Errorf("emptying the database: %w", err)
	}
	if n.Database != "postgres" {
		return p.Prepare(ctx, t, n)
	}
	if err := p.with(ctx, t, func(db *sql.DB) error {
		return execute(ctx, db, "CREATE DATABASE postgres TEMPLATE template0")
	}); err != nil {
		return fmt.Errorf("emptying the database: %w", err)
	}
	return p.Prepare(ctx, t, n)
}

// Reload waits until the server has read its files, and asks what it keeps for its next start.
func (postgres) Reload(ctx context.Context, db *sql.DB, _, _ map[string]string) ([]string, error) {
	if err := execute(ctx, db, "SELECT pg_reload_conf()"); err != nil {
		return nil, err
	}
	// A backend reads the files when it is idle between statements; a new connection has what the postmaster has read.
	problems, err := strs(ctx, db, "SELECT name || ': ' || error FROM pg_file_settings WHERE error IS NOT NULL AND error <> 'setting could not be applied'")
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("the server rejects %s", strings.Join(problems, "; "))
	}
	return strs(ctx, db, "SELECT name FROM pg_file_settings WHERE error IS NOT NULL ORDER BY 1")
}

func (postgres) ReloadCertificate(ctx context.Context, db Queryer, _ Launch) error {
	return execute(ctx, db, "SELECT pg_reload_conf()")
}

func (p postgres) Sizes(ctx context.Context, db Queryer, database string) (size, connections int64, oldest float64, err error) {
	err = db.QueryRowContext(ctx, "SELECT pg_database_size("+p.Literal(database)+
		"), count(*) FILTER (WHERE usename <> '"+result.Admin+"'), coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)"+
		" FILTER (WHERE usename <> '"+result.Admin+"')), 0)::float8 FROM pg_stat_activity WHERE backend_type = 'client backend'",
	).Scan(&size, &connections, &oldest)
	return size, connections, oldest, err
}

func (postgres) Lock() string   { return "SELECT 1 FROM pg_advisory_lock(20261123)" }
func (postgres) Unlock() string { return "SELECT 1 FROM pg_advisory_unlock(20261123)" }

func (postgres) Records() string { return "public.records" }

func (p postgres) Upsert(key, value string) string {
	return "INSERT INTO public.records VALUES (" + p.Literal(key) + ", " + p.Literal(value) + ") ON CONFLICT (k) DO UPDATE SET v = excluded.v"
}

func (postgres) Setups() string { return result.Admin + ".setups" }

func (postgres) Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func (postgres) Ident(name string) string { return pgx.Identifier{name}.Sanitize() }

func (p postgres) Account(ctx context.Context, db Queryer, name string) (l Login, err error) {
	err = db.QueryRowContext(ctx, "SELECT rolcanlogin, coalesce(rolpassword, '') FROM pg_authid WHERE rolname = "+p.Literal(name)).Scan(&l.CanLogin, &l.Stored)
	if errors.Is(err, sql.ErrNoRows) {
		return Login{}, nil
	}
	l.Exists = err == nil
	return l, err
}

// Create makes an account whose objects belong to the owning role, so that both accounts can work with them.
func (p postgres) Create(_ Names, name string) []string {
	return []string{
		"CREATE ROLE " + p.Ident(name) + " NOLOGIN",
		"GRANT " + result.Owner + " TO " + p.Ident(name),
		"ALTER ROLE " + p.Ident(name) + " SET role = " + result.Owner,
	}
}

func (p postgres) SetPassword(name, password string) []string {
	return []string{"ALTER ROLE " + p.Ident(name) + " PASSWORD " + p.Literal(password)}
}

func (p postgres) SetLogin(name string, can bool) []string {
	verb := " NOLOGIN"
	if can {
		verb = " LOGIN"
	}
	return []string{"ALTER ROLE " + p.Ident(name) + verb}
}

func (p postgres) SetDoor(n Names, closed bool) []string {
	limit := "-1"
	if closed {
		limit = "0" // the administrator is exempt
	}
	return []string{"ALTER DATABASE " + p.Ident(n.Database) + " CONNECTION LIMIT " + limit}
}

func (p postgres) EndSessions(ctx context.Context, db *sql.Conn, names []string) (n int, err error) {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = p.Literal(name)
	}
	err = db.QueryRowContext(ctx, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename IN ("+strings.Join(quoted, ",")+")").Scan(&n)
	return n, err
}
