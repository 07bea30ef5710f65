// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mysql

import (
	"context"
	"errors"
	"fmt"

	gomysql "github.com/go-sql-driver/mysql"

	"github.com/acme/platform-operator/internal/external/sqldb"
)

// Messages of servers contain user names, values and parts of the statement, so none of them is passed on.
// These are the operator's own messages for the known error numbers; for others the number is shown.

const (
	checkLogin    = "the server rejects the login; check the user name and the password in source.credentialsSecretRef"
	checkDatabase = "there is no such database, or the user has no right in it; check source.database"
	checkPassword = "the server wants this user's password to be changed first; change it in the server and in source.credentialsSecretRef"
	checkRights   = "the user may not read this; grant SELECT on the table, or EXECUTE on the function"
	checkTable    = "there is no such table; check watch.table or watch.query"
	checkQuery    = "check watch.where or watch.query"
)

// logins are the errors of a server that rejects a login.
var logins = map[uint16]string{
	1044: checkDatabase, 1049: checkDatabase,
	1045: checkLogin, 1698: checkLogin,
	1130: "the server accepts no logins of this user from the operator's address; check the host part of the user in the server",
	1820: checkPassword, 1862: checkPassword,
	3118: "the user is locked; unlock it in the server, or use another one in source.credentialsSecretRef",
}

// statements are the errors of a server that rejects a statement.
var statements = map[uint16]string{
	1046: "no database is selected; check watch.table or watch.query",
	1051: checkTable, 1109: checkTable, 1146: checkTable,
	1052: "the name of a column is ambiguous; " + checkQuery,
	1054: "there is no such column; check watch.column, watch.where or watch.query",
	1064: "the statement has a syntax error; " + checkQuery,
	1142: checkRights, 1143: checkRights, 1370: checkRights,
	1242: "a subquery returns more than one row; " + checkQuery,
	1292: "a value cannot be converted; " + checkQuery,
	1305: "there is no such function; " + checkQuery,
	1365: "the statement divides by zero; " + checkQuery,
	1644: "a function that the statement calls fails; check it, or watch.where or watch.query",
	1690: "a number is out of range; " + checkQuery,
	1792: "the statement writes, which is not allowed; use one that only reads",
}

func withNumber(message string, number uint16) string {
	return fmt.Sprintf("%s (error %d)", message, number)
}

// Explain implements sqldb.Database.
func (d *database) Explain(err error) *sqldb.Error {
	switch {
	case errors.Is(err, gomysql.ErrNoTLS):
		return &sqldb.Error{Reason: sqldb.Insecure, Message: "the server offers no TLS; source.tls.mode Disable turns encryption off"}
	case errors.Is(err, errServerKey):
		return &sqldb.Error{Reason: sqldb.LoginRefused, Message: "the server requests the password itself, which is not sent without TLS; " +
			"turn TLS on in source.tls, configure another authentication method for the user or, with caching_sha2_password, have an " +
			"application log in once: the server keeps that in its cache until it restarts"}
	case errors.Is(err, gomysql.ErrCleartextPassword), errors.Is(err, gomysql.ErrOldPassword), errors.Is(err, gomysql.ErrUnknownPlugin):
		return &sqldb.Error{Reason: sqldb.LoginRefused, Message: "the server requests an authentication method that is not supported; " +
			"configure another one for the user in the server"}
	case errors.As(err, new(*gomysql.MySQLError)):
		return explainLogin(err)
	default:
		return sqldb.Connecting(err, d.source)
	}
}

// explainLogin explains an error before the first statement.
func explainLogin(err error) *sqldb.Error {
	number := numberOf(err)
	if message, ok := logins[number]; ok {
		return &sqldb.Error{Reason: sqldb.LoginRefused, Message: withNumber(message, number)}
	}
	return &sqldb.Error{Reason: sqldb.Unreachable, Message: withNumber("the server accepts no connections at the moment", number)}
}

func numberOf(err error) uint16 {
	my := (*gomysql.MySQLError)(nil)
	if errors.As(err, &my) {
		return my.Number
	}
	return 0
}

// explain explains an error of the statement.
func (d *database) explain(ctx context.Context, err error, overflows int64) error {
	switch {
	case errors.As(err, new(*sqldb.Error)):
		return err
	case errors.As(err, new(*gomysql.MySQLError)):
		return explainStatement(numberOf(err))
	case d.line.Overflows() > overflows:
		return sqldb.Oversized()
	case ctx.Err() != nil:
		return sqldb.Overdue()
	default:
		return sqldb.Broken()
	}
}

func explainStatement(number uint16) error {
	switch number {
	case 3024, 1969, 1317, 1205, 1907:
		return sqldb.Overdue()
	case 1053, 1927:
		return &sqldb.Error{Reason: sqldb.Unreachable, Message: withNumber("the server closed the connection", number)}
	}
	message, ok := statements[number]
	if !ok {
		message = "the server rejects the statement; run it as this user to see why, and " + checkQuery
	}
	return &sqldb.Error{Reason: sqldb.Refused, Message: withNumber(message, number)}
}
