// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sqldb is the port to SQL databases. It answers one question: which value does the watched row and
// column of a policy have now? The adapters are in the folders beside it; Pools keeps their connections.
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
	// Postgres is PostgreSQL and servers with its protocol.
	Postgres Type = "postgres"
	// MySQL is MySQL and MariaDB.
	MySQL Type = "mysql"
)

// Source is a database with the credentials to log in with. It is compared as a whole: connections are shared
// only by policies with the same credentials, so no policy reads with credentials that it does not have.
type Source struct {
	// Namespace is the namespace of the policy. It bounds which addresses can be reached and how many reads run
	// at once. Connections are not shared between namespaces.
	Namespace string
	Type      Type
	Host      string
	Port      uint16
	Database  string
	User      string
	Password  string
	TLS       TLS
}

// Parts returns everything that distinguishes sources, including the password.
func (s Source) Parts() [][]byte {
	return [][]byte{
		[]byte(s.Namespace), []byte(s.Type), []byte(s.Host), fmt.Append(nil, s.Port), []byte(s.Database), []byte(s.User), []byte(s.Password),
		fmt.Append(nil, s.TLS.Disabled), []byte(s.TLS.CA), []byte(s.TLS.ServerName),
	}
}

// TLS configures the encryption of connections. The zero value verifies the server's certificate and name with
// the system's certificate authorities.
type TLS struct {
	// Disabled sends everything in clear text.
	Disabled bool
	// CA are the authorities to trust instead of the system's, as PEM.
	CA string
	// ServerName is the name in the server's certificate, if it differs from the host.
	ServerName string
}

// Watch selects the value to read: one column of a table, or a query.
type Watch struct {
	// Table is TABLE or SCHEMA.TABLE, and Column the column, in the database's own spelling, without quotes.
	Table, Column string
	// Where is a condition in SQL; empty when the table has one row.
	Where string
	// Query is a query in SQL instead of the others.
	Query string
}

// Kind is the type of a value, without the size or precision of its column's type.
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

// Value is a value in its canonical spelling, which does not depend on the settings of server and session.
type Value struct {
	Kind Kind
	// Null distinguishes NULL from a value; Text is empty then.
	Null bool
	Text string
}

// Canonical returns bytes that are equal for equal values only. They do not include the kind.
func (v Value) Canonical() []byte {
	if v.Null {
		return []byte{0}
	}
	return append(binary.BigEndian.AppendUint64([]byte{1}, uint64(len(v.Text))), v.Text...)
}

// Comparable reports whether values of two kinds can be compared, so that a difference is a change of the value
// and not of its kind.
func (k Kind) Comparable(other Kind) bool {
	return k == other || k == KindUnknown || other == KindUnknown
}

// Reader reads values.
type Reader interface {
	// Read reads the value. Its error is an *Error.
	Read(ctx context.Context, s Source, w Watch) (Value, error)
}

// Reason is why there is no value.
type Reason string

// The reasons. They are part of the API: conditions show them.
const (
	// Invalid: source or watch is invalid. Nothing was sent.
	Invalid Reason = "SourceInvalid"
	// Forbidden: the address of the host must not be connected to.
	Forbidden Reason = "AddressForbidden"
	// Unreachable: the server could not be reached, or is not serving.
	Unreachable Reason = "SourceUnreachable"
	// Insecure: the server offers no TLS, or its certificate cannot be verified.
	Insecure Reason = "TLSFailed"
	// LoginRefused: the server rejects the credentials, or the database's name.
	LoginRefused Reason = "LoginRefused"
	// TimedOut: the statement took too long.
	TimedOut Reason = "StatementTimeout"
	// Refused: the statement is not a query, or the server rejects it.
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

// MaxValue is the largest answer of the server, in bytes, including everything that it sends besides the value.
const MaxValue = 1 << 20

// Error implements error, so that errors.Is can match a Reason.
func (r Reason) Error() string { return string(r) }

// Error is why there is no value.
type Error struct {
	Reason Reason
	// Message is meant for a status: it is the same for the same cause, and contains neither credentials nor
	// values, nor any text of a server or a driver.
	Message string
	// Detail is meant for the operator's log: authors of policies must not see it. It contains no credentials
	// either.
	Detail string
	// Hung is true if the policy's own statement ran into its time limit.
	Hung bool
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Is reports whether target is the error's Reason.
func (e *Error) Is(target error) bool { return target == e.Reason }

// Limits bound one read.
type Limits struct {
	// Connect is how long connecting and logging in may take. Default 5s.
	Connect time.Duration
	// Statement is how long the statement may take. Default 5s.
	Statement time.Duration
}
