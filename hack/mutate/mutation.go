// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutation is one small edit that breaks the product, and the tests that have to notice.
type mutation struct {
	breaks string
	// pkg is the folder of the package whose tests kill it. run and focus select some of them: test functions, as in
	// go test -run, or specs, as in -ginkgo.focus.
	pkg, run, focus string
	// quick: no test of them needs a control plane.
	quick bool
	edits []edit
}

// edit replaces a text that occurs once in a file.
type edit struct {
	file     string
	old, new []string // lines
}

// readMutations reads the files of a folder (docs/develop/mutations.md says what is in them).
func readMutations(folder string) ([]mutation, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []mutation
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// parse reads mutations, which are separated by empty lines.
func parse(text string) ([]mutation, error) {
	var all []mutation
	for block := range strings.SplitSeq(text, "\n\n") {
		m := mutation{}
		for line := range strings.SplitSeq(strings.Trim(block, "\n"), "\n") {
			if err := m.read(line); err != nil {
				return nil, err
			}
		}
		switch {
		case m.breaks == "" && len(m.edits) == 0: // a comment
		case m.breaks == "" || m.pkg == "" || len(m.edits) == 0:
			return nil, fmt.Errorf("a mutation needs breaks, killed by, file, and an edit:\n%s", block)
		default:
			all = append(all, m)
		}
	}
	return all, nil
}

// read takes in one line of a mutation.
func (m *mutation) read(line string) error {
	key, value, _ := strings.Cut(line, ": ")
	field := map[string]*string{"breaks": &m.breaks, "killed by": &m.pkg, "run": &m.run, "focus": &m.focus}[key]
	switch {
	case line == "", line[0] == '#':
	case line[0] == '-', line[0] == '+':
		return m.readEdit(line[0], line[1:])
	case field != nil:
		*field = value
	case key == "file":
		m.edits = append(m.edits, edit{file: value})
	case line == "quick: true":
		m.quick = true
	default:
		return fmt.Errorf("%q is no line of a mutation", line)
	}
	return nil
}

// readEdit takes in a line that goes (-) or comes (+). The lines that go come first; others after these begin another edit
// of the same file.
func (m *mutation) readEdit(sign byte, text string) error {
	if len(m.edits) == 0 {
		return fmt.Errorf("there is no file before %q", text)
	}
	last := &m.edits[len(m.edits)-1]
	switch {
	case sign == '+':
		last.new = append(last.new, text)
	case last.new == nil:
		last.old = append(last.old, text)
	default:
		m.edits = append(m.edits, edit{file: last.file, old: []string{text}})
	}
	return nil
}

// apply gives the content of the files that the mutation changes, by their path.
func (m mutation) apply(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, e := range m.edits {
		text, ok := changed[e.file]
		if !ok {
			read, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, fmt.Errorf("it no longer applies: %w", err)
			}
			text = string(read)
		}
		old := strings.Join(e.old, "\n")
		if n := strings.Count(text, old); n != 1 {
			return nil, fmt.Errorf("it no longer applies: %s has %d times, and must have once:\n%s", e.file, n, old)
		}
		changed[e.file] = strings.Replace(text, old, strings.Join(e.new, "\n"), 1)
	}
	return changed, nil
}
