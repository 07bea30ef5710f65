// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/schematest"
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code) //nolint:forbidigo // That is how a TestMain ends.
}

// run generates the CustomResourceDefinition, which is not among the others while the group is not served, as make manifests does.
func run(m *testing.M) (code int, err error) {
	dist := testenv.RepoFile("dist") // of the module, as controller-gen wants it
	if err := os.MkdirAll(dist, 0o700); err != nil {
		return 0, err
	}
	folder, err := os.MkdirTemp(dist, "scheduling-")
	if err != nil {
		return 0, err
	}
	defer func() {
		if gone := os.RemoveAll(folder); err == nil {
			err = gone
		}
	}()
	if err := copyServed(folder); err != nil {
		return 0, err
	}
	crds, config := filepath.Join(folder, "crds"), filepath.Join(folder, "config")
	for _, list := range []string{"crd", "samples", "rbac"} {
		if err := os.MkdirAll(filepath.Join(config, list), 0o700); err != nil {
			return 0, err
		}
		if err := os.WriteFile(filepath.Join(config, list, "kustomization.yaml"), []byte("resources:\n"), 0o600); err != nil {
			return 0, err
		}
	}
	for _, command := range [][]string{
		{testenv.RepoFile("bin", "controller-gen"), "crd", "paths=" + folder, "output:crd:artifacts:config=" + crds},
		{"go", "run", "github.com/acme/platform-operator/hack/crds", "--folder=" + crds, "--config=" + config},
	} {
		if output, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, output)
		}
	}
	return schematest.MainWith(m, crds), nil
}

// copyServed copies the package with the markers of a group that is served.
func copyServed(folder string) error {
	files, err := filepath.Glob("*.go")
	if err != nil {
		return err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		const marker = "// +kubebuilder:object:generate=true\n"
		text = bytes.Replace(text, []byte(marker), []byte(marker+"// +groupName=scheduling.acme.com\n"), 1)
		if err := os.WriteFile(filepath.Join(folder, file), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
