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

package main

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestStep checks the line of work that takes a while, where lines are not redrawn and where they are.
func TestStep(t *testing.T) {
	for reason, test := range map[string]struct {
		live bool
		err  error
		want string // a pattern, since the times are real
	}{
		"plain":         {false, nil, `^  thing {20}done after \d+\.\ds\n$`},
		"plain, failed": {false, errors.New("no"), `^  thing {20}failed after \d+\.\ds\n$`},
		"live": {
			true, nil,
			`^(\r\x1b\[K  thing {20}doing … \(\d+s\)\n\x1b\[1A)+\r\x1b\[K  thing {20}done after \d+\.\ds\n$`,
		},
	} {
		t.Run(reason, func(t *testing.T) {
			var out bytes.Buffer
			c := console{out: &out, live: test.live, width: 80}
			err := c.step("thing", "doing", func() (string, error) { return "done", test.err })
			if !errors.Is(err, test.err) || !regexp.MustCompile(test.want).MatchString(out.String()) {
				t.Errorf("error %v, want %v; it wrote\n%q, want\n%s", err, test.err, out.String(), test.want)
			}
		})
	}
}

// TestBoard checks that a line is written for each change and no more, where lines are not redrawn.
func TestBoard(t *testing.T) {
	var out bytes.Buffer
	b := console{out: &out}.board("one", "two")
	b.set(0, "waiting", false)
	b.set(1, "waiting", false)
	b.draw()
	b.draw()
	b.set(1, "Ready", true)
	b.draw()
	want := []string{"one waiting", "two waiting", "two Ready"}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one: waiting"}, b.open()); diff != "" {
		t.Errorf("not done (-want +got):\n%s", diff)
	}
}

// TestLiveLineFits checks that no redrawn line is broken by the terminal: the next redrawing would go astray.
func TestLiveLineFits(t *testing.T) {
	for _, title := range []string{"short", strings.Repeat("long ", 40)} {
		var out bytes.Buffer
		b := console{out: &out, live: true, width: 60}.board(title)
		b.set(0, strings.Repeat("waiting … ", 20), false)
		b.draw()
		line := strings.TrimSuffix(strings.TrimPrefix(out.String(), "\r\x1b[K"), "\n")
		if n := utf8.RuneCountInString(line); n != 60 {
			t.Errorf("%d characters instead of 60: %q", n, line)
		}
	}
}

func TestWrap(t *testing.T) {
	for reason, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing":               {"", []string{""}},
		"fits":                  {"one two", []string{"one two"}},
		"breaks at a space":     {"one two three", []string{"one two", "three"}},
		"a long word stays":     {"a internationalization b", []string{"a", "internationalization", "b"}},
		"counts characters":     {"über öl äh", []string{"über öl äh"}},
		"not at every space":    {"one" + nbsp + "two three four", []string{"one two", "three four"}},
		"white space is folded": {" one\n two ", []string{"one two"}},
		"exactly the width":     {"12345 6789", []string{"12345 6789"}},
		"one more than that":    {"12345 67890", []string{"12345", "67890"}},
	} {
		t.Run(reason, func(t *testing.T) {
			if diff := cmp.Diff(test.want, wrap(test.text, 10)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}
