// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"io/fs"
	"regexp"
	"strings"
)

// Ways are the ways out that the documentation gives for reasons of conditions.
type Ways struct {
	exact  map[string]string // by "Condition Reason"
	common map[string]string // by reason: those of every kind, and of a page with a table of reasons
}

var (
	code = regexp.MustCompile("`([^`]+)`")
	link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	word = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)
)

// ReadWays reads the tables of reasons in the pages of the documentation: their header names a reason in the first cell, and
// what to do in the last one.
func ReadWays(pages fs.FS, kind string) Ways {
	ways := Ways{exact: map[string]string{}, common: map[string]string{}}
	ways.read(pages, "troubleshooting.md")
	ways.read(pages, "kinds/"+kind+".md") // of a kind that is newer than this program there is none
	return ways
}

func (w Ways) read(pages fs.FS, page string) {
	text, err := fs.ReadFile(pages, page)
	if err != nil {
		return
	}
	var add func(cells []string)
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		cells := cellsOf(line)
		switch {
		case strings.HasPrefix(line, "|---"):
		case len(cells) < 2:
			add = nil
		case i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|---"):
			add = w.reader(cells)
		case add != nil:
			add(cells)
		}
	}
}

// reader returns what reads the rows of a table with a header; nil if it is not about reasons.
func (w Ways) reader(header []string) func(cells []string) {
	first, last := header[0], header[len(header)-1]
	switch {
	case strings.Contains(first, "reason") && strings.Contains(last, "do"):
		return w.add
	case first == "condition" && strings.HasPrefix(last, "otherwise"):
		return w.addCondition
	}
	return nil
}

// addCondition reads a row about a condition: its last cell has reasons, each with what it means or what to do.
func (w Ways) addCondition(cells []string) {
	for _, part := range strings.Split(cells[len(cells)-1], " · ") {
		reason, do, found := strings.Cut(part, "`: ")
		reason, quoted := strings.CutPrefix(reason, "`")
		key := cells[0] + " " + reason
		if found && quoted && word.MatchString(reason) && w.exact[key] == "" {
			w.exact[key] = plainText(do)
		}
	}
}

func cellsOf(line string) []string {
	line, found := strings.CutPrefix(strings.TrimSpace(line), "|")
	if !found {
		return nil
	}
	cells := strings.Split(strings.TrimSuffix(line, "|"), " |")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func (w Ways) add(cells []string) {
	condition, _, _ := strings.Cut(cells[0], " ")
	do := plainText(cells[len(cells)-1])
	for _, match := range code.FindAllStringSubmatch(cells[0], -1) {
		reason := match[1]
		switch {
		case !word.MatchString(reason):
		case word.MatchString(condition):
			w.exact[condition+" "+reason] = do
		default:
			w.common[reason] = do
		}
	}
}

// plainText removes links and marks of code from a text.
func plainText(text string) string {
	return strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "`", "")
}

// Out returns what to do about a reason of a condition; empty if the documentation does not say.
func (w Ways) Out(condition, reason string) string {
	if do := w.exact[condition+" "+reason]; do != "" {
		return do
	}
	return w.common[reason]
}
