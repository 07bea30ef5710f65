// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mysql reads values from MySQL and MariaDB.
package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	gomysql "github.com/go-sql-driver/mysql"

	"github.com/acme/platform-operator/internal/external/sqldb"
)

// Driver implements sqldb.Driver.
type Driver struct{}

// Open implements sqldb.Driver.
func (Driver) Open(s sqldb.Source, line *sqldb.Line, l sqldb.Limits) (sqldb.Database, error) {
	tlsConfig, err := sqldb.TLSConfig(s)
	if err != nil {
		return nil, err
	}
	// Fields, not a connection string: no character of a password is interpreted. Several statements at once,
	// local files, and the plugin for clear-text passwords are all off by default. The plugins
	// caching_sha2_password and sha256_password send the password itself, too: over TLS in clear text, and
	// without TLS encrypted with any key that the server sends. login rejects the latter.
	c := gomysql.NewConfig()
	c.Net, c.Addr, c.DBName, c.User, c.Passwd = "tcp", net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port))), s.Database, s.User, s.Password
	c.TLS, c.Timeout, c.DialFunc = tlsConfig, l.Connect, dial(line)
	c.ReadTimeout = l.Connect + l.Statement // the contexts of reads end earlier
	c.Logger = &gomysql.NopLogger{}
	connector, err := gomysql.NewConnector(c)
	if err != nil {
		return nil, &sqldb.Error{Reason: sqldb.Invalid, Message: "no connection can be made with these settings; check the fields of source"}
	}
	s.Password, s.TLS.CA = "", "" // the connector has them
	return &database{Connector: connector, source: s, line: line, limit: l.Statement}, nil
}

type database struct {
	driver.Connector
	source sqldb.Source
	line   *sqldb.Line
	limit  time.Duration
}

// settings returns statements that make the session independent of the server's settings. They run before every
// read, since a function that a query calls may change them. A comment with a version in it is for servers
// since that version only, one with M for MariaDB only; the two name the time limit differently.
func (d *database) settings() string {
	seconds := d.limit.Seconds()
	return fmt.Sprintf("SET SESSION sql_mode = '', time_zone = '+00:00', sql_select_limit = 2, lock_wait_timeout = %d"+
		" /*!50708 , max_execution_time = %d */ /*M!100101 , max_statement_time = %g */",
		max(1, int(seconds)), d.limit.Milliseconds(), seconds)
}

// Read implements sqldb.Database.
func (d *database) Read(ctx context.Context, conn *sql.Conn, w sqldb.Watch) (sqldb.Value, error) {
	statement, err := w.Statement(quote)
	if err != nil {
		return sqldb.Value{}, err
	}
	if writesFile.MatchString(statement) {
		return sqldb.Value{}, &sqldb.Error{Reason: sqldb.Refused, Message: "the words OUTFILE and DUMPFILE may not be used: the server would write a file"}
	}
	for _, prepare := range []string{d.settings(), "START TRANSACTION READ ONLY"} {
		if _, err := conn.ExecContext(ctx, prepare); err != nil {
			return sqldb.Value{}, stale(err)
		}
	}
	overflows := d.line.Overflows()
	// MySQL ends a statement that only sleeps without an error when its time is over, so the time is checked
	// here, too.
	limited, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	value, err := fetch(ctx, conn, statement)
	switch {
	case err != nil:
		err = d.explain(ctx, err, overflows)
	case limited.Err() != nil:
		value, err = sqldb.Value{}, sqldb.Overdue()
	}
	d.undo(ctx, conn)
	return value, err
}

// writesFile matches the words with which a query writes a file on the server, also in comments, which may be
// executed. A read-only transaction does not prevent it.
var writesFile = regexp.MustCompile(`(?i)outfile|dumpfile`)

// undo ends the transaction, and releases the locks that outlive it. A connection on which that fails is
// closed.
func (d *database) undo(ctx context.Context, conn *sql.Conn) {
	_, err := conn.ExecContext(ctx, "ROLLBACK")
	if err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		return
	}
	_, _ = conn.ExecContext(ctx, "DO RELEASE_ALL_LOCKS()") // old servers do not know it
}

// stale converts the error of a broken connection into the one that makes the pool try a new one.
func stale(err error) error {
	if errors.As(err, new(*gomysql.MySQLError)) {
		return explainLogin(err)
	}
	return driver.ErrBadConn
}

func fetch(ctx context.Context, conn *sql.Conn, statement string) (value sqldb.Value, err error) {
	rows, err := conn.QueryContext(ctx, statement)
	if err != nil {
		return value, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.ColumnTypes()
	if err != nil {
		return value, err
	}
	if len(columns) != 1 {
		return value, sqldb.WrongColumns(len(columns))
	}
	n := 0
	for ; n < 2 && rows.Next(); n++ {
		var cell any
		if err := rows.Scan(&cell); err != nil {
			return value, err
		}
		value = canonical(columns[0].DatabaseTypeName(), cell)
	}
	if err := rows.Err(); err != nil {
		return sqldb.Value{}, err
	}
	if n != 1 {
		return sqldb.Value{}, sqldb.WrongRows(n)
	}
	return value, nil
}

// canonical returns a value as the server spells it, without what depends on its column's declaration.
func canonical(databaseType string, cell any) sqldb.Value {
	v := sqldb.Value{Kind: kindOf(databaseType), Null: cell == nil}
	switch c := cell.(type) {
	case nil:
	case []byte:
		v.Text = string(c)
	case float32:
		v.Text = strconv.FormatFloat(float64(c), 'g', -1, 32)
	case float64:
		v.Text = strconv.FormatFloat(c, 'g', -1, 64)
	default:
		v.Text = fmt.Sprint(c)
	}
	switch v.Kind {
	case sqldb.KindNumber:
		v.Text = sqldb.TrimNumber(v.Text)
	case sqldb.KindTime:
		v.Text = sqldb.TrimTime(v.Text)
	default:
	}
	return v
}

func kindOf(databaseType string) sqldb.Kind {
	switch strings.TrimPrefix(databaseType, "UNSIGNED ") {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR":
		return sqldb.KindInteger
	case "DECIMAL", "FLOAT", "DOUBLE":
		return sqldb.KindNumber
	case "DATE", "DATETIME", "TIMESTAMP", "TIME":
		return sqldb.KindTime
	case "BIT", "BINARY", "VARBINARY", "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "GEOMETRY":
		return sqldb.KindBytes
	case "NULL":
		return sqldb.KindUnknown
	default:
		return sqldb.KindText
	}
}

// quote returns any text as an identifier.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
