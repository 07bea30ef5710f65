// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"regexp"
	"strings"
	"testing"
)

// capabilityRow is a row of the table in docs/capabilities.md.
type capabilityRow struct {
	level, criterion string
	tests            []string
}

// inBackticks is a path in a table.
var inBackticks = regexp.MustCompile("`([^`]+)`")

// capabilityRows reads the table: level, criterion, tests. A row without a level belongs to the one above.
func capabilityRows(t *testing.T, page string) []capabilityRow {
	t.Helper()
	var rows []capabilityRow
	level := ""
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.Contains(line, "---") || strings.TrimSpace(cells[1]) == "level" {
			continue
		}
		if l := strings.Trim(cells[1], " *"); l != "" {
			level = l
		}
		row := capabilityRow{level: level, criterion: strings.TrimSpace(cells[2])}
		for _, match := range inBackticks.FindAllStringSubmatch(cells[3], -1) {
			row.tests = append(row.tests, match[1])
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		t.Fatal("the page has no table")
	}
	return rows
}
