// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRelease goes the way to a release by a candidate, with what must be refused in between: that changes nothing.
func TestRelease(t *testing.T) {
	const unreleased, empty = "# Changes\n\n## Unreleased\n\n- Something new.\n", "# Changes\n\n## Unreleased\n\n## 0.1.0 - 2026-11-21\n\n- All.\n"
	root := t.TempDir()
	files := []string{"Makefile", "config/manifests/bases/acme-platform-operator.clusterserviceversion.yaml", "catalog/template.yaml", "CHANGELOG.md"}
	for _, file := range files {
		copyFile(t, root, file)
	}
	today := time.Now().UTC().Format(time.DateOnly)
	for _, step := range []struct{ version, changelog, problem, after string }{
		{"v9.8.0", unreleased, "semantic version", unreleased},
		{"0.0.1", unreleased, "must be higher", unreleased},
		{"9.8.0-rc.1", empty, "nothing as unreleased", empty},
		{"9.8.0-rc.1", "# Changes\n", "nothing as unreleased", "# Changes\n"},
		{"9.8.0-rc.1", unreleased, "", unreleased},
		{"9.8.0-rc.2", unreleased, "", unreleased},
		{"9.8.0", unreleased, "", "# Changes\n\n## Unreleased\n\n## 9.8.0 - " + today + "\n\n- Something new.\n"},
	} {
		overwrite(t, filepath.Join(root, "CHANGELOG.md"), step.changelog)
		before := texts(t, root, files[:3])
		cmd := exec.Command("hack/release.sh", step.version, image(step.version), root)
		cmd.Dir = filepath.Join("..", "..")
		said, err := cmd.CombinedOutput()
		if failed := err != nil; failed != (step.problem != "") || !strings.Contains(string(said), step.problem) {
			t.Fatalf("%s: want a problem with %q, got %v: %s", step.version, step.problem, err, said)
		}
		if text := texts(t, root, files[3:])[0]; text != step.after {
			t.Errorf("%s: the changelog is\n%s", step.version, text)
		}
		after := texts(t, root, files[:3])
		for i, want := range []string{"\nVERSION ?= " + step.version + "# ", `createdAt: "` + today + `T00:00:00Z"`, packageName + ".v" + step.version + "\n"} {
			switch {
			case step.problem != "" && after[i] != before[i]:
				t.Errorf("%s: %s was written", step.version, files[i])
			case step.problem == "" && !strings.Contains(after[i], want):
				t.Errorf("%s: %s does not have %q", step.version, files[i], want)
			}
		}
	}
}

// TestChangelog checks that the real changelog can be released from.
func TestChangelog(t *testing.T) {
	text := texts(t, filepath.Join("..", ".."), []string{"CHANGELOG.md"})[0]
	if strings.Count(text, "\n## Unreleased\n") != 1 {
		t.Error("it must have one section of what is unreleased")
	}
}

func texts(t *testing.T, root string, files []string) []string {
	t.Helper()
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}

func copyFile(t *testing.T, root, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o750); err != nil {
		t.Fatal(err)
	}
	overwrite(t, filepath.Join(root, file), texts(t, filepath.Join("..", ".."), []string{file})[0])
}

func overwrite(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
