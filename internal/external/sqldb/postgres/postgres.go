// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package postgres reads values from PostgreSQL.
//
// The statement runs as the query of a cursor, by the extended protocol: the server itself then rejects
// everything that is not one query, whatever its text. At most two of its rows are fetched.
package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/acme/platform-operator/internal/external/sqldb"
)

// application is the name of the operator's sessions in the server's list.
const application = "platform-operator"

// Driver implements sqldb.Driver.
type Driver struct{}

// Open implements sqldb.Driver.
func (Driver) Open(s sqldb.Source, line *sqldb.Line, l sqldb.Limits) (sqldb.Database, error) {
	tlsConfig, err := sqldb.TLSConfig(s)
	if err != nil {
		return nil, err
	}
	// A configuration has to come from a connection string. This one contains nothing of the source, so no
	// character of a password is interpreted; and the environment of this process is overwritten.
	c, err := pgx.ParseConfig("host=localhost sslmode=disable")
	if err != nil {
		return nil, fmt.Errorf("preparing the configuration: %w", err)
	}
	c.Host, c.Port, c.Database, c.User, c.Password = s.Host, s.Port, s.Database, s.User, s.Password
	c.TLSConfig, c.Fallbacks, c.ValidateConnect = tlsConfig, nil, nil
	c.RuntimeParams = map[string]string{"application_name": application}
	c.ConnectTimeout, c.DialFunc = l.Connect, line.Dial
	if c.RequireAuth = ""; s.TLS.Disabled {
		c.RequireAuth = "!password" // not the password itself, whatever the server requests
	}
	c.MaxProtocolMessageBodyLen = sqldb.MaxValue
	c.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {} // the line counts their bytes
	c.AfterConnect = prepare
	s.Password, s.TLS.CA = "", "" // the configuration has them
	return &database{Connector: stdlib.GetConnector(*c), source: s, config: c, limits: l}, nil
}

type database struct {
	driver.Connector
	source sqldb.Source
	config *pgx.ConnConfig
	limits sqldb.Limits
}

// prepare prepares a new connection.
func prepare(ctx context.Context, pg *pgconn.PgConn) error {
	if err := identify(ctx, pg); err != nil {
		return err
	}
	return watchClient(ctx, pg)
}

// asUser resets the role and the search path that the user's settings set in a session: a user may see and end
// its processes only under its own role.
const asUser = "SET ROLE NONE; SET search_path = pg_catalog; "

// process is a server's process: its number, which may be reused, and its start time.
type process struct {
	pid     uint32
	started string
}

// processKey is the key under which a connection stores its process.
const processKey = "process"

// started returns when a process was started, in the same spelling whatever the settings of the session.
const started = "to_char(backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"

// identify records which process serves a connection. If the server does not show it, as behind some proxies,
// there is none, and no process is ever ended.
func identify(ctx context.Context, pg *pgconn.PgConn) error {
	results, err := pg.Exec(ctx, fmt.Sprintf("%sSELECT %s FROM pg_stat_activity WHERE pid = %d; RESET ROLE", asUser, started, pg.PID())).ReadAll()
	if err != nil {
		return ifBroken(err)
	}
	for _, r := range results {
		if len(r.Rows) == 1 && len(r.Rows[0]) == 1 && len(r.Rows[0][0]) > 0 {
			pg.CustomData()[processKey] = process{pg.PID(), string(r.Rows[0][0])}
		}
	}
	return nil
}

// ifBroken returns an error unless it came from the server, in which case the connection can be used.
func ifBroken(err error) error {
	if errors.As(err, new(*pgconn.PgError)) {
		return nil
	}
	return err
}

// watchClient makes the server check once a second that the connection is open, and end the statement if it is
// not. Servers before PostgreSQL 14 do not know the setting, and some systems do not support it; their error is
// ignored.
func watchClient(ctx context.Context, pg *pgconn.PgConn) error {
	return ifBroken(pg.Exec(ctx, "SET client_connection_check_interval = '1s'").Close())
}

// begin returns the statements that open a transaction in which nothing can be written, names have the same
// meaning for every role, and values have the same spelling whatever the settings of server, database and role.
func begin(limit time.Duration) string {
	return fmt.Sprintf(`BEGIN READ ONLY;
SET LOCAL statement_timeout = %d;
SET LOCAL client_min_messages = 'error';
SET LOCAL idle_in_transaction_session_timeout = %d;
SET LOCAL search_path = pg_catalog, public, pg_temp;
SET LOCAL client_encoding = 'UTF8';
SET LOCAL TimeZone = 'UTC';
SET LOCAL DateStyle = 'ISO, YMD';
SET LOCAL IntervalStyle = 'iso_8601';
SET LOCAL bytea_output = 'hex';
SET LOCAL extra_float_digits = 3;
SET LOCAL lc_monetary = 'C'`, limit.Milliseconds(), 2*limit.Milliseconds())
}

// end undoes everything, also what outlives a transaction.
const end = "ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all()"

// Read implements sqldb.Database.
func (d *database) Read(ctx context.Context, conn *sql.Conn, w sqldb.Watch) (sqldb.Value, error) {
	statement, err := w.Statement(quote)
	if err != nil {
		return sqldb.Value{}, err
	}
	value := sqldb.Value{}
	err = conn.Raw(func(c any) error {
		pg := c.(*stdlib.Conn).Conn().PgConn()
		if err := pg.Exec(ctx, begin(d.limits.Statement)).Close(); err != nil {
			return stale(pg, err)
		}
		var readErr error
		if value, readErr = fetch(ctx, pg, statement); readErr != nil {
			readErr = explain(ctx, readErr)
		}
		// The next read must not meet what could not be undone.
		if err := pg.Exec(ctx, end).Close(); err != nil {
			d.abandon(ctx, pg)
		}
		return readErr
	})
	return value, err
}

// abandon closes a connection at once, and ends the server's process: a function can survive statement_timeout,
// canceling and a closed connection, but not this.
func (d *database) abandon(ctx context.Context, pg *pgconn.PgConn) {
	_ = pg.Conn().Close()
	if p, known := pg.CustomData()[processKey].(process); known {
		d.terminate(ctx, p)
	}
}

// terminate ends a process of the user, from another connection, whatever name the process has set for itself.
func (d *database) terminate(ctx context.Context, p process) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.limits.Connect)
	defer cancel()
	config := d.config.Config.Copy()
	config.AfterConnect = nil
	other, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return // then it cannot be ended; the server notices by itself that the connection is closed
	}
	_ = other.Exec(ctx, fmt.Sprintf("%sSELECT pg_terminate_backend(pid) FROM pg_stat_activity"+
		" WHERE pid = %d AND usename = session_user AND %s = '%s'", asUser, p.pid, started, p.started)).Close()
	_ = other.Close(ctx)
}

// stale converts the error of a broken connection into the one that makes the pool try a new one.
func stale(pg *pgconn.PgConn, err error) error {
	if pg.IsClosed() || !errors.As(err, new(*pgconn.PgError)) {
		return driver.ErrBadConn
	}
	return explainLogin(err)
}

func fetch(ctx context.Context, pg *pgconn.PgConn, statement string) (sqldb.Value, error) {
	declare := "DECLARE platform_operator NO SCROLL CURSOR FOR " + statement
	if err := pg.ExecParams(ctx, declare, nil, nil, nil, nil).Read().Err; err != nil {
		return sqldb.Value{}, err
	}
	// No result formats: all values are text in the server's spelling.
	result := pg.ExecParams(ctx, "FETCH 2 FROM platform_operator", nil, nil, nil, nil)
	var first []byte
	rows := 0
	for ; result.NextRow(); rows++ {
		if cells := result.Values(); rows == 0 && len(cells) == 1 {
			first = bytes.Clone(cells[0])
		}
	}
	fields := result.FieldDescriptions()
	if _, err := result.Close(); err != nil {
		return sqldb.Value{}, err
	}
	if len(fields) != 1 {
		return sqldb.Value{}, sqldb.WrongColumns(len(fields))
	}
	if rows != 1 {
		return sqldb.Value{}, sqldb.WrongRows(rows)
	}
	return canonical(fields[0].DataTypeOID, first), nil
}

// canonical returns a value as the server spells it, without what depends on its column's declaration.
func canonical(oid uint32, text []byte) sqldb.Value {
	v := sqldb.Value{Kind: kindOf(oid), Null: text == nil, Text: string(text)}
	switch oid {
	case pgtype.NumericOID:
		v.Text = sqldb.TrimNumber(v.Text)
	case pgtype.BPCharOID:
		v.Text = strings.TrimRight(v.Text, " ")
	}
	return v
}

func kindOf(oid uint32) sqldb.Kind {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID:
		return sqldb.KindInteger
	case pgtype.NumericOID, pgtype.Float4OID, pgtype.Float8OID:
		return sqldb.KindNumber
	case pgtype.BoolOID:
		return sqldb.KindBoolean
	case pgtype.DateOID, pgtype.TimeOID, pgtype.TimetzOID, pgtype.TimestampOID, pgtype.TimestamptzOID:
		return sqldb.KindTime
	case pgtype.ByteaOID:
		return sqldb.KindBytes
	default:
		return sqldb.KindText
	}
}

// quote returns any text as an identifier.
func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
