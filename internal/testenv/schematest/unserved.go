// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schematest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/acme/platform-operator/internal/testenv"
)

// Unserved generates the CustomResourceDefinitions of a group that is not served, as make manifests does for the others, into a
// folder that remove removes.
func Unserved(group string) (crds string, remove func() error, err error) {
	dist := testenv.RepoFile("dist") // of the module, as controller-gen wants it
	if err := os.MkdirAll(dist, 0o700); err != nil {
		return "", nil, err
	}
	folder, err := os.MkdirTemp(dist, group+"-")
	if err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(folder) }
	crds = filepath.Join(folder, "crds")
	if err := generate(group, folder, crds); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return crds, remove, nil
}

func generate(group, folder, crds string) error {
	if err := copyServed(testenv.RepoFile("api", group, "v1alpha1"), folder, group); err != nil {
		return err
	}
	config := filepath.Join(folder, "config")
	for _, list := range []string{"crd", "samples", "rbac"} {
		if err := os.MkdirAll(filepath.Join(config, list), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(config, list, "kustomization.yaml"), []byte("resources:\n"), 0o600); err != nil {
			return err
		}
	}
	for _, command := range [][]string{
		{testenv.RepoFile("bin", "controller-gen"), "crd", "paths=" + folder, "output:crd:artifacts:config=" + crds},
		{"go", "run", "github.com/acme/platform-operator/hack/crds", "--folder=" + crds, "--config=" + config},
	} {
		if output, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, output)
		}
	}
	return nil
}

// copyServed copies a package with the markers of a group that is served.
func copyServed(from, to, group string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
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
		text = bytes.Replace(text, []byte(marker), []byte(marker+"// +groupName="+group+".acme.com\n"), 1)
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
