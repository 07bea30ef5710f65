// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New())
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func get(t *testing.T, reference string) *remote.Descriptor {
	t.Helper()
	parsed, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	found, err := remote.Get(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// writeLayout makes a layout that holds what is to be added.
func writeLayout(t *testing.T, add ...mutate.IndexAddendum) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := layout.Write(dir, mutate.AppendManifests(empty.Index, add...)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestLayouts(t *testing.T) {
	first, err1 := random.Image(64, 1)
	second, err2 := random.Image(64, 1)
	index, err3 := random.Index(64, 1, 2)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	both := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: first}, mutate.IndexAddendum{Add: second})
	for reason, test := range map[string]struct {
		dir  string
		want interface{ Digest() (v1.Hash, error) }
	}{
		"an image":       {writeLayout(t, mutate.IndexAddendum{Add: first}), first},
		"an index":       {writeLayout(t, mutate.IndexAddendum{Add: index}), index},
		"several images": {writeLayout(t, mutate.IndexAddendum{Add: first}, mutate.IndexAddendum{Add: second}), both},
	} {
		t.Run(reason, func(t *testing.T) {
			to := serve(t) + "/team/app:v1"
			if err := push(t.Context(), source{layout: test.dir}, to); err != nil {
				t.Fatal(err)
			}
			want, err := test.want.Digest()
			if err != nil {
				t.Fatal(err)
			}
			if got := get(t, to).Digest; got != want {
				t.Errorf("pushed %s, want %s", got, want)
			}
		})
	}
}

func TestABadOrderIsRefused(t *testing.T) {
	for reason, test := range map[string]struct{ dir, to, says string }{
		"no layout":       {t.TempDir(), serve(t) + "/app:v1", "reading the layout"},
		"an empty layout": {writeLayout(t), serve(t) + "/app:v1", "holds no image"},
		"no tag":          {writeLayout(t), serve(t) + "/app", "where to push"},
	} {
		if err := push(t.Context(), source{layout: test.dir}, test.to); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v, want it to say %q", reason, err, test.says)
		}
	}
}

// compile builds a program and returns its path.
func compile(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(\"hello\") }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "hello")
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-o", program}, flags...), source)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compiling: %v\n%s", err, output)
	}
	return program
}

func TestAProgramBecomesAnImage(t *testing.T) {
	program, to := compile(t), serve(t)+"/hello:v1"
	if err := push(t.Context(), source{binary: program}, to); err != nil {
		t.Fatal(err)
	}
	image, err := get(t, to).Image()
	if err != nil {
		t.Fatal(err)
	}
	config, errConfig := image.ConfigFile()
	layers, errLayers := image.Layers()
	if err := errors.Join(errConfig, errLayers); err != nil || len(layers) != 1 {
		t.Fatalf("%v, %d layers", err, len(layers))
	}
	if c := config.Config; c.User != "65532:65532" || len(c.Entrypoint) != 1 || c.Entrypoint[0] != "/hello" || config.OS != "linux" {
		t.Errorf("the configuration is %+v", config)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(content)
	header, err := archive.Next()
	if err != nil || header.Name != "hello" || header.Mode != 0o755 {
		t.Fatalf("the file is %+v, %v", header, err)
	}
	packed, errPacked := io.ReadAll(archive)
	original, errOriginal := os.ReadFile(program)
	if err := errors.Join(errPacked, errOriginal); err != nil || string(packed) != string(original) {
		t.Errorf("the file is not the program (%v)", err)
	}
}

func TestAProgramThatWouldNotStartIsRefused(t *testing.T) {
	for program, says := range map[string]string{
		compile(t, "-buildmode=pie"):         "linked dynamically",
		filepath.Join(t.TempDir(), "absent"): "no such file",
	} {
		if err := push(t.Context(), source{binary: program}, serve(t)+"/x:v1"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want it to say %q", err, says)
		}
	}
}

func TestAFolderBecomesAnImage(t *testing.T) {
	dir, to := t.TempDir(), serve(t)+"/tools:v1"
	err := errors.Join(
		os.Mkdir(filepath.Join(dir, "tmp"), 0o700), os.Chmod(filepath.Join(dir, "tmp"), 0o777|os.ModeSticky),
		os.WriteFile(filepath.Join(dir, "run"), []byte("#!/bin/sh\n"), 0o700), os.Chmod(filepath.Join(dir, "run"), 0o755),
		os.Symlink("run", filepath.Join(dir, "again")))
	if err != nil {
		t.Fatal(err)
	}
	from := source{tree: folder{dir: dir, entrypoint: []string{"/run", "--well"}, labels: map[string]string{"a": "b"}}}
	if err := push(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	first := get(t, to)
	image, err := first.Image()
	if err != nil {
		t.Fatal(err)
	}
	config, errConfig := image.ConfigFile()
	layers, errLayers := image.Layers()
	if err := errors.Join(errConfig, errLayers); err != nil || len(layers) != 1 {
		t.Fatalf("%v, %d layers", err, len(layers))
	}
	if c := config.Config; strings.Join(c.Entrypoint, " ") != "/run --well" || c.Labels["a"] != "b" || c.User != nobody {
		t.Errorf("the configuration is %+v", config)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	var held []string
	archive := tar.NewReader(content)
	for header, err := archive.Next(); err == nil; header, err = archive.Next() {
		held = append(held, fmt.Sprintf("%s %o %s of %d", header.Name, header.Mode, header.Linkname, header.Uid))
	}
	if want := "again 777 run of 0, run 755  of 0, tmp 1777  of 0"; strings.Join(held, ", ") != want {
		t.Errorf("the image holds %q, want %s", held, want)
	}
	past := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "run"), past, past); err != nil {
		t.Fatal(err)
	}
	if err := push(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if again := get(t, to); again.Digest != first.Digest {
		t.Errorf("the same content gave %s, then %s", first.Digest, again.Digest)
	}
}
