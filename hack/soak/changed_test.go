// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChangedTests(t *testing.T) {
	got := changedTests([]string{
		"docs/page.md", "internal/engine/engine.go", "internal/engine/a_test.go", "internal/engine/b_test.go", "internal/engine/testdata/c_test.go",
		"hack/site/site_test.go", "internal/gone/x_test.go", "cmd/main_test.go",
	}, []string{"example.com/op/internal/engine", "example.com/op/cmd"})
	want := map[string]string{"internal/engine": `/a_test\.go$|/b_test\.go$`, "cmd": `/main_test\.go$`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
