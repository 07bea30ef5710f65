/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package postgres reads values from PostgreSQL.
//
// The statement is run as the query of a cursor, by the extended protocol: the server itself then refuses everything
// that is not one query, whatever its text is. Of its rows two are fetched at most.
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
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/acme/platform-operator/internal/external/sqldb"
)

// Driver implements sqldb.Driver.
type Driver struct{}

// Open implements sqldb.Driver.
func (Driver) Open(s sqldb.Source, d *sqldb.Dialer, l sqldb.Limits) (sqldb.Database, error) {
	tlsConfig, err := sqldb.TLSConfig(s)
	if err != nil {
		return nil, err
	}
	// A configuration has to come from a connection string. This one holds nothing of the source's, so no character of
	// a password can mean anything; and what the environment of this process says is overwritten.
	c, err := pgx.ParseConfig("host=localhost sslmode=disable")
	if err != nil {
		return nil, fmt.Errorf("preparing the configuration: %w", err)
	}
	c.Host, c.Port, c.Database, c.User, c.Password = s.Host, s.Port, s.Database, s.User, s.Password
	c.TLSConfig, c.Fallbacks, c.ValidateConnect = tlsConfig, nil, nil
	c.RuntimeParams = map[string]string{"application_name": "platform-operator"}
	c.ConnectTimeout, c.DialFunc = l.Connect, d.Dial
	if c.RequireAuth = ""; s.TLS.Disabled {
		c.RequireAuth = "!password" // not the password itself, whatever the server asks for
	}
	c.MaxProtocolMessageBodyLen = sqldb.MaxValue
	c.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {}
	return &database{Connector: stdlib.GetConnector(*c), source: s, begin: begin(l.Statement)}, nil
}

type database struct {
	driver.Connector
	source sqldb.Source
	begin  string
}

// begin opens a transaction in which nothing can be written, names mean the same for every role, and values are
// spelled the same whatever the settings of server, database and role are.
func begin(limit time.Duration) string {
	return fmt.Sprintf(`BEGIN READ ONLY;
SET LOCAL statement_timeout = %d;
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
		if err := pg.Exec(ctx, d.begin).Close(); err != nil {
			return stale(pg, err)
		}
		var readErr error
		if value, readErr = fetch(ctx, pg, statement); readErr != nil {
			readErr = explain(ctx, readErr)
		}
		if err := pg.Exec(ctx, end).Close(); err != nil && !pg.IsClosed() {
			_ = pg.Close(ctx) // what could not be undone must not be met by the next read
		}
		return readErr
	})
	return value, err
}

// stale turns the error of a connection that is of no use any more into the one for which a new one is tried.
func stale(pg *pgconn.PgConn, err error) error {
	if pg.IsClosed() || !errors.As(err, new(*pgconn.PgError)) {
		return driver.ErrBadConn
	}
	return err
}

func fetch(ctx context.Context, pg *pgconn.PgConn, statement string) (sqldb.Value, error) {
	declare := "DECLARE platform_operator NO SCROLL CURSOR FOR " + statement
	if err := pg.ExecParams(ctx, declare, nil, nil, nil, nil).Read().Err; err != nil {
		return sqldb.Value{}, err
	}
	// No result formats: everything comes as text, which the server spells.
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

// canonical is a value as the server spells it, without what comes from its column's declaration.
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

// quote makes an identifier of any text.
func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// Explain implements sqldb.Database.
func (d *database) Explain(err error) *sqldb.Error {
	pg := (*pgconn.PgError)(nil)
	if !errors.As(err, &pg) {
		if strings.Contains(err.Error(), "require_auth check failed") {
			return &sqldb.Error{Reason: sqldb.LoginRefused, Message: "the server wants the password in clear text, which is not sent without TLS"}
		}
		if strings.Contains(err.Error(), "server refused TLS connection") {
			return &sqldb.Error{Reason: sqldb.Insecure, Message: "the server offers no TLS; source.tls.mode Disable turns encryption off"}
		}
		return sqldb.Connecting(err, d.source)
	}
	switch {
	case strings.HasPrefix(pg.Code, "28"), pg.Code == "3D000", pg.Code == "42501":
		return &sqldb.Error{Reason: sqldb.LoginRefused, Message: fmt.Sprintf(
			"the server refuses the login of user %q to the database %q (SQLSTATE %s)", d.source.User, d.source.Database, pg.Code)}
	default:
		return &sqldb.Error{Reason: sqldb.Unreachable, Message: fmt.Sprintf("the server serves nobody at the moment (SQLSTATE %s)", pg.Code)}
	}
}

// explain explains an error of the statement. Only the server's messages about the statement itself are repeated;
// others may quote values.
func explain(ctx context.Context, err error) error {
	pg := (*pgconn.PgError)(nil)
	switch {
	case errors.As(err, new(*sqldb.Error)):
		return err
	case errors.As(err, new(*pgproto3.ExceededMaxBodyLenErr)):
		return sqldb.Oversized()
	case errors.As(err, &pg):
		return explainStatement(pg)
	case ctx.Err() != nil:
		return sqldb.Overdue()
	default:
		return err
	}
}

func explainStatement(pg *pgconn.PgError) error {
	switch {
	case pg.Code == "57014":
		return sqldb.Overdue()
	case strings.HasPrefix(pg.Code, "57"), strings.HasPrefix(pg.Code, "53"), strings.HasPrefix(pg.Code, "08"):
		return &sqldb.Error{Reason: sqldb.Unreachable, Message: fmt.Sprintf("the server broke off (SQLSTATE %s)", pg.Code)}
	case strings.HasPrefix(pg.Code, "42"):
		return &sqldb.Error{Reason: sqldb.Refused, Message: fmt.Sprintf("the server refuses the statement: %s (SQLSTATE %s)", pg.Message, pg.Code)}
	case pg.Code == "25006":
		return &sqldb.Error{Reason: sqldb.Refused, Message: "the statement writes, which is not allowed (SQLSTATE 25006)"}
	default:
		return &sqldb.Error{Reason: sqldb.Refused, Message: fmt.Sprintf("the server refuses the statement (SQLSTATE %s)", pg.Code)}
	}
}
