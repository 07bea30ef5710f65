// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"slices"
	"testing"
)

// numbers are worlds from 1 on, of which each can be doubled, or have 3 added.
func numbers(most, depth int, wrong func(int) string) Space[int, int] {
	return Space[int, int]{First: 1, Key: Same[int], Depth: depth, Wrong: wrong, Next: func(n int, do func(string, int)) {
		for by, x := range map[string]int{"doubled": 2 * n, "3 more": n + 3} {
			if x <= most {
				do(by, x)
			}
		}
	}}
}

func TestSearch(t *testing.T) {
	is := func(bad int) func(int) string {
		return func(n int) string {
			if n == bad {
				return "it is bad"
			}
			return ""
		}
	}
	if way, _ := numbers(100, 0, is(10)).Search(); !slices.Equal(way, []string{"at first: 1", "doubled: 2", "3 more: 5", "doubled: 10", "it is bad"}) &&
		!slices.Equal(way, []string{"at first: 1", "3 more: 4", "3 more: 7", "3 more: 10", "it is bad"}) {
		t.Errorf("the way is %q", way)
	}
	if way, worlds := numbers(10, 0, is(3)).Search(); way != nil || worlds != 7 { // 1 2 4 5 7 8 10
		t.Errorf("%d worlds, and the way %q", worlds, way)
	}
	if way, worlds := numbers(100, 2, is(10)).Search(); way != nil || worlds != 6 { // 1 | 2 4 | 5 7 8
		t.Errorf("with two steps %d worlds, and the way %q", worlds, way)
	}
}
