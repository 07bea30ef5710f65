// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"strings"
)

// statement is one of a file.
type statement struct {
	text string
	line int
}

// ofSession reports whether a statement changes the session only, and has to be run again when a setup is continued.
func (s statement) ofSession() bool {
	word, _, _ := strings.Cut(strings.ToUpper(strings.Join(strings.Fields(s.text), " ")), " ")
	return word == "SET" || word == "USE"
}

// splitter cuts a text of MySQL into statements.
type splitter struct {
	text      string
	at, from  int
	delimiter string
	list      []statement
}

// split cuts a text at semicolons that are in no quotes and no comments, or at what the client's command DELIMITER names.
func split(text string) ([]statement, error) {
	s := &splitter{text: text, delimiter: ";"}
	for s.at < len(s.text) {
		if s.blank() && s.command() {
			continue
		}
		if !s.step() {
			return nil, errors.New("a quote is never closed")
		}
	}
	s.cut()
	return s.list, nil
}

// step moves behind the next part; false if it never ends.
func (s *splitter) step() bool {
	rest := s.text[s.at:]
	switch {
	case strings.HasPrefix(rest, s.delimiter):
		s.cut()
		s.at += len(s.delimiter)
		s.from = s.at
	case strings.ContainsRune("'\"`", rune(rest[0])):
		return s.quoted(rest[0])
	case strings.HasPrefix(rest, "/*"):
		s.skip("*/")
	case strings.HasPrefix(rest, "#"), strings.HasPrefix(rest, "-- "), strings.HasPrefix(rest, "--\n"):
		s.skip("\n")
	default:
		s.at++
	}
	return true
}

func (s *splitter) blank() bool { return strings.TrimSpace(s.text[s.from:s.at]) == "" }

// command reads a command DELIMITER, which is for the client.
func (s *splitter) command() bool {
	line, _, _ := strings.Cut(s.text[s.at:], "\n")
	words := strings.Fields(line)
	if len(words) != 2 || !strings.EqualFold(words[0], "DELIMITER") || strings.TrimLeft(line, " \t") != line {
		return false
	}
	s.delimiter = words[1]
	s.at = min(s.at+len(line)+1, len(s.text))
	s.from = s.at
	return true
}

func (s *splitter) cut() {
	part := s.text[s.from:s.at]
	text := strings.TrimSpace(part)
	if text == "" || onlyComments(text) {
		return
	}
	begin := s.from + strings.Index(part, text)
	s.list = append(s.list, statement{text: text, line: 1 + strings.Count(s.text[:begin], "\n")})
}

// onlyComments reports whether a statement is empty for the server.
func onlyComments(text string) bool {
	for text != "" {
		var end string
		switch {
		case strings.HasPrefix(text, "/*") && !strings.HasPrefix(text, "/*!") && !strings.HasPrefix(text, "/*M!"):
			end = "*/"
		case strings.HasPrefix(text, "#"), strings.HasPrefix(text, "-- "), text == "--", strings.HasPrefix(text, "--\n"):
			end = "\n"
		default:
			return false
		}
		_, text, _ = strings.Cut(text, end)
		text = strings.TrimSpace(text)
	}
	return true
}

// quoted moves behind a quoted text; a doubled quote continues it by itself.
func (s *splitter) quoted(quote byte) bool {
	for i := s.at + 1; i < len(s.text); i++ {
		switch {
		case s.text[i] == '\\' && quote != '`':
			i++
		case s.text[i] == quote:
			s.at = i + 1
			return true
		}
	}
	return false
}

func (s *splitter) skip(end string) {
	rest := s.text[s.at:]
	if i := strings.Index(rest, end); i >= 0 {
		s.at += i + len(end)
		return
	}
	s.at = len(s.text)
}
