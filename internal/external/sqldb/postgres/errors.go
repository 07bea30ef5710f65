// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/acme/platform-operator/internal/external/sqldb"
)

// Messages of servers contain user names, values and parts of the statement, so none of them is passed on.
// These are the operator's own messages for the known codes; for others the code is shown.

// logins are the errors of a server that rejects a login.
var logins = map[string]sqldb.Error{
	"28000": {Reason: sqldb.LoginRefused, Message: "the server does not let this user log in from here; check the user name in " +
		"source.credentialsSecretRef and the server's pg_hba.conf"},
	"28P01": {Reason: sqldb.LoginRefused, Message: "the server rejects the login; check the user name and the password in source.credentialsSecretRef"},
	"3D000": {Reason: sqldb.LoginRefused, Message: "there is no such database; check source.database"},
	"42501": {Reason: sqldb.LoginRefused, Message: "the user may not connect to this database; grant CONNECT, or check source.database"},
	"53300": {Reason: sqldb.Unreachable, Message: "the server has no connection left, or none for this user or database; " +
		"raise CONNECTION LIMIT of the role (three for each namespace that reads with it) or of the database, or the server's max_connections"},
	"57P03": {Reason: sqldb.Unreachable, Message: "the server is starting or shutting down"},
}

// statements are the errors of a server that rejects a statement. The fields to correct are those of watch.
var statements = map[string]string{
	"0A000": "the server does not support this; check watch.query",
	"21000": "a subquery returns more than one row; check watch.where or watch.query",
	"22003": "a number is out of range; check the casts in watch.where or watch.query",
	"22007": "a value is not a date or time; check the casts in watch.where or watch.query",
	"22012": "the statement divides by zero; check watch.where or watch.query",
	"22P02": "a value cannot be converted; check the casts in watch.where or watch.query",
	"25006": "the statement writes, which is not allowed; use one that only reads",
	"3F000": "there is no such schema; check watch.table or watch.query",
	"42501": "the user may not read this; grant SELECT on the table, or EXECUTE on the function",
	"42601": "the statement has a syntax error; check watch.where or watch.query",
	"42702": "the name of a column is ambiguous; check watch.where or watch.query",
	"42703": "there is no such column; check watch.column, watch.where or watch.query",
	"42725": "the name of a function is ambiguous; add casts to watch.where or watch.query",
	"42803": "columns are neither grouped nor aggregated; check watch.query",
	"42804": "the types do not fit; check watch.where or watch.query",
	"42809": "this is neither a table nor a view; check watch.table or watch.query",
	"42846": "there is no such cast; check watch.where or watch.query",
	"42883": "there is no such function, or no operator for these types; check watch.where or watch.query",
	"42P01": "there is no such table; check watch.table or watch.query (names without a schema are looked for in public)",
	"42P18": "the type of a value is unknown; add a cast to watch.query",
	"54001": "the statement is too complex; simplify watch.where or watch.query",
	"P0001": "a function that the statement calls fails; check it, or watch.where or watch.query",
}

// codes matches SQLSTATEs. Other texts of a server are not repeated.
var codes = regexp.MustCompile(`^[0-9A-Z]{5}$`)

func withCode(message, code string) string {
	if !codes.MatchString(code) {
		return message
	}
	return fmt.Sprintf("%s (SQLSTATE %s)", message, code)
}

// Explain implements sqldb.Database.
func (d *database) Explain(err error) *sqldb.Error {
	switch {
	case errors.As(err, new(*pgconn.PgError)):
		return explainLogin(err)
	case strings.Contains(err.Error(), "require_auth check failed"):
		return &sqldb.Error{Reason: sqldb.LoginRefused, Message: "the server requests the password in clear text, which is not sent without TLS; " +
			"turn TLS on in source.tls, or configure another authentication method for the user"}
	case strings.Contains(err.Error(), "server refused TLS connection"):
		return &sqldb.Error{Reason: sqldb.Insecure, Message: "the server offers no TLS; source.tls.mode Disable turns encryption off"}
	default:
		return sqldb.Connecting(err, d.source)
	}
}

// explainLogin explains an error before the first statement.
func explainLogin(err error) *sqldb.Error {
	code := codeOf(err)
	e, known := logins[code]
	switch {
	case known:
	case strings.HasPrefix(code, "28"):
		e = sqldb.Error{Reason: sqldb.LoginRefused, Message: "the server rejects the login; check source.credentialsSecretRef"}
	default:
		e = sqldb.Error{Reason: sqldb.Unreachable, Message: "the server accepts no connections at the moment"}
	}
	e.Message = withCode(e.Message, code)
	return &e
}

// explain explains an error of the statement.
func explain(ctx context.Context, err error) error {
	switch {
	case errors.As(err, new(*sqldb.Error)):
		return err
	case errors.As(err, new(*pgproto3.ExceededMaxBodyLenErr)), errors.Is(err, sqldb.ErrTooLarge):
		return sqldb.Oversized()
	case errors.As(err, new(*pgconn.PgError)):
		return explainStatement(codeOf(err))
	case ctx.Err() != nil:
		return sqldb.Overdue()
	default:
		return sqldb.Broken()
	}
}

func codeOf(err error) string {
	pg := (*pgconn.PgError)(nil)
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

func explainStatement(code string) error {
	message, known := statements[code]
	class := code[:min(2, len(code))]
	switch {
	case code == "57014":
		return sqldb.Overdue()
	case class == "57", class == "53", class == "08":
		return &sqldb.Error{Reason: sqldb.Unreachable, Message: withCode("the server closed the connection", code)}
	case !known:
		message = "the server rejects the statement; run it as this user to see why, and check watch.where or watch.query"
	}
	return &sqldb.Error{Reason: sqldb.Refused, Message: withCode(message, code)}
}
