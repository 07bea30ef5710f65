// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// wantTaken compares the namespaces that are to be read, which are not any more then.
func wantTaken(t *testing.T, s *Source, why string, names ...string) {
	t.Helper()
	got, _ := s.take()
	slices.Sort(got)
	if !slices.Equal(got, names) {
		t.Errorf("%s: %v, not %v", why, got, names)
	}
}

// Quotas change with every pod: their namespaces are read once a second at most, and sooner if something else changed.
func TestQuotasAreReadOnceASecond(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	s := &Source{clock: now, dirty: map[string]bool{}, usage: map[string]bool{}, wake: make(chan struct{}, 1)}
	s.markUsage("a")
	wantTaken(t, s, "the first time", "a")
	s.markUsage("a")
	s.markUsage("b")
	wantTaken(t, s, "at once")
	s.mark("b", "c")
	wantTaken(t, s, "something else", "b", "c")
	if d, waiting := s.usageDue(); !waiting || d != usageInterval {
		t.Errorf("due in %s, %v", d, waiting)
	}
	now.Step(usageInterval)
	wantTaken(t, s, "a second later", "a", "b")
	if _, waiting := s.usageDue(); waiting {
		t.Error("nothing waits any more")
	}
}
