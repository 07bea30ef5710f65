// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeFile(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadFromFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	writeFile(t, file, header+"acmeNamespace: {maxConcurrentReconciles: 7}")
	source, err := Load(t.Context(), nil, file, "unused")
	if err != nil {
		t.Fatal(err)
	}
	if got := *source.Config.AcmeNamespace.MaxConcurrentReconciles; got != 7 || source.Origin != "file "+file {
		t.Errorf("got %d reconciles from %s", got, source.Origin)
	}
}

func TestLoadFromBadFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if _, err := Load(t.Context(), nil, file, ""); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing file: %v", err)
	}
	writeFile(t, file, header+"foo: 1")
	_, err := Load(t.Context(), nil, file, "")
	if want := "reading the configuration from file " + file + `: unknown field "foo"`; err == nil || err.Error() != want {
		t.Errorf("invalid file: got %v, want %s", err, want)
	}
}

func TestLoadWithoutAnyPlace(t *testing.T) {
	source, err := Load(t.Context(), nil, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if source.Origin != "defaults" {
		t.Errorf("origin %s", source.Origin)
	}
}

func TestVersionFollowsTheMeaning(t *testing.T) {
	version := func(text string) string {
		source, err := reading{text: text}.parse()
		if err != nil {
			t.Fatal(err)
		}
		return source.Version
	}
	if version("") != version("# spelled out\n"+header+"acmeNamespace: {maxConcurrentReconciles: 10, identity: {timeout: 3000ms}}") {
		t.Error("texts with the same meaning differ in version")
	}
	if version("") == version(header+"acmeNamespace: {maxConcurrentReconciles: 11}") {
		t.Error("texts with different meanings have the same version")
	}
}
