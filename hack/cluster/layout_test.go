// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// buildApp builds the program that the tests' pods run and returns its path.
func buildApp(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "app")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, "./testdata/app")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, output)
	}
	return program
}

// writeLayout writes an OCI image layout, as any tool would, whose image holds one program.
func writeLayout(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	layer := blob(t, dir, "application/vnd.oci.image.layer.v1.tar", archive(t, program))
	config := blob(t, dir, "application/vnd.oci.image.config.v1+json", encode(t, map[string]any{
		"os": "linux", "architecture": runtime.GOARCH, "config": map[string]any{"User": "65532"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []any{layer["digest"]}},
	}))
	manifest := blob(t, dir, "application/vnd.oci.image.manifest.v1+json", encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": []any{layer},
	}))
	index := encode(t, map[string]any{"schemaVersion": 2, "manifests": []any{manifest}})
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "index.json"), index, 0o600),
		os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// blob stores content in a layout and returns what refers to it.
func blob(t *testing.T, dir, mediaType string, content []byte) map[string]any {
	t.Helper()
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:])
	folder := filepath.Join(dir, "blobs", "sha256")
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"mediaType": mediaType, "digest": "sha256:" + name, "size": len(content)}
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// archive packs a program as the file /app.
func archive(t *testing.T, program string) []byte {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	err = w.WriteHeader(&tar.Header{Name: "app", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))})
	if err == nil {
		_, err = w.Write(content)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
