// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"

	"github.com/acme/platform-operator/internal/database/result"
)

// mysqlEngine is MySQL, and MariaDB where that differs.
type mysqlEngine struct{}

func (mysqlEngine) Type() string { return result.MySQL }

// Initialize takes MariaDB's script where there is one: its server cannot initialise itself.
func (m mysqlEngine) Initialize(_ context.Context, l Launch) (*exec.Cmd, error) {
	if mariadb() {
		return program([]string{
			"--no-defaults", "--datadir=" + l.Data, "--tmpdir=" + l.Run, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
		}, "mariadb-install-db", "mysql_install_db")
	}
	return program([]string{"--no-defaults", "--initialize-insecure", "--datadir=" + l.Data, "--tmpdir=" + l.Run}, "mysqld")
}

func mariadb() bool { return find("mariadbd") != "" }

func (mysqlEngine) IsData(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "mysql"))
	_, errFile := os.Stat(filepath.Join(dir, "ibdata1"))
	return err == nil && errFile == nil
}

func (mysqlEngine) PidFile(string) string { return "" }

func (mysqlEngine) Signals() (safely, atOnce syscall.Signal) { return syscall.SIGTERM, syscall.SIGKILL }

// reservedMySQL are the parameters that are the agent's.
var reservedMySQL = []string{
	"admin_address", "admin_port", "basedir", "bind_address", "datadir", "defaults_extra_file", "defaults_file", "event_scheduler", "init_file",
	"innodb_data_home_dir", "innodb_doublewrite", "innodb_flush_log_at_trx_commit", "innodb_log_group_home_dir", "log_error", "mysqlx", "pid_file",
	"plugin_dir", "port", "skip_grant_tables", "skip_networking", "socket", "ssl_ca", "ssl_cert", "ssl_key", "tmpdir", "user",
}

var mysqlParameter = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

func (m mysqlEngine) Configure(l Launch) error {
	text := strings.Builder{}
	text.WriteString("[mysqld]\ncharacter-set-server=utf8mb4\nskip-log-bin\nloose-mysqlx=OFF\n")
	for _, name := range sorted(l.Parameters) {
		value := l.Parameters[name]
		if reserved(name) {
			return reservedParameter(name)
		}
		if !mysqlParameter.MatchString(name) || strings.ContainsAny(value, "\n\r\x00") {
			return result.Errorf(result.InvalidInput, "the parameter %q has a name or a value that no parameter has", name)
		}
		fmt.Fprintf(&text, "%s=%s\n", name, option(value))
	}
	if l.TLS {
		fmt.Fprintf(&text, "ssl-cert=%s\nssl-key=%s\n", filepath.Join(l.Run, "server.crt"), filepath.Join(l.Run, "server.key"))
	}
	return errors.Join(
		write(filepath.Join(l.Run, "my.cnf"), text.String()),
		write(filepath.Join(l.Run, "init.sql"), strings.Join(m.takeOver(l.AdminPassword), ";\n")+";\n"))
}

// reserved knows the server's other ways to write a name: dashes, and the prefixes skip, loose and so on.
func reserved(name string) bool {
	plain := strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	for _, prefix := range []string{"loose_", "skip_", "disable_", "enable_", "maximum_"} {
		if rest, found := strings.CutPrefix(plain, prefix); found && slices.Contains(reservedMySQL, rest) {
			return true
		}
	}
	return slices.Contains(reservedMySQL, plain)
}

// option quotes a value for an option file.
func option(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(value) + `"`
}

// takeOver are the statements that the server runs at each start, before it listens: they make the agent's account, whatever was
// done to it, and remove the accounts without a password that the server makes for itself.
func (m mysqlEngine) takeOver(password string) []string {
	list := []string{"SET SESSION sql_mode=''", "SET SESSION sql_log_off=1"}
	for _, host := range []string{"localhost", "%"} {
		name := m.Literal(result.Admin) + "@" + m.Literal(host)
		list = append(list,
			"CREATE USER IF NOT EXISTS "+name+" IDENTIFIED BY "+m.Literal(password),
			"ALTER USER "+name+" IDENTIFIED BY "+m.Literal(password)+" ACCOUNT UNLOCK",
			"GRANT ALL ON *.* TO "+name+" WITH GRANT OPTION")
	}
	for _, name := range []string{"'root'@'localhost'", "'root'@'127.0.0.1'", "'root'@'::1'", "''@'localhost'"} {
		list = append(list, "DROP USER IF EXISTS "+name)
	}
	return list
}

func (mysqlEngine) arguments(l Launch) []string {
	args := []string{
		"--defaults-file=" + filepath.Join(l.Run, "my.cnf"), "--datadir=" + l.Data, "--socket=" + filepath.Join(l.Run, "mysql.sock"),
		"--pid-file=" + filepath.Join(l.Run, "server.pid"), "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=1",
		"--init-file=" + filepath.Join(l.Run, "init.sql"), "--event-scheduler=OFF", "--tmpdir=" + l.Run,
	}
	if l.Listen == "" {
		return append(args, "--skip-networking")
	}
	return append(args, "--port="+strconv.Itoa(l.Port), "--bind-address="+l.Listen)
}

// Check has the server read its options and nothing else.
func (m mysqlEngine) Check(l Launch) (*exec.Cmd, error) {
	args := m.arguments(l)
	if mariadb() {
		return program(append(args, "--verbose", "--help"), "mariadbd")
	}
	return program(append(args, "--validate-config"), "mysqld")
}

func (m mysqlEngine) Command(l Launch) (*exec.Cmd, error) {
	return program(m.arguments(l), "mariadbd", "mysqld")
}

func (mysqlEngine) Program() (*exec.Cmd, error) {
	return program([]string{"--no-defaults", "--version"}, "mariadbd", "mysqld")
}

func (m mysqlEngine) Dump(t Target, _ Snapshot) (*exec.Cmd, error) {
	args := []string{
		"--single-transaction", "--quick", "--routines", "--triggers", "--events", "--hex-blob", "--no-tablespaces", "--default-character-set=utf8mb4",
		"--max-allowed-packet=1G",
	}
	if !mariadb() {
		args = append(args, "--set-gtid-purged=OFF", "--column-statistics=0")
	}
	return m.client(t, append(args, "--", t.Database), "mariadb-dump", "mysqldump")
}

func (m mysqlEngine) Load(t Target, _ bool) (*exec.Cmd, error) {
	return m.client(t, []string{
		"--batch", "--binary-mode", "--default-character-set=utf8mb4", "--max-allowed-packet=1G", "--database=" + t.Database,
	}, "mariadb", "mysql")
}

func (mysqlEngine) Contents(Target) (*exec.Cmd, error) { return nil, nil }

func (mysqlEngine) Begun() string  { return "\n-- Table structure" }
func (mysqlEngine) Ending() string { return "-- Dump completed" }

func (mysqlEngine) IsNew(string) bool { return false }

func (mysqlEngine) client(t Target, args []string, names ...string) (*exec.Cmd, error) {
	where := fmt.Sprintf("host=%s\nport=%d\nprotocol=tcp\n", option(t.Host), t.Port)
	if t.Socket != "" {
		where = fmt.Sprintf("socket=%s\n", option(filepath.Join(t.Socket, "mysql.sock")))
	}
	file := filepath.Join(t.Client, "client.cnf")
	if err := write(file, "[client]\n"+where+"user="+option(t.User)+"\npassword="+option(t.Password)+"\n"); err != nil {
		return nil, fmt.Errorf("writing the password for %s: %w", names[0], err)
	}
	return program(append([]string{"--defaults-file=" + file}, args...), names...)
}

func (mysqlEngine) Transient(err error) bool {
	var network net.Error
	var answer *mysql.MySQLError
	if errors.As(err, &answer) {
		return slices.Contains([]uint16{1040, 1053, 1129, 1158, 1159, 1160, 1161, 1205, 1213}, answer.Number)
	}
	return errors.As(err, &network) || errors.Is(err, mysql.ErrInvalidConn)
}

func (mysqlEngine) AlreadyDone(err error) bool {
	var answer *mysql.MySQLError
	// The numbers of: exists or does not, for databases, tables, columns, keys, routines, triggers, events, constraints.
	return errors.As(err, &answer) && slices.Contains([]uint16{
		1007, 1008, 1050, 1051, 1060, 1061, 1068, 1091, 1304, 1305, 1359, 1360, 1537, 1539, 1826, 3822,
	}, answer.Number)
}

// SetupLine knows no line: statements are sent one by one.
func (mysqlEngine) SetupLine(error, string) int { return 0 }
