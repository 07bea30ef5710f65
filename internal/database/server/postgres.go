// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/acme/platform-operator/internal/database/result"
)

type postgres struct{}

func (postgres) Type() string { return result.Postgres }

// Initialize chooses collations that no C library changes: an index on text is not corrupted by an image with another one.
func (postgres) Initialize(_ context.Context, l Launch) (*exec.Cmd, error) {
	return program([]string{
		"--pgdata", l.Data, "--username", result.Admin, "--auth-local", "trust", "--auth-host", "reject",
		"--data-checksums", "--encoding", "UTF8", "--locale", "C", "--lc-ctype", "C.UTF-8",
	}, "initdb")
}

func (postgres) IsData(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "PG_VERSION"))
	return err == nil
}

func (postgres) PidFile(dir string) string { return filepath.Join(dir, "postmaster.pid") }

func (postgres) Signals() (safely, atOnce syscall.Signal) { return syscall.SIGINT, syscall.SIGQUIT }

// hba lets the agent in by its socket, whose folder only the pod has, and everybody else with a password.
var hba = strings.Join([]string{
	"local all " + result.Admin + " trust", everybody("local", ""), everybody("host", "0.0.0.0/0"), everybody("host", "::/0"), "",
}, "\n")

// everybody is a line for all databases and all users.
func everybody(kind, from string) string {
	return strings.Join([]string{kind, "all", "all", from, "scram-sha-256"}, " ")
}

// reservedPostgres are the parameters that are the agent's.
var reservedPostgres = []string{
	"allow_alter_system", "archive_cleanup_command", "config_file", "data_directory", "external_pid_file", "fsync", "full_page_writes", "hba_file",
	"ident_file", "include", "include_dir", "include_if_exists", "listen_addresses", "log_destination", "logging_collector", "password_encryption",
	"port", "recovery_end_command", "restore_command", "ssl", "ssl_cert_file", "ssl_key_file", "unix_socket_directories", "unix_socket_group",
	"unix_socket_permissions",
}

var postgresParameter = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?$`)

func (postgres) Configure(l Launch) error {
	var text strings.Builder
	text.WriteString("max_locks_per_transaction = 256\nlog_line_prefix = '%m [%p] %q%u@%d '\n")
	for _, name := range sorted(l.Parameters) {
		value := l.Parameters[name]
		if slices.Contains(reservedPostgres, strings.ToLower(name)) {
			return reservedParameter(name)
		}
		if !postgresParameter.MatchString(name) || strings.ContainsAny(value, "\n\r\x00") {
			return result.Errorf(result.InvalidInput, "the parameter %q has a name or a value that no parameter has", name)
		}
		fmt.Fprintf(&text, "%s = '%s'\n", name, strings.NewReplacer("'", "''", `\`, `\\`).Replace(value))
	}
	if l.TLS {
		fmt.Fprintf(&text, "ssl = on\nssl_cert_file = '%s'\nssl_key_file = '%s'\n", filepath.Join(l.Run, "server.crt"), filepath.Join(l.Run, "server.key"))
	}
	return errors.Join(write(filepath.Join(l.Run, "postgresql.conf"), text.String()), write(filepath.Join(l.Run, "pg_hba.conf"), hba))
}

func (postgres) arguments(l Launch) []string {
	args := []string{"-D", l.Data}
	for _, setting := range []string{
		"config_file=" + filepath.Join(l.Run, "postgresql.conf"), "hba_file=" + filepath.Join(l.Run, "pg_hba.conf"),
		"ident_file=" + filepath.Join(l.Data, "pg_ident.conf"), "listen_addresses=" + l.Listen, "port=" + strconv.Itoa(l.Port),
		"unix_socket_directories=" + l.Run, "unix_socket_permissions=0700", "logging_collector=off", "log_destination=stderr",
		"password_encryption=scram-sha-256", "fsync=on", "full_page_writes=on",
	} {
		args = append(args, "-c", setting)
	}
	return args
}

func (p postgres) Check(l Launch) (*exec.Cmd, error) {
	return program(append(p.arguments(l), "-C", "data_directory"), "postgres")
}

func (p postgres) Command(l Launch) (*exec.Cmd, error) { return program(p.arguments(l), "postgres") }

func (postgres) Program() (*exec.Cmd, error) { return program([]string{"--version"}, "postgres") }

func (p postgres) Dump(t Target, s Snapshot) (*exec.Cmd, error) {
	args := []string{"--format=custom", "--compress=0", "--no-password", "--exclude-schema=" + result.Admin, "--dbname=" + p.connection(t)}
	if id := s.ID(); id != "" {
		args = append(args, "--snapshot="+id)
	}
	return p.client(t, args, "pg_dump")
}

// Load needs no rights but those of the owner, so that a dump cannot do more than its user could.
func (p postgres) Load(t Target, grants bool) (*exec.Cmd, error) {
	args := []string{
		"--no-password", "--no-owner", "--role=" + result.Owner, "--single-transaction", "--exit-on-error", "--dbname=" + p.connection(t),
	}
	if !grants {
		args = append(args, "--no-acl")
	}
	return p.client(t, args, "pg_restore")
}

func (p postgres) Contents(Target) (*exec.Cmd, error) {
	return program([]string{"--list"}, "pg_restore")
}

func (postgres) Begun() string  { return "" }
func (postgres) Ending() string { return "" }

func (postgres) IsNew(object string) bool {
	return object == "extension plpgsql" || object == "large objects 0 of 0 bytes"
}

// connection is a connection string without the password, which is in a file.
func (postgres) connection(t Target) string {
	host := t.Host
	if t.Socket != "" {
		host = t.Socket
	}
	escape := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	return fmt.Sprintf("host='%s' port=%d user='%s' dbname='%s'", escape.Replace(host), t.Port, escape.Replace(t.User), escape.Replace(t.Database))
}

func (postgres) client(t Target, args []string, name string) (*exec.Cmd, error) {
	cmd, err := program(args, name)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(t.Password, "\n\r\x00") {
		return nil, result.Errorf(result.InvalidInput, "the administrator's password has a line break")
	}
	file := filepath.Join(t.Client, "pgpass")
	line := "*:*:*:*:" + strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(t.Password) + "\n"
	if err := write(file, line); err != nil {
		return nil, fmt.Errorf("writing the password for %s: %w", name, err)
	}
	cmd.Env = append(cmd.Env, "PGPASSFILE="+file, "PGAPPNAME="+result.Admin,
		"PGOPTIONS=-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0 -c default_transaction_read_only=off")
	return cmd, nil
}

func (postgres) Transient(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return strings.HasPrefix(answer.Code, "57P") || strings.HasPrefix(answer.Code, "08") || answer.Code == "53300"
	}
	return errors.As(err, &connect) || errors.As(err, &network)
}

// AlreadyDone does not happen: a setup is one transaction.
func (postgres) AlreadyDone(error) bool { return false }

// SetupLine turns the position that the server reports, which counts characters, into a line.
func (postgres) SetupLine(err error, text string) int {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) || answer.Position <= 0 {
		return 0
	}
	line, position := 1, int32(0)
	for _, r := range text {
		if position++; position >= answer.Position {
			break
		}
		if r == '\n' {
			line++
		}
	}
	return line
}
