// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// pins are the module versions that a go.mod selects, after its replacements.
type pins map[string]module.Version

// readPins reads the go.mod in folder dir of the repository at root. When dir holds programs of our own, their
// version is a digest of their sources.
func readPins(root, dir string) (pins, error) {
	path := filepath.Join(root, dir, "go.mod")
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading pinned versions: %w", err)
	}
	file, err := modfile.Parse(path, data, nil)
	if err != nil {
		return nil, fmt.Errorf("reading pinned versions: %w", err)
	}
	sources, err := digest(filepath.Join(root, dir))
	if err != nil {
		return nil, err
	}
	p := pins{file.Module.Mod.Path: {Path: file.Module.Mod.Path, Version: sources}}
	for _, r := range file.Require {
		p[r.Mod.Path] = r.Mod
	}
	for _, r := range file.Replace {
		if old, ok := p[r.Old.Path]; ok && (r.Old.Version == "" || r.Old.Version == old.Version) {
			p[r.Old.Path] = r.New
		}
	}
	return p, nil
}

// digest names the state of the sources in dir: all files but tests.
func digest(dir string) (string, error) {
	sum, sources := sha256.New(), os.DirFS(dir)
	err := fs.WalkDir(sources, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := fs.ReadFile(sources, path)
		if err == nil {
			_, err = fmt.Fprintf(sum, "%s %d\n%s", path, len(data), data)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading sources: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}

// KubernetesVersion is the Kubernetes version that the repository at root pins, such as v1.36.3.
func KubernetesVersion(root string) (string, error) {
	p, err := readPins(root, kubernetesDir)
	if err != nil {
		return "", err
	}
	return p[kubernetesModule].Version, nil
}

// staleReason says why a built binary has to be built again, or "" when it is what b and p ask for.
// The binary's own build record is compared, so there is no stamp file that could lie: a binary that
// somebody built by hand with the same versions and flags counts as built.
func staleReason(b Binary, p pins, built *debug.BuildInfo) string {
	pinned := p[b.module]
	if built.Path != b.pkg {
		return "is another program"
	}
	if built.Main.Version != pinned.Version && !b.ours() { // a program of our own has its version in its flags
		return fmt.Sprintf("is %s", built.Main.Version)
	}
	for _, dep := range built.Deps {
		used := dep
		if dep.Replace != nil {
			used = dep.Replace
		}
		if want := p[dep.Path]; want.Path != used.Path || want.Version != used.Version {
			return fmt.Sprintf("has another %s", dep.Path)
		}
	}
	for key, want := range map[string]string{"-ldflags": b.ldflags(pinned.Version), "-tags": b.tags, "CGO_ENABLED": "0"} {
		if setting(built, key) != want {
			return "was built with another " + key
		}
	}
	return ""
}

func setting(built *debug.BuildInfo, key string) string {
	for _, s := range built.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
