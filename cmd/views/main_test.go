// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/acme/platform-operator/internal/views/server"
)

// TestTheViewsKnowNoKind keeps the program apart from the manager: it answers every user, and changes nothing.
func TestTheViewsKnowNoKind(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(output))
	if len(packages) < 100 {
		t.Fatalf("only %d packages are listed", len(packages))
	}
	const ours = "github.com/acme/platform-operator/"
	for _, name := range packages {
		if own, found := strings.CutPrefix(name, ours+"internal/"); found && own != "names" && !strings.HasPrefix(own, "views/") {
			t.Errorf("the views import %s", name)
		}
		if strings.HasPrefix(name, "sigs.k8s.io/controller-runtime") {
			t.Errorf("the views import %s: they reconcile nothing", name)
		}
	}
}

// TestTheViewsHaveNoDefinitions: a CustomResourceDefinition of the group would be served instead of the views.
func TestTheViewsHaveNoDefinitions(t *testing.T) {
	files, err := os.ReadDir("../../config/crd/bases")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no CustomResourceDefinitions", err)
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "views.acme.com") {
			t.Errorf("there is %s", f.Name())
		}
	}
}

func TestFlags(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "somewhere")
	t.Setenv("POD_NAME", "views-1")
	t.Setenv("KUBECONFIG", "")
	var o server.Options
	fs := flag.NewFlagSet("views", flag.ContinueOnError)
	kubeconfig := bindFlags(fs, &o)
	if err := fs.Parse([]string{"--bind-address=127.0.0.1", "--secure-port=20001", "--cert-dir=/c", "--kubeconfig=/k"}); err != nil {
		t.Fatal(err)
	}
	want := server.Options{
		BindAddress: "127.0.0.1", SecurePort: 20001, CertDir: "/c", Namespace: "somewhere", Service: "platform-operator-views", Replica: "views-1",
	}
	if o != want || *kubeconfig != "/k" {
		t.Errorf("the options are %+v, %s", o, *kubeconfig)
	}
}
