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
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra/doc"
	"sigs.k8s.io/yaml"
)

// platforms are those that archives are made for.
var platforms = []string{"darwin-amd64", "darwin-arm64", "linux-amd64", "linux-arm64", "windows-amd64", "windows-arm64"}

// completion is what kubectl runs to complete the arguments of the plugin.
const completion = "#!/bin/sh\nexec kubectl acme __complete \"$@\"\n"

// file is a file in an archive.
type file struct {
	name    string
	content []byte
	mode    int64
}

// pack makes an archive for each platform, and a manifest of krew.
func pack(folder, version, url string) error {
	shared, err := sharedFiles(version)
	if err != nil {
		return err
	}
	var entries []map[string]any
	for _, platform := range platforms {
		goos, arch, _ := strings.Cut(platform, "-")
		program, write, ending := "kubectl-acme", tarGz, ".tar.gz"
		if goos == "windows" {
			program, write, ending = "kubectl-acme.exe", zipped, ".zip"
		}
		content, err := os.ReadFile(filepath.Join(folder, platform, program))
		if err != nil {
			return fmt.Errorf("reading the program for %s: %w", platform, err)
		}
		archive, err := write(append([]file{{program, content, 0o755}}, shared...))
		if err != nil {
			return fmt.Errorf("packing the program for %s: %w", platform, err)
		}
		name := "kubectl-acme-" + platform + ending
		if err := os.WriteFile(filepath.Join(folder, name), archive, 0o644); err != nil {
			return err
		}
		sum := sha256.Sum256(archive)
		entries = append(entries, map[string]any{
			"selector": map[string]any{"matchLabels": map[string]string{"os": goos, "arch": arch}},
			"uri":      strings.TrimSuffix(url, "/") + "/" + version + "/" + name, "sha256": hex.EncodeToString(sum[:]), "bin": program,
		})
	}
	return krew(filepath.Join(folder, "acme.yaml"), version, entries)
}

func krew(path, version string, entries []map[string]any) error {
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin", "metadata": map[string]string{"name": "acme"},
		"spec": map[string]any{
			"version": version, "platforms": entries, "shortDescription": root(version).Short,
			"description": root(version).Long, "caveats": "The cluster needs the Acme Platform Operator.",
		},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// sharedFiles are those that every archive has: the licence, the script for completion and the man pages.
func sharedFiles(version string) ([]file, error) {
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	files := []file{{"LICENSE", licence, 0o644}, {"kubectl_complete-acme", []byte(completion), 0o755}}
	folder, err := os.MkdirTemp("", "man-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	day := time.Unix(0, 0).UTC() // the same on every day
	header := &doc.GenManHeader{Section: "1", Source: "Acme Platform Operator " + version, Manual: "kubectl acme", Date: &day}
	if err := doc.GenManTree(root(version), header, folder); err != nil {
		return nil, fmt.Errorf("writing the man pages: %w", err)
	}
	pages, err := os.ReadDir(folder)
	for _, page := range pages {
		content, failed := os.ReadFile(filepath.Join(folder, page.Name()))
		if failed != nil {
			return nil, failed
		}
		files = append(files, file{"man/man1/" + page.Name(), content, 0o644})
	}
	return slices.Clip(files), err
}

func tarGz(files []file) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		if err := archive.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	err := compressed.Close()
	return out.Bytes(), err
}

func zipped(files []file) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, f := range files {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}
