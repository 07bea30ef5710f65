// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"testing"
)

// A flood in one namespace makes the operator forget nothing of others, and takes no more memory than there is.
func TestWhatIsRememberedOfANamespaceSurvivesAFloodInAnother(t *testing.T) {
	c := NewCache[int, string](10)
	for i := range 3 {
		c.Add("quiet", i, fmt.Sprint(i))
	}
	for i := range 1000 {
		c.Add("flood", i, "")
		c.Add("flood", 0, "again")
	}
	for i := range 1000 {
		last, known := c.Get("flood", i)
		if kept := i == 0 || i > 993; known != kept || i == 0 && last != "again" {
			t.Errorf("flood %d: %v, %v", i, last, known)
		}
	}
	for i := range 3 {
		if last, known := c.Get("quiet", i); !known || last != fmt.Sprint(i) {
			t.Errorf("quiet %d: %v, %v", i, last, known)
		}
	}
	for i := range 1000 {
		c.Add(fmt.Sprint("n", i), 0, "")
	}
	if c.total != 10 || len(c.of) > 10 {
		t.Errorf("%d values of %d namespaces are kept", c.total, len(c.of))
	}
	if _, known := c.Get("unknown", 0); known {
		t.Error("an unknown one is known")
	}
}

func TestWhatIsRemovedIsForgotten(t *testing.T) {
	c := NewCache[string, int](10)
	c.Add("ns", "a", 1)
	c.Add("ns", "b", 2)
	for _, key := range []string{"a", "a", "unknown"} {
		c.Remove("ns", key)
	}
	if _, known := c.Get("ns", "a"); known || c.total != 1 {
		t.Errorf("known %t, %d values are kept", known, c.total)
	}
	c.Remove("ns", "b")
	c.Remove("other", "b")
	if c.total != 0 || len(c.of) != 0 {
		t.Errorf("%d values of %d namespaces are kept", c.total, len(c.of))
	}
}
