// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"net"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// queries matches the words that a query begins with. Other statements (COPY, CALL, EXPLAIN ANALYZE) might do
// more than read, in ways that a read-only transaction does not prevent.
var queries = regexp.MustCompile(`(?i)^(select|with|values|table)\b|^\(`)

// Statement returns the statement that reads the value. The function quotes an identifier.
func (w Watch) Statement(quote func(string) string) (string, error) {
	if err := w.check(); err != nil {
		return "", err
	}
	if w.Query != "" {
		query := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(w.Query), ";"))
		if !queries.MatchString(query) {
			return "", &Error{Reason: Refused, Message: "watch.query must begin with SELECT, WITH, VALUES or TABLE: only queries are run"}
		}
		return query, nil
	}
	table := strings.Split(w.Table, ".")
	for i := range table {
		table[i] = quote(table[i])
	}
	statement := "SELECT " + quote(w.Column) + " FROM " + strings.Join(table, ".")
	if w.Where != "" {
		// On a line of its own, so that a comment at its end does not hide the parenthesis.
		statement += " WHERE (\n" + w.Where + "\n)"
	}
	return statement, nil
}

// tables matches TABLE and SCHEMA.TABLE.
var tables = regexp.MustCompile(`^[^.]+(\.[^.]+)?$`)

func (w Watch) check() error {
	if err := w.checkText(); err != nil {
		return err
	}
	switch {
	case w.Query != "" && w.Table+w.Column+w.Where != "":
		return &Error{Reason: Invalid, Message: "watch has both a query and a table: set either query, or table and column"}
	case w.Query+w.Table == "", w.Query+w.Column == "":
		return &Error{Reason: Invalid, Message: "watch needs query, or table and column"}
	case w.Query == "" && !tables.MatchString(w.Table):
		return &Error{Reason: Invalid, Message: "watch.table must be TABLE or SCHEMA.TABLE; use watch.query for names with a dot in them"}
	}
	return nil
}

func (w Watch) checkText() error {
	for _, field := range [][2]string{{"where", w.Where}, {"query", w.Query}} {
		if strings.ContainsRune(field[1], 0) || !utf8.ValidString(field[1]) {
			return &Error{Reason: Invalid, Message: "watch." + field[0] + " must be text without NUL bytes"}
		}
	}
	for _, field := range [][2]string{{"table", w.Table}, {"column", w.Column}} {
		if !printable(field[1]) {
			return &Error{Reason: Invalid, Message: "watch." + field[0] + " must be text without control characters"}
		}
	}
	return nil
}

// printable reports whether a text can be part of an event or a log.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) })
}

// hosts matches the names and addresses that a server may have. A path would be a socket of this machine.
var hosts = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?$`)

func isHost(host string) bool {
	return len(host) <= 253 && (hosts.MatchString(host) || net.ParseIP(host) != nil)
}

// Check returns what is wrong with a source.
func (s Source) Check() error {
	switch {
	case !isHost(s.Host):
		return &Error{Reason: Invalid, Message: "source.host must be a DNS name or an IP address, without a port"}
	case s.Port == 0:
		return &Error{Reason: Invalid, Message: "source.port must be 1 to 65535"}
	case s.Database == "":
		return &Error{Reason: Invalid, Message: "source.database must name a database"}
	case s.User == "":
		return &Error{Reason: Invalid, Message: "the user name in source.credentialsSecretRef is empty"}
	case !printable(s.Database):
		return &Error{Reason: Invalid, Message: "source.database must be text without control characters"}
	case s.TLS.ServerName != "" && !isHost(s.TLS.ServerName):
		return &Error{Reason: Invalid, Message: "source.tls.serverName must be a DNS name or an IP address"}
	}
	return s.checkText()
}

func (s Source) checkText() error {
	for _, field := range [][2]string{{"user name", s.User}, {"password", s.Password}} {
		if strings.ContainsRune(field[1], 0) {
			return &Error{Reason: Invalid, Message: "the " + field[0] + " in source.credentialsSecretRef must not hold NUL bytes"}
		}
	}
	return nil
}
