// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package places

import "testing"

func TestServiceAccountsOfANamespaceAreOne(t *testing.T) {
	p := New(10, 2)
	for i, tc := range []struct {
		name string
		want bool
	}{
		{"system:serviceaccount:a:x", true},
		{"system:serviceaccount:a:y", true},
		{"system:serviceaccount:a:z", false},
		{"system:serviceaccount:ab:x", true},
		{"sam", true},
	} {
		if _, ok := p.Take(tc.name, 1); ok != tc.want {
			t.Errorf("%d: %s gets a place: %v", i, tc.name, ok)
		}
	}
}

func TestPlacesAreGivenBack(t *testing.T) {
	p := New(10, 6)
	taken := func(name string, all, user int) {
		t.Helper()
		if a, u := p.Taken(name); a != all || u != user {
			t.Errorf("%d are taken, %d by %s, want %d and %d", a, u, name, all, user)
		}
	}
	four, ok := p.Take("sam", 4)
	if _, more := p.Take("sam", 3); !ok || more || !p.Exhausted("sam", 3) || p.Exhausted("sam", 2) {
		t.Error("sam may have 6 and no more")
	}
	two, _ := p.Take("sam", 2)
	if _, more := p.Take("kim", 5); more || p.Exhausted("kim", 5) {
		t.Error("there are 10 places, and no more")
	}
	taken("sam", 6, 6)
	four()
	four() // counts once
	taken("sam", 2, 2)
	two()
	taken("sam", 0, 0)
	if len(p.byUser) != 0 {
		t.Errorf("users without places are kept: %v", p.byUser)
	}
}
