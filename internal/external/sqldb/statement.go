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

package sqldb

import (
	"errors"
	"net"
	"regexp"
	"strings"
	"unicode/utf8"
)

// queries are the words that a query begins with. What begins otherwise (COPY, CALL, EXPLAIN ANALYZE) might do more than
// answer, in ways that a read-only transaction does not stop.
var queries = regexp.MustCompile(`(?i)^(select|with|values|table)\b|^\(`)

// Statement is the statement that reads the value. The function quotes an identifier.
func (w Watch) Statement(quote func(string) string) (string, error) {
	if err := w.check(); err != nil {
		return "", err
	}
	if w.Query != "" {
		query := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(w.Query), ";"))
		if !queries.MatchString(query) {
			return "", &Error{Refused, "watch.query must begin with SELECT, WITH, VALUES or TABLE: only queries are run"}
		}
		return query, nil
	}
	table := strings.Split(w.Table, ".")
	for i := range table {
		table[i] = quote(table[i])
	}
	statement := "SELECT " + quote(w.Column) + " FROM " + strings.Join(table, ".")
	if w.Where != "" {
		// On a line of its own, so that a comment at its end leaves the parenthesis alone.
		statement += " WHERE (\n" + w.Where + "\n)"
	}
	return statement, nil
}

// tables are TABLE and SCHEMA.TABLE.
var tables = regexp.MustCompile(`^[^.]+(\.[^.]+)?$`)

func (w Watch) check() error {
	if err := w.checkText(); err != nil {
		return err
	}
	switch {
	case w.Query != "" && w.Table+w.Column+w.Where != "":
		return &Error{Invalid, "watch has both a query and a table: give either query, or table and column"}
	case w.Query+w.Table == "", w.Query+w.Column == "":
		return &Error{Invalid, "watch needs query, or table and column"}
	case w.Query == "" && !tables.MatchString(w.Table):
		return &Error{Invalid, "watch.table must be TABLE or SCHEMA.TABLE; use watch.query for names with a dot in them"}
	}
	return nil
}

func (w Watch) checkText() error {
	for _, field := range [][2]string{{"table", w.Table}, {"column", w.Column}, {"where", w.Where}, {"query", w.Query}} {
		if strings.ContainsRune(field[1], 0) || !utf8.ValidString(field[1]) {
			return &Error{Invalid, "watch." + field[0] + " must be text without NUL bytes"}
		}
	}
	return nil
}

// hosts are the names and addresses that a server may have. A path would be a socket of this machine.
var hosts = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?$`)

func isHost(host string) bool {
	return len(host) <= 253 && (hosts.MatchString(host) || net.ParseIP(host) != nil)
}

// Check tells what is wrong with a source.
func (s Source) Check() error {
	switch {
	case !isHost(s.Host):
		return &Error{Invalid, "source.host must be a DNS name or an IP address, without a port"}
	case s.Port == 0:
		return &Error{Invalid, "source.port must be 1 to 65535"}
	case s.Database == "":
		return &Error{Invalid, "source.database must name a database"}
	case s.User == "":
		return &Error{Invalid, "the user name in the credentials is empty"}
	}
	return s.checkText()
}

func (s Source) checkText() error {
	for _, field := range [][2]string{{"source.database", s.Database}, {"the user name", s.User}, {"the password", s.Password}} {
		if strings.ContainsRune(field[1], 0) {
			return &Error{Invalid, field[0] + " must not hold NUL bytes"}
		}
	}
	return nil
}

// reasonOf is the reason of an error of a Reader.
func reasonOf(err error) Reason {
	e := (*Error)(nil)
	if errors.As(err, &e) {
		return e.Reason
	}
	return Unreachable
}
