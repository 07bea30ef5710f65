// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package names_test

import (
	"testing"

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
