// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/acme/platform-operator/internal/database/result"
)

func (mysqlEngine) Open(t Target) (*sql.DB, error) {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.TLSConfig = "tcp", net.JoinHostPort(t.Host, strconv.Itoa(t.Port)), "preferred"
	if t.Socket != "" {
		c.Net, c.Addr, c.TLSConfig = "unix", filepath.Join(t.Socket, "mysql.sock"), ""
	}
	c.User, c.Passwd, c.DBName = t.User, t.Password, t.Database
	c.Logger, c.InterpolateParams = &mysql.NopLogger{}, true
	c.Params = map[string]string{"sql_mode": "''"}
	if t.User == result.Admin { // its statements hold passwords: neither log is to have them
		c.Params["sql_log_off"], c.Params["long_query_time"] = "1", "31536000"
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func (mysqlEngine) Version(ctx context.Context, db Queryer) (version string, err error) {
	err = db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version)
	return version, err
}

func (m mysqlEngine) Prepare(ctx context.Context, t Target, n Names) (err error) {
	t.Database = ""
	db, err := m.Open(t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return execute(ctx, db,
		"CREATE DATABASE IF NOT EXISTS "+result.AdminDatabase,
		"CREATE TABLE IF NOT EXISTS "+result.AdminDatabase+".records (k VARCHAR(150) PRIMARY KEY, v MEDIUMTEXT NOT NULL) ENGINE=InnoDB",
		"CREATE TABLE IF NOT EXISTS "+m.Setups()+" (hash VARCHAR(150) PRIMARY KEY, progress MEDIUMTEXT NOT NULL) ENGINE=InnoDB",
		"CREATE DATABASE IF NOT EXISTS "+m.Ident(n.Database))
}

func (m mysqlEngine) Reset(ctx context.Context, t Target, n Names) (err error) {
	t.Database = result.AdminDatabase
	db, err := m.Open(t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return execute(ctx, db, "DROP DATABASE IF EXISTS "+m.Ident(n.Database), "CREATE DATABASE "+m.Ident(n.Database), "DELETE FROM "+m.Setups())
}

// Reload sets what has changed, and sets it back when the server rejects one of them.
func (m mysqlEngine) Reload(ctx context.Context, db *sql.DB, before, after map[string]string) (pending []string, err error) {
	var undo []string
	for _, name := range sorted(after) {
		if before[name] == after[name] {
			continue
		}
		variable := strings.ReplaceAll(name, "-", "_")
		var old sql.NullString
		if err = db.QueryRowContext(ctx, "SELECT @@GLOBAL."+variable).Scan(&old); err == nil {
			err = execute(ctx, db, "SET GLOBAL "+variable+" = "+m.value(after[name]))
		}
		var answer *mysql.MySQLError
		switch {
		case err == nil:
			undo = append(undo, "SET GLOBAL "+variable+" = "+m.value(old.String))
		case errors.As(err, &answer) && answer.Number == 1238: // it is read-only
			pending = append(pending, name)
		default:
			return nil, errors.Join(fmt.Errorf("the server rejects %s: %w", name, err), execute(ctx, db, undo...))
		}
	}
	for _, name := range sorted(before) {
		if _, kept := after[name]; !kept {
			pending = append(pending, name)
		}
	}
	return pending, nil
}

// ReloadCertificate gives MySQL its paths too, because it may have started with a certificate of its own making.
func (m mysqlEngine) ReloadCertificate(ctx context.Context, db Queryer, l Launch) error {
	if mariadb() {
		return execute(ctx, db, "FLUSH SSL")
	}
	return execute(ctx, db, "SET GLOBAL ssl_cert = "+m.Literal(filepath.Join(l.Run, "server.crt")),
		"SET GLOBAL ssl_key = "+m.Literal(filepath.Join(l.Run, "server.key")), "ALTER INSTANCE RELOAD TLS")
}

// value writes a value as SET GLOBAL wants it, which knows no K, M and G.
func (m mysqlEngine) value(text string) string {
	number, shift := text, 0
	if i := strings.IndexAny(strings.ToUpper(text), "KMGT"); i > 0 && i == len(text)-1 {
		number, shift = text[:i], 10*(1+strings.Index("KMGT", strings.ToUpper(text[i:])))
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		return strconv.FormatInt(n<<shift, 10)
	}
	if _, err := strconv.ParseFloat(number, 64); err == nil && shift == 0 {
		return number
	}
	return m.Literal(text)
}

func (m mysqlEngine) Sizes(ctx context.Context, db Queryer, database string) (size, connections int64, oldest float64, err error) {
	err = db.QueryRowContext(ctx, "SELECT coalesce((SELECT sum(data_length + index_length) FROM information_schema.tables WHERE table_schema = "+m.Literal(database)+
		"), 0), (SELECT count(*) FROM information_schema.processlist WHERE user NOT IN ('"+result.Admin+"', 'system user', 'event_scheduler')), "+
		"coalesce((SELECT max(timestampdiff(SECOND, trx_started, now())) FROM information_schema.innodb_trx), 0)").Scan(&size, &connections, &oldest)
	return size, connections, oldest, err
}

func (mysqlEngine) Lock() string   { return "SELECT GET_LOCK('" + result.Admin + "', 60)" }
func (mysqlEngine) Unlock() string { return "SELECT RELEASE_LOCK('" + result.Admin + "')" }

func (mysqlEngine) Records() string { return result.AdminDatabase + ".records" }

func (m mysqlEngine) Upsert(key, value string) string {
	return "REPLACE INTO " + result.AdminDatabase + ".records VALUES (" + m.Literal(key) + ", " + m.Literal(value) + ")"
}

func (mysqlEngine) Setups() string { return result.AdminDatabase + ".setups" }

func (mysqlEngine) Literal(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\x00", `\0`, "\n", `\n`, "\r", `\r`, "\x1a", `\Z`).Replace(text) + "'"
}

func (mysqlEngine) Ident(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (m mysqlEngine) name(name string) string { return m.Literal(name) + "@'%'" }

// Account asks for what both servers can be asked for: the table of MySQL is a view of MariaDB, which has it in JSON.
func (m mysqlEngine) Account(ctx context.Context, db Queryer, name string) (l Login, err error) {
	create, err := strs(ctx, db, "SELECT count(*) FROM mysql.user WHERE host = '%' AND user = "+m.Literal(name))
	if err != nil || len(create) != 1 || create[0] == "0" {
		return Login{}, err
	}
	// SHOW CREATE USER hides nothing from the administrator: the stored form of the password, and the lock.
	create, err = strs(ctx, db, "SHOW CREATE USER "+m.name(name))
	if err != nil || len(create) != 1 {
		return Login{}, errors.Join(err, errors.New("reading an account"))
	}
	stored, _, _ := strings.Cut(create[0], " ACCOUNT ")
	stored, _, _ = strings.Cut(stored, " REQUIRE ")
	return Login{Exists: true, CanLogin: !strings.Contains(create[0], " ACCOUNT LOCK"), Stored: stored}, nil
}

func (m mysqlEngine) Create(n Names, name string) []string {
	// In a GRANT, the name is a pattern.
	database := strings.NewReplacer(`\`, `\\`, "_", `\_`, "%", `\%`).Replace(n.Database)
	return []string{
		"CREATE USER IF NOT EXISTS " + m.name(name) + " ACCOUNT LOCK",
		"GRANT ALL ON " + m.Ident(database) + ".* TO " + m.name(name),
		"GRANT SELECT, INSERT, UPDATE ON " + m.Setups() + " TO " + m.name(name),
	}
}

func (m mysqlEngine) SetPassword(name, password string) []string {
	return []string{"ALTER USER " + m.name(name) + " IDENTIFIED BY " + m.Literal(password)}
}

func (m mysqlEngine) SetLogin(name string, can bool) []string {
	verb := " ACCOUNT LOCK"
	if can {
		verb = " ACCOUNT UNLOCK"
	}
	return []string{"ALTER USER " + m.name(name) + verb}
}

// SetDoor stops events, which run without a login. The server starts with them off, and the agent turns them on.
func (mysqlEngine) SetDoor(_ Names, closed bool) []string {
	if closed {
		return []string{"SET GLOBAL event_scheduler = OFF"}
	}
	return []string{"SET GLOBAL event_scheduler = ON"}
}

func (m mysqlEngine) EndSessions(ctx context.Context, db *sql.Conn, names []string) (int, error) {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = m.Literal(name)
	}
	ids, err := strs(ctx, db, "SELECT id FROM information_schema.processlist WHERE user IN ("+strings.Join(quoted, ",")+")")
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		var answer *mysql.MySQLError
		if err := execute(ctx, db, "KILL "+id); err != nil && (!errors.As(err, &answer) || answer.Number != 1094) { // it has ended meanwhile
			return 0, err
		}
	}
	return len(ids), nil
}

func sorted(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
