// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"fmt"
	"regexp"
	"strings"
)

// WrongColumns returns the error for an answer that does not have exactly one column.
func WrongColumns(n int) *Error {
	return &Error{Reason: ManyColumns, Message: fmt.Sprintf("the statement returns %d columns; it must return one", n)}
}

// WrongRows returns the error for an answer that does not have exactly one row. More than two are not counted.
func WrongRows(n int) *Error {
	if n == 0 {
		return &Error{Reason: NoRow, Message: "no row was found; there must be exactly one"}
	}
	return &Error{Reason: ManyRows, Message: "more than one row was found; there must be exactly one: narrow it down in watch.where or watch.query"}
}

// Oversized returns the error for a value that is too large.
func Oversized() *Error {
	return &Error{Reason: TooLarge, Message: fmt.Sprintf(
		"the server sent more than %d MiB for the value and its notices; use a query that returns a hash of the value", MaxValue>>20)}
}

// Overdue returns the error for a statement that took too long.
func Overdue() *Error {
	return &Error{Reason: TimedOut, Message: "the statement took too long and was stopped; make it simpler, or add an index", Hung: true}
}

// Broken returns the error for a connection that breaks while the statement runs.
func Broken() *Error {
	return &Error{Reason: Unreachable, Message: "the connection broke while the statement was running"}
}

var (
	plainNumber = regexp.MustCompile(`^-?\d+\.\d+$`)
	fraction    = regexp.MustCompile(`(:\d\d\.\d*?)0+($|[^\d])`)
)

// TrimNumber removes from a decimal number the trailing zeros that only show the scale of its column.
func TrimNumber(text string) string {
	if !plainNumber.MatchString(text) {
		return text
	}
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// TrimTime removes from a time the trailing zeros that only show the precision of its column.
func TrimTime(text string) string {
	return strings.TrimSuffix(fraction.ReplaceAllString(text, "$1$2"), ".")
}
