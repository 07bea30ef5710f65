// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// recipeOf writes a Dockerfile and the files that it copies, and returns its path and the build context.
func recipeOf(t *testing.T, text string) (dockerfile, buildContext string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"Dockerfile": text, "bundle/manifests/b.yaml": "b", "bundle/manifests/a.yaml": "a", "bundle/metadata/deep/c.yaml": "c", "other.txt": "x",
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o750), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "Dockerfile"), dir
}

const copyOnly = `# a comment
FROM scratch

LABEL example.com/one=1
LABEL example.com/two=a=b
COPY bundle/manifests /manifests/
COPY bundle/metadata /metadata/
`

func TestImageOfFiles(t *testing.T) {
	dockerfile, dir := recipeOf(t, copyOnly)
	image, err := buildFiles(dockerfile, dir)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if l := config.Config.Labels; len(l) != 2 || l["example.com/one"] != "1" || l["example.com/two"] != "a=b" {
		t.Errorf("the labels are %v", l)
	}
	content := mutate.Extract(image)
	defer content.Close() //nolint:errcheck // it was only read
	var found []string
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, header.Name+"="+string(text))
		if header.Uid != 0 || !header.ModTime.Equal(time.Unix(0, 0)) || header.Mode&0o444 != 0o444 {
			t.Errorf("%s: owner %d, time %s, mode %o", header.Name, header.Uid, header.ModTime, header.Mode)
		}
	}
	want := []string{
		"manifests=", "manifests/a.yaml=a", "manifests/b.yaml=b", "metadata=", "metadata/deep=", "metadata/deep/c.yaml=c",
	}
	if !slices.Equal(found, want) {
		t.Errorf("want %q, got %q", want, found)
	}
}

func digestOf(t *testing.T, image v1.Image) string {
	t.Helper()
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// TestRun checks both forms that are written.
func TestRun(t *testing.T) {
	dockerfile, buildContext := recipeOf(t, copyOnly)
	dir := filepath.Join(t.TempDir(), "new", "image")
	for range 2 { // what is there is replaced
		if err := run(dockerfile, buildContext, "registry.acme.com/bundle:v1.2.3", dir); err != nil {
			t.Fatal(err)
		}
	}
	archived, err := tarball.ImageFromPath(dir+".tar", nil)
	if err != nil {
		t.Fatal(err)
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := top.IndexManifest()
	if err != nil || len(outer.Manifests) != 1 {
		t.Fatalf("the layout must hold one index: %v, %v", outer, err)
	}
	index, err := top.ImageIndex(outer.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := index.IndexManifest()
	if err != nil || len(inner.Manifests) != 1 {
		t.Fatalf("the index must hold one image: %v, %v", inner, err)
	}
	fromLayout, err := index.Image(inner.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	for name, image := range map[string]v1.Image{"archive": archived, "layout": fromLayout} {
		config, err := image.ConfigFile()
		if err != nil || config.Config.Labels["example.com/one"] != "1" {
			t.Errorf("%s: %v, %v", name, config, err)
		}
		if err := validate.Image(image); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSameFilesGiveTheSameDigest(t *testing.T) {
	dockerfile, dir := recipeOf(t, copyOnly)
	first, err := buildFiles(dockerfile, dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "bundle", "manifests", "a.yaml")
	past := time.Now().Add(-48 * time.Hour)
	if err := errors.Join(os.Chtimes(file, past, past), os.Chmod(file, 0o640)); err != nil {
		t.Fatal(err)
	}
	second, err := buildFiles(dockerfile, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	third, err := buildFiles(dockerfile, dir)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := digestOf(t, first), digestOf(t, second), digestOf(t, third)
	if a != b || a == c {
		t.Errorf("the digest follows the content and nothing else; got %s, %s and, changed, %s", a, b, c)
	}
}

func TestOtherDockerfilesAreRefused(t *testing.T) {
	for _, line := range []string{
		"FROM golang:1.26", "RUN make", "LABEL one", "COPY bundle/manifests manifests", "COPY a b /c/", "COPY --from=x /a /b/",
		"COPY absent /absent/", "USER 1",
	} {
		dockerfile, dir := recipeOf(t, copyOnly+line+"\n")
		if _, err := buildFiles(dockerfile, dir); err == nil {
			t.Errorf("%q must be refused", line)
		} else if !strings.HasPrefix(line, "COPY absent") && !strings.Contains(err.Error(), "Dockerfile:8: ") {
			t.Errorf("%q: the error does not name the line: %v", line, err)
		}
	}
	dockerfile, dir := recipeOf(t, "FROM scratch\n")
	if _, err := buildFiles(dockerfile, dir); err == nil {
		t.Error("an image of nothing must be refused")
	}
}
