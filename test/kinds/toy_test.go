// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

// howTo is the page that lists the files of a kind.
const howTo = "docs/develop/add-a-kind.md"

// maxAdded and maxEdited are how many files a kind may need.
const maxAdded, maxEdited = 8, 6

// edit puts a text behind a line that occurs once in a file.
type edit struct{ File, After, Text string }

// TestAToyKindIsAddedByTheList makes the kind in testdata in a copy of the repository: by the files that howTo lists and by no
// other, and by the generators. Everything that asks for a kind's parts has to be content with it.
func TestAToyKindIsAddedByTheList(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	toy := os.DirFS("testdata/robot")
	var edits []edit
	text, err := os.ReadFile("testdata/edits.yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(text, &edits)
	}
	if err != nil {
		t.Fatal(err)
	}
	page := strings.NewReplacer("GROUP", "toys", "KIND", "robot").Replace(read(t, howTo))
	compareFiles(t, "added", listed(t, page, "Files to add"), filesIn(t, toy), maxAdded)
	compareFiles(t, "edited", listed(t, page, "Files to edit"), edited(edits), maxEdited)
	if t.Failed() {
		return
	}

	// Always the same folder: Go builds only what has changed since it was there.
	work := testenv.RepoFile("dist", "toy-kind")
	if err := copyRepository(work); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(work, toy); err != nil { // none of them may be there
		t.Fatal(err)
	}
	for _, e := range edits {
		e.apply(t, work)
	}
	run := func(command ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir = work
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
		}
	}
	run("make", "--no-print-directory", "generate", "manifests")
	run("go", "vet", "./api/...", "./cmd/...", "./internal/operator", "./internal/controller/robot", "./internal/plugin/planning", "./test/guarantees", "./test/schemas")
	run("go", "test", "-vet=off", "-ldflags=-s -w", "-run", "^Test(Every|ThePage|Sections|Default|SchemeKnows|AdminRules|WhatAdmin)",
		"./api/config/...", "./internal/plugin/planning", "./internal/tenancy", "./test/docs", "./test/guarantees", "./test/kinds")
}

// listed are the files of the table below a heading.
func listed(t *testing.T, page, heading string) []string {
	t.Helper()
	_, section, found := strings.Cut(page, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", howTo, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var all []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(section, -1) {
		all = append(all, m[1])
	}
	return slices.Sorted(slices.Values(all))
}

func edited(edits []edit) []string {
	files := map[string]bool{}
	for _, e := range edits {
		files[e.File] = true
	}
	return slices.Sorted(maps.Keys(files))
}

func filesIn(t *testing.T, folder fs.FS) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func compareFiles(t *testing.T, what string, listed, made []string, most int) {
	t.Helper()
	if diff := cmp.Diff(listed, made); diff != "" {
		t.Errorf("files %s (-listed in %s +of the toy):\n%s", what, howTo, diff)
	}
	if len(made) > most {
		t.Errorf("%d files are %s, at most %d should be: %v", len(made), what, most, made)
	}
}

func (e edit) apply(t *testing.T, root string) {
	t.Helper()
	file := filepath.Join(root, e.File)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line := "\n" + e.After + "\n"
	if strings.Count("\n"+string(text), line) != 1 {
		t.Fatalf("%s has the line %q not once: see testdata/edits.yaml", e.File, e.After)
	}
	changed := strings.Replace("\n"+string(text), line, line+e.Text, 1)
	if err := os.WriteFile(file, []byte(changed[1:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// notCopied is what is built, and what no kind is made of.
var notCopied = []string{".git", ".ci", ".cluster", "bin", "bundle", "catalog", "dist"}

// copyRepository makes the folder a copy of the repository, with the times of its files, by which make judges the tools. The
// tools themselves are shared.
func copyRepository(to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	root := testenv.RepoFile()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		switch {
		case err != nil:
			return err
		case slices.Contains(notCopied, rel) && d.IsDir():
			return fs.SkipDir
		case slices.Contains(notCopied, rel):
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		return copyFile(filepath.Join(to, rel), name)
	})
	if err != nil {
		return err
	}
	return os.Symlink(filepath.Join(root, "bin"), filepath.Join(to, "bin"))
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, text, info.Mode().Perm()|0o200); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
