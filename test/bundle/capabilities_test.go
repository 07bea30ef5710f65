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
