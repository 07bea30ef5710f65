// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import "github.com/acme/platform-operator/internal/external/sqldb"

func value(kind sqldb.Kind, text string) sqldb.Value { return sqldb.Value{Kind: kind, Text: text} }

var postgresValues = []valueCase{
	{"text", "SELECT 'a b'::text", value(sqldb.KindText, "a b")},
	{"empty text", "SELECT ''", value(sqldb.KindText, "")},
	{"any letters", `SELECT U&'\00e4\+01F600'`, value(sqldb.KindText, "ä😀")},
	{"NULL of a type", "SELECT NULL::int", sqldb.Value{Kind: sqldb.KindInteger, Null: true}},
	{"integer", "SELECT 9223372036854775807", value(sqldb.KindInteger, "9223372036854775807")},
	{"small integer", "SELECT -1::smallint", value(sqldb.KindInteger, "-1")},
	{"number", "SELECT 1.50::numeric(10,4)", value(sqldb.KindNumber, "1.5")},
	{"large number", "SELECT 100::numeric(30,2)", value(sqldb.KindNumber, "100")},
	{"float", "SELECT 0.1::float8", value(sqldb.KindNumber, "0.1")},
	{"not a number", "SELECT 'NaN'::numeric", value(sqldb.KindNumber, "NaN")},
	{"boolean", "SELECT true", value(sqldb.KindBoolean, "t")},
	{"instant", "SELECT '2026-03-29 02:30:00+02'::timestamptz", value(sqldb.KindTime, "2026-03-29 00:30:00+00")},
	{"time", "SELECT '2026-03-29 02:30:00.120'::timestamp(3)", value(sqldb.KindTime, "2026-03-29 02:30:00.12")},
	{"date", "SELECT '2026-03-04'::date", value(sqldb.KindTime, "2026-03-04")},
	{"bytes", `SELECT '\x00ff'::bytea`, value(sqldb.KindBytes, `\x00ff`)},
	{"padded text", "SELECT 'a'::char(5)", value(sqldb.KindText, "a")},
	{"something else", `SELECT '{"a": 1}'::jsonb`, value(sqldb.KindText, `{"a": 1}`)},
	{"common table expression", "WITH x AS (SELECT 3 AS n) SELECT n FROM x", value(sqldb.KindInteger, "3")},
	{"values", "VALUES (4)", value(sqldb.KindInteger, "4")},
	{"parentheses", "(SELECT 5)", value(sqldb.KindInteger, "5")},
	{"a semicolon in a text", "SELECT 'a;b'", value(sqldb.KindText, "a;b")},
	{"a comment at the end", "SELECT 6 -- six", value(sqldb.KindInteger, "6")},
	{"the search path is ours", "SELECT current_setting('search_path')", value(sqldb.KindText, "pg_catalog, public, pg_temp")},
}

var postgresFunctions = []string{
	"CREATE SEQUENCE counter", "GRANT ALL ON SEQUENCE counter TO app",
	"CREATE FUNCTION sneak() RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE precious SET n = 2; RETURN 1; END $$",
	"CREATE FUNCTION sneak_free() RETURNS int LANGUAGE plpgsql AS " +
		"$$ BEGIN SET LOCAL transaction_read_only = off; UPDATE precious SET n = 2; RETURN 1; END $$",
	// What the role's own settings and objects say must not matter.
	"ALTER ROLE app SET TimeZone = 'Asia/Tokyo'", "ALTER ROLE app SET DateStyle = 'German'", "ALTER ROLE app SET search_path = evil, public",
	"ALTER ROLE app SET default_transaction_read_only = off",
	"CREATE SCHEMA evil", "GRANT ALL ON SCHEMA evil TO app",
	"CREATE FUNCTION evil.now() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 666; END $$",
}

var postgresWrites = []string{
	"UPDATE precious SET n = 2 RETURNING n",
	"DELETE FROM precious RETURNING n",
	"INSERT INTO precious VALUES (3) RETURNING n",
	"SELECT n FROM precious; UPDATE precious SET n = 2",
	"SELECT n FROM precious; COMMIT; DROP TABLE precious",
	"SELECT 1; ; ROLLBACK; BEGIN; DROP TABLE precious; COMMIT; SELECT 1",
	"WITH gone AS (DELETE FROM precious RETURNING n) SELECT n FROM gone",
	"SELECT n INTO TABLE copied FROM precious",
	"SELECT n FROM precious FOR UPDATE",
	"SELECT nextval('counter')",
	"SELECT sneak()",
	"SELECT sneak_free()",
	"SELECT set_config('transaction_read_only', 'off', false) FROM (SELECT sneak()) AS s",
	"EXPLAIN ANALYZE DELETE FROM precious",
	"COPY precious TO PROGRAM 'cat'",
	"COPY precious FROM '/etc/hostname'",
	"CALL nothing()",
	"DO $$ BEGIN UPDATE precious SET n = 2; END $$",
	"DROP TABLE precious",
	"SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
	"COMMIT",
	"TABLE precious; TRUNCATE precious",
	"VALUES (1); TRUNCATE precious",
	"-- SELECT\nDROP TABLE precious",
	"/* SELECT */ DROP TABLE precious",
}

// postgresUndone are queries that a server may run, and whose effects are undone.
var postgresUndone = []string{
	"SELECT lo_create(4711)",
	"SELECT set_config('search_path', 'evil', false)",
	"SELECT set_config('statement_timeout', '0', false)",
	"SELECT pg_notify('here', 'something')",
}

var mariadbValues = []valueCase{
	{"text", "SELECT 'a b'", value(sqldb.KindText, "a b")},
	{"empty text", "SELECT ''", value(sqldb.KindText, "")},
	{"any letters", "SELECT _utf8mb4 0xC3A4F09F9880", value(sqldb.KindText, "ä😀")},
	{"NULL", "SELECT NULL", sqldb.Value{Kind: sqldb.KindUnknown, Null: true}},
	{"NULL of a type", "SELECT CAST(NULL AS signed)", sqldb.Value{Kind: sqldb.KindInteger, Null: true}},
	{"integer", "SELECT 9223372036854775807", value(sqldb.KindInteger, "9223372036854775807")},
	{"unsigned integer", "SELECT 18446744073709551615", value(sqldb.KindInteger, "18446744073709551615")},
	{"number", "SELECT CAST(1.5 AS decimal(10,4))", value(sqldb.KindNumber, "1.5")},
	{"large number", "SELECT CAST(100 AS decimal(30,2))", value(sqldb.KindNumber, "100")},
	{"float", "SELECT 0.1e0", value(sqldb.KindNumber, "0.1")},
	{"boolean", "SELECT true", value(sqldb.KindInteger, "1")},
	{"instant", "SELECT FROM_UNIXTIME(0)", value(sqldb.KindTime, "1970-01-01 00:00:00")},
	{"time", "SELECT CAST('2026-03-29 02:30:00.120' AS datetime(3))", value(sqldb.KindTime, "2026-03-29 02:30:00.12")},
	{"date", "SELECT CAST('2026-03-04' AS date)", value(sqldb.KindTime, "2026-03-04")},
	{"bytes", "SELECT CAST(0x00FF AS binary)", value(sqldb.KindBytes, "\x00\xff")},
	{"something else", `SELECT JSON_OBJECT('a', 1)`, value(sqldb.KindText, `{"a": 1}`)},
	{"common table expression", "WITH x AS (SELECT 3 AS n) SELECT n FROM x", value(sqldb.KindInteger, "3")},
	{"values", "VALUES (4)", value(sqldb.KindInteger, "4")},
	{"parentheses", "(SELECT 5)", value(sqldb.KindInteger, "5")},
	{"a semicolon in a text", "SELECT 'a;b'", value(sqldb.KindText, "a;b")},
	{"a comment at the end", "SELECT 6 -- six", value(sqldb.KindInteger, "6")},
	{"the time zone is ours", "SELECT @@session.time_zone", value(sqldb.KindText, "+00:00")},
}

var mariadbFunctions = []string{
	"CREATE SEQUENCE counter",
	"CREATE TABLE unlogged (n int) ENGINE=MyISAM", "INSERT INTO unlogged VALUES (1)",
	"CREATE FUNCTION sneak() RETURNS int MODIFIES SQL DATA BEGIN UPDATE precious SET n = 2; RETURN 1; END",
	"CREATE FUNCTION sneak_unlogged() RETURNS int MODIFIES SQL DATA BEGIN DELETE FROM unlogged; RETURN 1; END",
	"GRANT FILE ON *.* TO app",
	"GRANT EXECUTE ON app.* TO app@'%'",
}

var mariadbWrites = []string{
	"UPDATE precious SET n = 2",
	"DELETE FROM precious RETURNING n",
	"SELECT n FROM precious; UPDATE precious SET n = 2",
	"SELECT n FROM precious; COMMIT; DROP TABLE precious",
	"WITH x AS (SELECT 1) DELETE FROM precious",
	"SELECT sneak()",
	"SELECT sneak_unlogged()",
	"SELECT NEXTVAL(counter)",
	"SELECT n FROM precious INTO OUTFILE 'stolen'",
	"SELECT n FROM precious INTO DUMPFILE 'stolen'",
	"SELECT n FROM precious /*!50000 INTO OutFile 'stolen' */",
	"EXPLAIN ANALYZE DELETE FROM precious",
	"LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE precious",
	"CALL nothing()",
	"DROP TABLE precious",
	"TABLE precious; TRUNCATE precious",
	"COMMIT",
	"SET GLOBAL max_connections = 1",
	"/*!50000 DROP TABLE precious */",
	"-- SELECT\nDROP TABLE precious",
	"# SELECT\nDROP TABLE precious",
}
