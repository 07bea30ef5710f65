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
	// Fields, not a connection string: no character of a password means anything. Several statements at once, files of
	// this machine, and the plugin for passwords in clear text are all off unless they are turned on here. The plugins
	// caching_sha2_password and sha256_password send the password itself, too: over TLS as it is, and without TLS
	// encrypted with any key that the server sends. The latter is stopped by login.
	c := gomysql.NewConfig()
	c.Net, c.Addr, c.DBName, c.User, c.Passwd = "tcp", net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port))), s.Database, s.User, s.Password
	c.TLS, c.Timeout, c.DialFunc = tlsConfig, l.Connect, dial(line)
	c.ReadTimeout = l.Connect + l.Statement // the contexts of reads end before that
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

// settings make the session the same whatever the settings of the server are, and are made before every read, since a
// function that a query calls may change them. A comment with a version in it is for servers of that age only, one with
// M for MariaDB only; the two call the time limit differently.
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
	// MySQL ends a statement that only sleeps without an error when its time is over; so does this look at the time.
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

// writesFile are the words with which a query writes a file on the server, wherever they stand: comments may be run.
// A read-only transaction does not stop them.
var writesFile = regexp.MustCompile(`(?i)outfile|dumpfile`)

// undo ends the transaction, and gives up the locks that outlive it. A connection on which that fails is thrown away.
func (d *database) undo(ctx context.Context, conn *sql.Conn) {
	_, err := conn.ExecContext(ctx, "ROLLBACK")
	if err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		return
	}
	_, _ = conn.ExecContext(ctx, "DO RELEASE_ALL_LOCKS()") // old servers do not know it
}

// stale turns the error of a connection that is of no use any more into the one for which a new one is tried.
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

// canonical is a value as the server spells it, without what comes from its column's declaration.
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

// quote makes an identifier of any text.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
