// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server knows the servers: how PostgreSQL and MySQL (or MariaDB) are initialised, configured, started, asked, dumped and
// filled. It decides nothing; the package agent does.
package server

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/acme/platform-operator/internal/database/result"
)

// Names are those that a user chose.
type Names struct {
	Database, User string
}

// Target is a server and who logs in to it.
type Target struct {
	// Socket is the folder of the server's socket; Host counts when it is empty.
	Socket string
	Host   string
	Port   int
	User   string
	// Password is not needed for the administrator on PostgreSQL's socket.
	Password string
	Database string
	// Client is a folder for files with passwords that client programs read.
	Client string
}

// Launch is how a server is started.
type Launch struct {
	// Data is the server's data folder, Run the folder for sockets and configuration.
	Data, Run string
	// Listen is the address to listen on; empty is none, "*" all.
	Listen string
	Port   int
	// AdminPassword is that of the agent's own account.
	AdminPassword string
	// TLS reports whether server.crt and server.key are in Run.
	TLS        bool
	Parameters map[string]string
}

// Login is an account as it is inside the database.
type Login struct {
	Exists, CanLogin bool
	// Stored is what the server keeps of the password.
	Stored string
}

// Engine is one type of server. Statements with passwords are never logged by the server.
type Engine interface {
	// Type is result.Postgres or result.MySQL.
	Type() string

	// Initialize makes a data folder; the folder exists and is empty.
	Initialize(ctx context.Context, l Launch) (*exec.Cmd, error)
	// IsData reports whether a folder is a data folder that was initialised.
	IsData(dir string) bool
	// PidFile is the server's lock in its data folder, empty if its locks end with the process.
	PidFile(dir string) string
	// Configure writes the configuration into l.Run. A parameter that is the agent's is an error.
	Configure(l Launch) error
	// Check runs the server's own check of what Configure wrote.
	Check(l Launch) (*exec.Cmd, error)
	// Command is the server.
	Command(l Launch) (*exec.Cmd, error)
	// Program is the server of the image, which says what it is and ends.
	Program() (*exec.Cmd, error)
	// Signals are the ones that stop the server safely, and at once without losing what is committed.
	Signals() (safely, atOnce syscall.Signal)

	// Open makes a pool of connections; it does not connect.
	Open(t Target) (*sql.DB, error)
	// Version asks for the server's version.
	Version(ctx context.Context, db Queryer) (string, error)
	// Prepare makes the databases, the owning role and the agent's tables, as far as they are missing. Open is to a
	// database of the server.
	Prepare(ctx context.Context, t Target, n Names) error
	// Reset empties the user's database.
	Reset(ctx context.Context, t Target, n Names) error
	// Reload brings changed parameters into force; it returns those that need a restart.
	Reload(ctx context.Context, db *sql.DB, before, after map[string]string) ([]string, error)
	// ReloadCertificate has the server read server.crt and server.key again.
	ReloadCertificate(ctx context.Context, db Queryer, l Launch) error
	// Sizes are the bytes in the database, the number of users' connections and the seconds of the oldest transaction.
	Sizes(ctx context.Context, db Queryer, database string) (size, connections int64, oldest float64, err error)

	// Lock and Unlock are queries for the lock that all agents of this server share.
	Lock() string
	Unlock() string
	// Records is the table of the agent's records.
	Records() string
	// Upsert writes a row into the agent's records.
	Upsert(key, value string) string
	// Setups is the table of completed setups.
	Setups() string
	// Literal and Ident quote.
	Literal(text string) string
	Ident(name string) string

	// Account reads an account, Create makes it without login.
	Account(ctx context.Context, db Queryer, name string) (Login, error)
	Create(n Names, name string) []string
	// SetPassword, SetLogin are statements.
	SetPassword(name, password string) []string
	SetLogin(name string, can bool) []string
	// SetDoor are statements that close or open what is not an account.
	SetDoor(n Names, closed bool) []string
	// EndSessions ends the sessions of accounts and returns how many there were.
	EndSessions(ctx context.Context, db *sql.Conn, names []string) (int, error)

	// IsNew reports whether a line of Objects is in every new database.
	IsNew(object string) bool
	// Tables lists the user's tables; t.Database is the user's.
	Tables(ctx context.Context, db Queryer) ([]Table, error)
	// Sum is a query for the number of rows of a table and a checksum of them that does not depend on their order.
	Sum(ctx context.Context, db Queryer, t Table) (string, error)
	// Objects describes what else a copy must have: sequences, extensions, routines, views; a line each.
	Objects(ctx context.Context, db Queryer) ([]string, error)
	// Missing lists extensions of the source that the target does not offer.
	Missing(ctx context.Context, source, target Queryer) ([]string, error)

	// Snapshot prepares a dump and counts beside it.
	Snapshot(ctx context.Context, db *sql.DB) (Snapshot, error)
	// Dump writes the user's database to its output.
	Dump(t Target, s Snapshot) (*exec.Cmd, error)
	// Load fills the user's database from its input. Grants are left out if the accounts have other names.
	Load(t Target, grants bool) (*exec.Cmd, error)
	// Contents reads the list of contents from its input; nil if there is no program for that.
	Contents(t Target) (*exec.Cmd, error)
	// Begun is what a dump has in it once its snapshot is taken; empty if it needs none of its own.
	Begun() string
	// Ending is what a complete dump ends with; empty if the format says so otherwise.
	Ending() string
	// SetupLine is the line of the text that an error is about, 0 if unknown.
	SetupLine(err error, text string) int
	// AlreadyDone reports whether an error says that what was to be made is there, or what was to be dropped is gone.
	AlreadyDone(err error) bool
	// Transient reports whether an error comes from a server that is not reached or is starting or stopping.
	Transient(err error) bool
}

// Table is a table of the user.
type Table struct {
	Schema, Name string
}

// String is the table's name for people.
func (t Table) String() string {
	if t.Schema == "" {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// Queryer is a pool, a connection or a transaction.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Snapshot is a moment of a database that a dump and queries share.
type Snapshot interface {
	// ID is for Engine.Dump; it may be empty.
	ID() string
	// Started tells that the dump has begun, so that writers need not be held up any more.
	Started()
	// Queryer sees the database at that moment; nil if it cannot.
	Queryer() Queryer
	// Close ends it.
	Close()
}

// ForType returns the engine of a type.
func ForType(name string) (Engine, error) {
	switch name {
	case result.Postgres:
		return postgres{}, nil
	case result.MySQL:
		return mysqlEngine{}, nil
	default:
		return nil, result.Errorf(result.InvalidInput, "the type %q is unknown: set %s or %s", name, result.Postgres, result.MySQL)
	}
}

// programVersion is a version in what a server says of itself: "postgres (PostgreSQL) 18.1 (Debian …)", "mysqld  Ver 8.4.3 for Linux …".
var programVersion = regexp.MustCompile(`(?:\) |Ver )([0-9]+(?:\.[0-9]+)*)`)

// IsOfVersion reports whether what a server says of itself is of a version, such as 18 or 8.4.
func IsOfVersion(said, version string) bool {
	found := programVersion.FindStringSubmatch(said)
	return found != nil && (found[1] == version || strings.HasPrefix(found[1], version+"."))
}

// places are where packages put servers that are not on the path.
var places = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/usr/sbin", "/usr/libexec"}

// program is a command with one of several names.
func program(args []string, names ...string) (*exec.Cmd, error) {
	for _, name := range names {
		if path := find(name); path != "" {
			cmd := exec.Command(path, args...)
			cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH"), "HOME=/tmp", "LC_ALL=C", "TZ=UTC"}
			return cmd, nil
		}
	}
	return nil, result.Errorf(result.InvalidInput, "the image has no program %s: use an image of the server", strings.Join(names, " or "))
}

func find(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, place := range places {
		paths, err := filepath.Glob(filepath.Join(place, name))
		if err == nil && len(paths) > 0 {
			return paths[len(paths)-1]
		}
	}
	return ""
}

// write replaces a file that only this user reads.
func write(path, text string) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// strs runs a query that returns one text column.
func strs(ctx context.Context, db Queryer, query string) (list []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// execute runs statements; an error does not quote them, since they may hold a password.
func execute(ctx context.Context, db Queryer, statements ...string) error {
	for i, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			verb, _, _ := strings.Cut(statement, " ")
			return fmt.Errorf("statement %d (%s): %w", i+1, verb, err)
		}
	}
	return nil
}

// reservedParameter is what Configure returns for parameters that are the agent's.
func reservedParameter(name string) error {
	return result.Errorf(result.InvalidInput, "the parameter %q is set by the agent: remove it", name)
}

// Output runs a command to its end and returns the last lines of what it said if it fails.
func Output(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := run(cmd); err != nil {
		return fmt.Errorf("running %s: %w: %s", filepath.Base(cmd.Path), err, LastLines(said.String()))
	}
	return nil
}

// LastLines are the last 1,000 bytes of an output, from the begin of a line.
func LastLines(text string) string {
	const most = 3000
	text = strings.TrimSpace(text)
	if len(text) > most {
		text = text[len(text)-most:]
		if _, rest, found := strings.Cut(text, "\n"); found {
			text = rest
		}
	}
	return text
}
