/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const base = "config/manifests/bases/acme-platform-operator.clusterserviceversion.yaml"

// repository makes a folder with the files that a release changes, as they are in the repository but for the
// changelog.
func repository(t *testing.T, changelog string) string {
	t.Helper()
	root := t.TempDir()
	for _, file := range []string{"Makefile", base} {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, file), string(text))
	}
	write(t, filepath.Join(root, "CHANGELOG.md"), changelog)
	return root
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRelease(t *testing.T) {
	root := repository(t, "# Changes\n\n## Unreleased\n\n- Something new.\n\n## 0.1.0 - 2026-11-21\n\n- All.\n")
	if err := run([]string{"--root", root, "--version", "9.8.0", "--date", "2027-01-02"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if text := read(t, root, "Makefile"); !strings.Contains(text, "\nVERSION ?= 9.8.0# ") {
		t.Error("the Makefile has not the new version")
	}
	if text := read(t, root, base); strings.Count(text, `createdAt: "2027-01-02T00:00:00Z"`) != 1 {
		t.Error("the bundle has not the date")
	}
	want := "# Changes\n\n## Unreleased\n\n## 9.8.0 - 2027-01-02\n\n- Something new.\n\n## 0.1.0 - 2026-11-21\n\n- All.\n"
	if text := read(t, root, "CHANGELOG.md"); text != want {
		t.Errorf("the changelog is\n%s", text)
	}
}

// TestCandidate goes the way to a release by two candidates: the changelog is the release's.
func TestCandidate(t *testing.T) {
	const changelog = "# Changes\n\n## Unreleased\n\n- Something new.\n"
	root := repository(t, changelog)
	for _, step := range []struct{ version, changelog string }{
		{"9.8.0-rc.1", changelog},
		{"9.8.0-rc.2", changelog},
		{"9.8.0", "# Changes\n\n## Unreleased\n\n## 9.8.0 - 2027-01-02\n\n- Something new.\n"},
	} {
		if err := run([]string{"--root", root, "--version", step.version, "--date", "2027-01-02"}, io.Discard); err != nil {
			t.Fatalf("%s: %v", step.version, err)
		}
		if text := read(t, root, "Makefile"); !strings.Contains(text, "\nVERSION ?= "+step.version+"# ") {
			t.Errorf("%s: the Makefile has not the new version", step.version)
		}
		if text := read(t, root, "CHANGELOG.md"); text != step.changelog {
			t.Errorf("%s: the changelog is\n%s", step.version, text)
		}
	}
}

func TestRefusedReleaseChangesNothing(t *testing.T) {
	const changelog = "# Changes\n\n## Unreleased\n\n- Something new.\n"
	for reason, row := range map[string]struct{ version, day, changelog, problem string }{
		"not a version":         {"9.8", "2027-01-02", changelog, "semantic version"},
		"with a v":              {"v9.8.0", "2027-01-02", changelog, "semantic version"},
		"not higher":            {"0.0.1", "2027-01-02", changelog, "not higher"},
		"no day":                {"9.8.0", "tomorrow", changelog, "--date"},
		"nothing listed":        {"9.8.0", "2027-01-02", "## Unreleased\n\n## 0.1.0 - 2026-11-21\n\n- All.\n", "nothing is listed"},
		"candidate of nothing":  {"9.8.0-rc.1", "2027-01-02", "## Unreleased\n", "nothing is listed"},
		"no unreleased section": {"9.8.0", "2027-01-02", "# Changes\n", "no section"},
	} {
		root := repository(t, row.changelog)
		makefile, csv := read(t, root, "Makefile"), read(t, root, base)
		err := run([]string{"--root", root, "--version", row.version, "--date", row.day}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), row.problem) {
			t.Errorf("%s: want a problem with %q, got %v", reason, row.problem, err)
		}
		if read(t, root, "Makefile") != makefile || read(t, root, base) != csv || read(t, root, "CHANGELOG.md") != row.changelog {
			t.Errorf("%s: something was written", reason)
		}
	}
}

// TestChangelog checks that the real changelog can be released from.
func TestChangelog(t *testing.T) {
	text := read(t, "..", "..", "CHANGELOG.md")
	if strings.Count(text, unreleased) != 1 {
		t.Error("it must have one section of what is unreleased")
	}
	match := versionLine.FindStringSubmatch(read(t, "..", "..", "Makefile"))
	if match == nil || !isCandidate(match[1]) && !strings.Contains(text, "\n## "+match[1]+" - ") {
		t.Errorf("it has no section of the version of the Makefile, %v", match)
	}
}
