// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestTheAgentKnowsNoKubernetes keeps the agent small: it is copied into every pod of a database.
func TestTheAgentKnowsNoKubernetes(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(output))
	if len(packages) < 100 {
		t.Fatalf("only %d packages are listed", len(packages))
	}
	for _, name := range packages {
		ours := strings.HasPrefix(name, "github.com/acme/platform-operator/")
		if strings.HasPrefix(name, "k8s.io/") || strings.HasPrefix(name, "sigs.k8s.io/") ||
			ours && !strings.Contains(name, "/internal/database/") && !strings.HasSuffix(name, "/cmd/database-agent") {
			t.Errorf("the agent imports %s", name)
		}
	}
}
