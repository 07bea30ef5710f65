// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package names_test

import (
	"strings"
	"testing"

	"github.com/acme/platform-operator/internal/names"
)

func TestRequest(t *testing.T) {
	long := strings.Repeat("ä", 100000)
	got := names.Request(long)
	if len(got) > 128 || got == names.Request(long+"x") || names.Request("short") != "short" {
		t.Errorf("Request gives %q", got)
	}
}
