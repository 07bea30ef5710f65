// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"

	gomysql "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

type postgres struct{}

func (*postgres) prepare(s *Server) error {
	initdb, err := find("initdb", "/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return err
	}
	if err := s.run(initdb, "--pgdata", s.path("data"), "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C", "--no-sync"); err != nil {
		return err
	}
	return os.WriteFile(s.path("data/pg_hba.conf"), []byte("local app,postgres all trust\nhost app all 127.0.0.0/8 scram-sha-256\n"), 0o600)
}

func (*postgres) command(s *Server) ([]string, error) {
	program, err := find("postgres", "/usr/lib/postgresql/*/bin/postgres")
	args := []string{program, "-D", s.path("data")}
	for key, value := range map[string]string{
		"port": strconv.Itoa(int(s.Port)), "listen_addresses": s.Host, "unix_socket_directories": s.dir,
		"ssl": "on", "ssl_cert_file": s.path("server.crt"), "ssl_key_file": s.path("server.key"),
		"fsync": "off", "max_connections": "100", "shared_buffers": "16MB",
	} {
		args = append(args, "-c", key+"="+value)
	}
	return args, err
}

func (*postgres) admin(s *Server, database string) (*sql.DB, error) {
	c, err := pgx.ParseConfig("host=localhost sslmode=disable")
	if err != nil {
		return nil, err
	}
	c.Host, c.Port, c.User, c.Database = s.dir, s.Port, "postgres", "postgres"
	if database != "" {
		c.Database = database
	}
	return stdlib.OpenDB(*c), nil
}

func (p *postgres) populate(s *Server) error {
	if err := s.exec("", p.role(s, "CREATE", s.Password), "CREATE DATABASE app OWNER app"); err != nil {
		return err
	}
	return s.exec("app", "GRANT ALL ON SCHEMA public TO app")
}

func (p *postgres) password(s *Server, password string) string { return p.role(s, "ALTER", password) }

func (*postgres) role(s *Server, verb, password string) string {
	return fmt.Sprintf("%s ROLE %s LOGIN PASSWORD '%s'", verb, s.User, strings.ReplaceAll(password, "'", "''"))
}

func (*postgres) sessions() string {
	return "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app' AND backend_type = 'client backend'"
}

type mariadb struct{}

func (*mariadb) prepare(s *Server) error {
	install, err := find("mariadb-install-db")
	if err != nil {
		return err
	}
	return s.run(install, "--no-defaults", "--datadir="+s.path("data"), "--auth-root-authentication-method=normal", "--skip-test-db")
}

func (*mariadb) command(s *Server) ([]string, error) {
	program, err := find("mariadbd", "/usr/sbin/mariadbd", "/usr/libexec/mariadbd")
	return []string{
		program, "--no-defaults", "--datadir=" + s.path("data"), "--socket=" + s.path("socket"), "--pid-file=" + s.path("pid"),
		"--port=" + strconv.Itoa(int(s.Port)), "--bind-address=" + s.Host, "--skip-name-resolve", "--max-connections=20",
		"--ssl-cert=" + s.path("server.crt"), "--ssl-key=" + s.path("server.key"),
		"--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=16M",
	}, err
}

func (*mariadb) admin(s *Server, database string) (*sql.DB, error) {
	c := gomysql.NewConfig()
	c.Net, c.Addr, c.User, c.DBName = "unix", s.path("socket"), "root", database
	c.Logger = &gomysql.NopLogger{}
	connector, err := gomysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func (m *mariadb) populate(s *Server) error {
	return s.exec("", "CREATE DATABASE app", m.user("CREATE", s.Password), "GRANT ALL ON app.* TO app@'%'")
}

func (m *mariadb) password(_ *Server, password string) string { return m.user("ALTER", password) }

func (*mariadb) user(verb, password string) string {
	escaped := strings.NewReplacer(`\`, `\\`, "'", "''").Replace(password)
	return fmt.Sprintf("%s USER app@'%%' IDENTIFIED BY '%s'", verb, escaped)
}

func (*mariadb) sessions() string {
	return "SELECT count(*) FROM information_schema.processlist WHERE user = 'app'"
}
