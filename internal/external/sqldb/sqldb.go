// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sqldb is the port to SQL databases. It answers one question: which value does a policy's one row and one
// column have now? Adapters live in the folders beside it; Pools keeps their connections.
//
// A read never changes anything: it runs alone in a read-only transaction that is rolled back, with a time limit.
package sqldb

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"
)

// Type is a type of database.
type Type string

const (
	// Postgres is PostgreSQL and what speaks its protocol.
	Postgres Type = "postgres"
	// MySQL is MySQL and MariaDB.
	MySQL Type = "mysql"
)

// Source is a database with the credentials to log in with. It is compared as a whole: connections are shared by those
// who give the same, so nobody reads with credentials that they do not have.
type Source struct {
	// Namespace is where the policy is. It bounds which addresses are reached and how many reads there are at once, and
	// no connection is shared with another namespace.
	Namespace string
	Type      Type
	Host      string
	Port      uint16
	Database  string
	User      string
	Password  string
	TLS       TLS
}

// Parts are all that tells sources apart, the password among them.
func (s Source) Parts() [][]byte {
	return [][]byte{
		[]byte(s.Namespace), []byte(s.Type), []byte(s.Host), fmt.Append(nil, s.Port), []byte(s.Database), []byte(s.User), []byte(s.Password),
		fmt.Append(nil, s.TLS.Disabled), []byte(s.TLS.CA), []byte(s.TLS.ServerName),
	}
}

// TLS says how connections are encrypted. The zero value verifies the server's certificate and name with the system's
// certificate authorities.
type TLS struct {
	// Disabled sends everything in clear text.
	Disabled bool
	// CA are the authorities to trust instead of the system's, as PEM.
	CA string
	// ServerName is the name in the server's certificate when it is not the host's.
	ServerName string
}

// Watch says which value to read: of one column of a table, or of a query.
type Watch struct {
	// Table is TABLE or SCHEMA.TABLE, and Column the column, spelled as they are, without quotes.
	Table, Column string
	// Where is a condition in SQL; empty when the table has one row.
	Where string
	// Query is a query in SQL instead of the others.
	Query string
}

// Kind is what a value is, apart from how large or precise its column's type is.
type Kind string

// The kinds of values.
const (
	KindText    Kind = "text"
	KindInteger Kind = "integer"
	KindNumber  Kind = "number"
	KindBoolean Kind = "boolean"
	KindTime    Kind = "time"
	KindBytes   Kind = "bytes"
	// KindUnknown is the kind of a NULL that belongs to no column.
	KindUnknown Kind = ""
)

// Value is a value in the one way in which it is spelled, whatever the settings of server and session are.
type Value struct {
	Kind Kind
	// Null tells NULL from a value; then Text is empty.
	Null bool
	Text string
}

// Canonical gives bytes that are equal for equal values only. The kind is no part of them.
func (v Value) Canonical() []byte {
	if v.Null {
		return []byte{0}
	}
	return append(binary.BigEndian.AppendUint64([]byte{1}, uint64(len(v.Text))), v.Text...)
}

// Comparable tells whether values of two kinds can be compared, so that their difference is a change of the value and
// not of what it is.
func (k Kind) Comparable(other Kind) bool {
	return k == other || k == KindUnknown || other == KindUnknown
}

// Reader reads values.
type Reader interface {
	// Read reads the value. Its error is an *Error.
	Read(ctx context.Context, s Source, w Watch) (Value, error)
}

// Reason says why there is no value.
type Reason string

// The reasons. They are part of the API: conditions show them.
const (
	// Invalid: source or watch make no sense. Nothing was sent.
	Invalid Reason = "SourceInvalid"
	// Forbidden: the host has an address that must not be connected to.
	Forbidden Reason = "AddressForbidden"
	// Unreachable: the server could not be reached, or does not serve.
	Unreachable Reason = "SourceUnreachable"
	// Insecure: the server offers no TLS, or its certificate cannot be verified.
	Insecure Reason = "TLSFailed"
	// LoginRefused: the server does not take the credentials, or the database's name.
	LoginRefused Reason = "LoginRefused"
	// TimedOut: the statement took too long.
	TimedOut Reason = "StatementTimeout"
	// Refused: the statement is not a query, or the server does not run it.
	Refused Reason = "StatementRefused"
	// NoRow: there is no row.
	NoRow Reason = "NoRow"
	// ManyRows: there is more than one row.
	ManyRows Reason = "ManyRows"
	// ManyColumns: there is not exactly one column.
	ManyColumns Reason = "ManyColumns"
	// TooLarge: the value has more than MaxValue bytes.
	TooLarge Reason = "ValueTooLarge"
)

// MaxValue is how many bytes an answer of the server may have, with all that it says beside the value.
const MaxValue = 1 << 20

// Error implements error, so that a Reason can be asked for with errors.Is.
func (r Reason) Error() string { return string(r) }

// Error says why there is no value.
type Error struct {
	Reason Reason
	// Message is meant for a status: it is the same for the same cause, and holds neither credentials nor values, nor
	// anything that a server or a driver said.
	Message string
	// Detail is meant for the operator's log: what those who write policies must not learn. It holds no credentials either.
	Detail string
	// Hung tells that the policy's own statement ran into its time limit.
	Hung bool
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Is tells whether target is the error's Reason.
func (e *Error) Is(target error) bool { return target == e.Reason }

// Limits bound one read.
type Limits struct {
	// Connect is how long connecting and logging in may take. Default 5s.
	Connect time.Duration
	// Statement is how long the statement may take. Default 5s.
	Statement time.Duration
}
