// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tutorials

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// block is a fenced block of a page: a file to save or commands with what they print.
type block struct {
	line     int    // of the page
	file     string // name to save the text under, else empty
	text     string // of the file
	commands []command
}

// command is a command of a page and what the page shows of its output.
type command struct {
	line int
	run  string
	show []string
}

var (
	fence    = regexp.MustCompile("^```(.*)$")
	fileName = regexp.MustCompile(`^# ([a-z0-9-]+\.yaml)(: .*)?$`)
)

// parse finds the blocks of a page. Every block has to be one that can be executed: "yaml" with the name of a file in a
// comment on the first line, or "console" with commands after "$ " (and "> " where they continue) and their output.
func parse(page string) ([]block, error) {
	var blocks []block
	var lines []string
	start, language := 0, ""
	for i, line := range strings.Split(page, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case m == nil && start > 0:
			lines = append(lines, line)
		case m != nil && start == 0:
			start, language, lines = i+1, m[1], nil
		case m != nil:
			b, err := newBlock(start, language, lines)
			if err != nil {
				return nil, err
			}
			blocks, start = append(blocks, b), 0
		}
	}
	if start > 0 {
		return nil, fmt.Errorf("line %d: the block does not end", start)
	}
	return blocks, nil
}

func newBlock(line int, language string, lines []string) (block, error) {
	b := block{line: line}
	switch language {
	case "yaml":
		m := fileName.FindStringSubmatch(append(slices.Clone(lines), "")[0])
		if m == nil {
			return b, fmt.Errorf("line %d: the first line of a yaml block names its file: # NAME.yaml", line)
		}
		b.file, b.text = m[1], strings.Join(lines, "\n")+"\n"
		return b, nil
	case "console":
		return b, b.readCommands(lines)
	default:
		return b, fmt.Errorf("line %d: a block of %q is not executed: use yaml or console", line, language)
	}
}

func (b *block) readCommands(lines []string) error {
	for i, line := range lines {
		at := b.line + 1 + i
		if run, ok := strings.CutPrefix(line, "$ "); ok {
			b.commands = append(b.commands, command{line: at, run: run})
			continue
		}
		if len(b.commands) == 0 {
			return fmt.Errorf("line %d: a console block begins with a command after \"$ \"", at)
		}
		last := &b.commands[len(b.commands)-1]
		if more, ok := strings.CutPrefix(line, "> "); ok && len(last.show) == 0 {
			last.run += "\n" + more
			continue
		}
		last.show = append(last.show, line)
	}
	if len(b.commands) == 0 {
		return fmt.Errorf("line %d: the block has no command", b.line)
	}
	return nil
}

// variable is what differs from run to run, with a word that stands for it. The first match of a text counts.
var variable = []struct {
	pattern *regexp.Regexp
	word    string
}{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`\b(\d+[dhms])+\b`), "AGE"},
	{regexp.MustCompile(`-[0-9a-f]{8,10}-[a-z0-9]{5}\b`), "-HASH-HASH"}, // pods of a Deployment
	{regexp.MustCompile(`-\d{12}\b`), "-SLOT"},                          // Jobs of a schedule
	{regexp.MustCompile(`-r[0-9a-f]{8,}\b`), "-RUN"},                    // Jobs of requests
	{regexp.MustCompile(`\b10\.\d+\.\d+\.\d+\b`), "ADDRESS"},
}

// comparable makes lines such that those are equal that differ in times, hashes, addresses and spaces only.
func comparable(lines []string) []string {
	var all []string
	for _, line := range lines {
		for _, v := range variable {
			line = v.pattern.ReplaceAllString(line, v.word)
		}
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// mayFail reports whether the page shows that the command fails.
func (c command) mayFail() bool {
	return slices.ContainsFunc(c.show, func(line string) bool { return line == "no" || strings.HasPrefix(line, "Error") })
}

// onlyReads reports whether the command can be repeated until the cluster is as the page shows it.
func (c command) onlyReads() bool {
	return strings.HasPrefix(c.run, "kubectl get ") || strings.HasPrefix(c.run, "kubectl auth can-i ")
}
