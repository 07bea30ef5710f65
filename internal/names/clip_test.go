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
