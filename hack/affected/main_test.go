// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/acme/platform-operator/hack/affected/change"
)

func TestSummary(t *testing.T) {
	c, err := change.Since(".", "")
	if err != nil {
		t.Skip(err) // sources without their repository
	}
	b := &strings.Builder{}
	if err := (options{}).report(b, "."); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{c.Why, "Changed: ", " files of ", "Packages to test: ", "Guarantees to check: "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b)
		}
	}
}
