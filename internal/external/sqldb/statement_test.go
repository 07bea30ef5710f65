// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"errors"
	"testing"

	"github.com/acme/platform-operator/internal/external/sqldb"
)

// TestOnlyQueriesAreSent: what begins otherwise might do more than answer, in ways that a read-only transaction does not stop.
func TestOnlyQueriesAreSent(t *testing.T) {
	for query, sent := range map[string]string{
		"SELECT 1":                           "SELECT 1",
		" select v\nfrom t ; ":               "select v\nfrom t",
		"(SELECT 1)":                         "(SELECT 1)",
		"WITH x AS (SELECT 1) TABLE x":       "WITH x AS (SELECT 1) TABLE x",
		"VALUES (1)":                         "VALUES (1)",
		"TABLE t":                            "TABLE t",
		"SELECTION":                          "",
		"COPY t TO PROGRAM 'id'":             "",
		"CALL p()":                           "",
		"EXPLAIN ANALYZE SELECT pg_sleep(1)": "",
		"DELETE FROM t":                      "",
		"; SELECT 1":                         "",
		"/* SELECT */ DELETE FROM t":         "",
	} {
		got, err := sqldb.Watch{Query: query}.Statement(nil)
		if got != sent || (err == nil) != (sent != "") || err != nil && !errors.Is(err, sqldb.Refused) {
			t.Errorf("of %q is sent %q, %v; want %q", query, got, err, sent)
		}
	}
}
