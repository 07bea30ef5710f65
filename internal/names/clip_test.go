// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package names_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/acme/platform-operator/internal/names"
)

func TestClip(t *testing.T) {
	for _, tc := range []struct {
		text string
		n    int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aäb", 2, "a…"}, {"aäb", 3, "aä…"}, {"ä", 1, "…"},
	} {
		if got := names.Clip(tc.text, tc.n); got != tc.want {
			t.Errorf("%q at %d: %q, want %q", tc.text, tc.n, got, tc.want)
		}
	}
}

func TestNote(t *testing.T) {
	for _, tc := range []struct {
		text string
		want int
	}{
		{"", 0}, {strings.Repeat("a", 1024), 1024}, {strings.Repeat("a", 1025), 1024}, {strings.Repeat("ä", 512), 1024}, {"a" + strings.Repeat("ä", 5000), 1024},
	} {
		if got := names.Note(tc.text); len(got) != tc.want || !utf8.ValidString(got) {
			t.Errorf("of %d bytes: %d bytes, want %d", len(tc.text), len(got), tc.want)
		}
	}
}
