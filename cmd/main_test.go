// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestBareImage shows that the program brings what an image with nothing else in it lacks.
func TestBareImage(t *testing.T) {
	const inside = "TEST_IN_BARE_IMAGE"
	if os.Getenv(inside) == "" {
		nowhere := t.TempDir()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = []string{inside + "=yes", "SSL_CERT_FILE=" + nowhere + "/none", "SSL_CERT_DIR=" + nowhere, "ZONEINFO=" + nowhere}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		t.Fatal(err)
	}
	if pool.Equal(x509.NewCertPool()) {
		t.Error("there are no public certificate authorities")
	}
	if _, err := time.LoadLocation("Europe/Berlin"); err != nil {
		t.Error(err)
	}
}

// TestTheManagerServesNoViews keeps the manager small, and apart from the program that answers every user (cmd/views).
func TestTheManagerServesNoViews(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(output))
	if len(packages) < 100 {
		t.Fatalf("only %d packages are listed", len(packages))
	}
	for _, name := range packages {
		if strings.HasPrefix(name, "k8s.io/apiserver/") || strings.HasPrefix(name, "github.com/acme/platform-operator/internal/views") {
			t.Errorf("the manager imports %s", name)
		}
	}
}
