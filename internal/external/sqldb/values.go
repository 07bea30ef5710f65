// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"fmt"
	"regexp"
	"strings"
)

// WrongColumns is the error for an answer that has not one column.
func WrongColumns(n int) *Error {
	return &Error{Reason: ManyColumns, Message: fmt.Sprintf("the statement gives %d columns: must give one", n)}
}

// WrongRows is the error for an answer that has not one row. More than two are not counted.
func WrongRows(n int) *Error {
	if n == 0 {
		return &Error{Reason: NoRow, Message: "there is no row: must be one"}
	}
	return &Error{Reason: ManyRows, Message: "there is more than one row: must be one; narrow it down in watch.where or watch.query"}
}

// Oversized is the error for a value that is too large.
func Oversized() *Error {
	return &Error{Reason: TooLarge, Message: fmt.Sprintf(
		"the server sent more than %d MiB for the value and its notices; a query can give the value's hash instead", MaxValue>>20)}
}

// Overdue is the error for a statement that took too long.
func Overdue() *Error {
	return &Error{Reason: TimedOut, Message: "the statement took too long and was stopped; make it simpler, or add an index", Hung: true}
}

// Broken is the error for a connection that breaks while the statement runs.
func Broken() *Error {
	return &Error{Reason: Unreachable, Message: "the connection broke while the statement was running"}
}

var (
	plainNumber = regexp.MustCompile(`^-?\d+\.\d+$`)
	fraction    = regexp.MustCompile(`(:\d\d\.\d*?)0+($|[^\d])`)
)

// TrimNumber takes from a decimal number the zeros at its end that only tell the scale of its column.
func TrimNumber(text string) string {
	if !plainNumber.MatchString(text) {
		return text
	}
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// TrimTime takes from a time the zeros at its end that only tell the precision of its column.
func TrimTime(text string) string {
	return strings.TrimSuffix(fraction.ReplaceAllString(text, "$1$2"), ".")
}
