// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/testenv"
)

func TestTheReferenceIsUpToDate(t *testing.T) {
	page, err := os.ReadFile(testenv.RepoFile("docs", "reference", "kubectl-acme.md"))
	if err != nil || string(page) != referenceOf(root("v0.0.0")) {
		t.Errorf("%v; run make docs", err)
	}
	if home, err := os.UserHomeDir(); err != nil || strings.Contains(string(page), home+"/") {
		t.Errorf("the reference has the home folder of a machine: %v", err)
	}
}

func TestPack(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(testenv.RepoFile())
	for _, platform := range platforms {
		name := "kubectl-acme"
		if strings.HasPrefix(platform, "windows") {
			name += ".exe"
		}
		if err := errors.Join(os.Mkdir(filepath.Join(folder, platform), 0o755),
			os.WriteFile(filepath.Join(folder, platform, name), []byte("the program for "+platform), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := pack(folder, "v1.2.3", "https://files.example.com/acme/"); err != nil {
		t.Fatal(err)
	}
	first := manifest(t, folder)
	for _, p := range first.Spec.Platforms {
		platform := p.Selector.MatchLabels["os"] + "-" + p.Selector.MatchLabels["arch"]
		name := strings.TrimPrefix(p.URI, "https://files.example.com/acme/v1.2.3/")
		content, err := os.ReadFile(filepath.Join(folder, name))
		if sum := sha256.Sum256(content); err != nil || hex.EncodeToString(sum[:]) != p.SHA256 {
			t.Errorf("%s has the digest %x, not %s: %v", name, sum, p.SHA256, err)
		}
		files := unpack(t, name, content)
		for _, want := range []string{p.Bin, "LICENSE", "kubectl_complete-acme", "man/man1/kubectl-acme.1", "man/man1/kubectl-acme-status.1"} {
			if len(files[want]) == 0 {
				t.Errorf("there is no %s in %s", want, name)
			}
		}
		if files[p.Bin] != "the program for "+platform {
			t.Errorf("%s has %q", name, files[p.Bin])
		}
	}
	if len(first.Spec.Platforms) != 6 || first.Spec.Version != "v1.2.3" {
		t.Errorf("the manifest is %+v", first)
	}
	if err := pack(folder, "v1.2.3", "https://files.example.com/acme/"); err != nil {
		t.Fatal(err)
	}
	if again := manifest(t, folder); !slices.EqualFunc(first.Spec.Platforms, again.Spec.Platforms, func(a, b platform) bool { return a.SHA256 == b.SHA256 }) {
		t.Error("the same programs give other archives")
	}
}

type platform struct {
	Selector         struct{ MatchLabels map[string]string }
	URI, SHA256, Bin string
}

type plugin struct {
	Spec struct {
		Version   string
		Platforms []platform
	}
}

func manifest(t *testing.T, folder string) (m plugin) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "acme.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func unpack(t *testing.T, name string, content []byte) map[string]string {
	t.Helper()
	files := map[string]string{}
	read := func(name string, r io.Reader, err error) {
		text, failed := io.ReadAll(r)
		if err = errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	if strings.HasSuffix(name, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			read(f.Name, r, err)
		}
		return files
	}
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(z); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		read(header.Name, archive, nil)
	}
}
