// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scratch is a repository in a folder of its own.
type scratch struct {
	*testing.T
	repository
}

// newScratch makes one with a commit of some files.
func newScratch(t *testing.T, files map[string]string) scratch {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "test")
		t.Setenv("GIT_"+who+"_EMAIL", "test@example.com")
	}
	s := scratch{t, repository(t.TempDir())}
	s.run("init", "--quiet", "--initial-branch=main")
	if files != nil {
		s.commit(files)
	}
	return s
}

func (s scratch) run(args ...string) string {
	s.Helper()
	out, err := s.git(args...)
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// write writes files, and removes those whose text is empty.
func (s scratch) write(files map[string]string) {
	s.Helper()
	for name, text := range files {
		file := filepath.Join(string(s.repository), name)
		err := os.MkdirAll(filepath.Dir(file), 0o700)
		if text == "" {
			err = os.Remove(file)
		} else if err == nil {
			err = os.WriteFile(file, []byte(text), 0o600)
		}
		if err != nil {
			s.Fatal(err)
		}
	}
}

func (s scratch) commit(files map[string]string) {
	s.Helper()
	s.write(files)
	s.run("add", "--all")
	s.run("commit", "--quiet", "--message=change it")
}

// commits adds n commits, which change the files 1 to n.
func (s scratch) commits(n int) {
	s.Helper()
	stream := &strings.Builder{}
	for i := range n {
		fmt.Fprintf(stream, "commit refs/heads/main\ncommitter test <test@example.com> %d +0000\ndata 9\nchange it\n", 2_000_000_000+i)
		if i == 0 {
			fmt.Fprintln(stream, "from refs/heads/main^0")
		}
		fmt.Fprintf(stream, "M 644 inline %d\ndata 1\n1\n", i+1)
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = string(s.repository), strings.NewReader(stream.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("%v: %s", err, out)
	}
	s.run("reset", "--quiet", "--hard")
}

// passed makes a file that says that the trees of some commits passed, and has lines that mean nothing.
func (s scratch) passed(commits ...string) string {
	s.Helper()
	text := "\nno hash\n" + strings.Repeat("0", 40) + "\n"
	for _, commit := range commits {
		text += s.run("rev-parse", commit+"^{tree}") + "\r\n"
	}
	file := filepath.Join(s.TempDir(), "green")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return file
}

// since expects a base, a part of the sentence about it, and files.
func (s scratch) since(green, base, why string, files ...string) Change {
	s.Helper()
	c, err := Since(string(s.repository), green)
	if err != nil {
		s.Fatal(err)
	}
	if base != "" {
		base = s.run("rev-parse", base)
	}
	if c.Base != base || !strings.Contains(c.Why, why) || !slices.Equal(c.Files, files) {
		s.Errorf("got base %q, files %q: %s\nwant base %q, files %q: %s", c.Base, c.Files, c.Why, base, files, why)
	}
	return c
}

func TestTheBaseIsTheNewestThatPassed(t *testing.T) {
	s := newScratch(t, map[string]string{"a": "1"})
	s.commits(25)
	s.since(s.passed("HEAD"), "HEAD", "the newest commit that passed here")
	s.since(s.passed("HEAD~24", "HEAD~2"), "HEAD~2", "(change it), the newest", "24", "25")
	s.since(s.passed(), "HEAD~20", "20 commits before HEAD, because none", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20",
		"21", "22", "23", "24", "25", "6", "7", "8", "9")
}

func TestTheBaseMayBeOnABranchThatWasMerged(t *testing.T) {
	s := newScratch(t, map[string]string{"a": "1", "b": "1"})
	s.run("switch", "--quiet", "--create", "side")
	s.commit(map[string]string{"a": "2"})
	s.run("switch", "--quiet", "main")
	s.commit(map[string]string{"b": "2"})
	s.run("merge", "--quiet", "--no-edit", "side")
	s.since(s.passed("side"), "side", "passed", "b")
}

func TestEverythingCountsInAShortHistory(t *testing.T) {
	s := newScratch(t, map[string]string{"a": "1"})
	s.commits(2)
	s.since(s.passed(), "", "Everything counts as changed, because the history has no commit", "1", "2", "a")
	s.since(filepath.Join(t.TempDir(), "missing"), "", "none 20 before HEAD.", "1", "2", "a")
	s.since(t.TempDir(), "", "as far as is known (read ", "1", "2", "a")
	s.since("", "", "none 20 before HEAD.", "1", "2", "a")
}

func TestEverythingCountsInAShallowClone(t *testing.T) {
	s := newScratch(t, map[string]string{"a": "1"})
	s.commits(22)
	clone := scratch{t, repository(t.TempDir())}
	clone.run("clone", "--quiet", "--depth=3", "file://"+string(s.repository), ".")
	c, err := Since(string(clone.repository), s.passed("HEAD~4"))
	if err != nil || c.Base != "" || !strings.Contains(c.Why, "because this shallow clone has no commit") || len(c.Files) != 23 {
		t.Errorf("got %+v, %v", c, err)
	}
	clone.since(s.passed("HEAD~2"), "HEAD~2", "passed", "21", "22")
}

func TestFilesThatAreNotCommittedCount(t *testing.T) {
	s := newScratch(t, map[string]string{".gitignore": "ignored\n", "edited": "1", "moved": "text\n", "staged": "1", "same": "1"})
	s.write(map[string]string{"edited": "2", "staged": "2", "new/ünïcode file": "1", "ignored": "1", "moved": "", "to": "text\n"})
	s.run("add", "staged", "moved", "to")
	c := s.since(s.passed("HEAD"), "HEAD", "passed", "edited", "moved", "new/ünïcode file", "staged", "to")
	below, err := Since(filepath.Join(string(s.repository), "new"), s.passed("HEAD"))
	if err != nil || !slices.Equal(below.Files, c.Files) {
		t.Errorf("from a folder below: %q, %v", below.Files, err)
	}
}

func TestSinceFailsClearly(t *testing.T) {
	s := newScratch(t, nil)
	outside := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(outside))
	for dir, want := range map[string]string{string(s.repository): "has no commit yet", outside: "not a git repository"} {
		if _, err := Since(dir, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, not %q", err, want)
		}
	}
	t.Setenv("PATH", "")
	if _, err := Since(outside, ""); err == nil || !strings.Contains(err.Error(), "executable file not found") {
		t.Errorf("without git: %v", err)
	}
}

// toy is a module like this repository.
var toy = map[string]string{
	"go.mod":                                "module example.com/toy\n\ngo 1.26\n",
	"docs/nested/go.mod":                    "module example.com/toy/docs/nested\n\ngo 1.26\n",
	"docs/nested/main.go":                   "package main\n",
	"Makefile":                              "PROCS := 3\nall:\n",
	"docs/docs.go":                          "package docs\n\nimport _ \"embed\"\n\n//go:embed page.md\nvar Page string\n",
	"docs/page.md":                          "text\n",
	"docs/other.md":                         "text\n",
	"internal/engine/engine.go":             "package engine\n",
	"internal/engine/engine_test.go":        "package engine\n",
	"internal/engine/testdata/deep/any":     "1",
	"internal/shared/shared.go":             "package shared\n\nimport _ \"example.com/toy/docs\"\n",
	"internal/controller/alpha/alpha.go":    "package alpha\n\nimport _ \"example.com/toy/internal/engine\"\n",
	"internal/controller/beta/beta.go":      "package beta\n\nimport _ \"example.com/toy/internal/engine\"\n",
	"internal/controller/beta/beta_test.go": "package beta_test\n\nimport _ \"example.com/toy/internal/shared\"\n",
	"internal/operator/kinds.go": `package operator

import (
	"example.com/toy/internal/controller/alpha"
	"example.com/toy/internal/controller/beta"
)

var Kinds = []Kind{
	{
		Object: &alpha.Alpha{},
	},
	{
		Object:     &beta.Beta{},
	},
}
`,
	"test/guarantees/suite_test.go": "package guarantees\n\nimport _ \"example.com/toy/internal/operator\"\n",
}

func TestPackagesAndKindsOfAChange(t *testing.T) {
	s := newScratch(t, toy)
	green := s.passed("HEAD")
	for name, tc := range map[string]struct {
		change                map[string]string
		kinds, packages, test string
	}{
		"nothing":            {nil, "none", "", ""},
		"a kind":             {map[string]string{"internal/controller/beta/new.go": "package beta\n"}, "Beta || Completeness", "internal/controller/beta", "internal/controller/beta internal/operator test/guarantees"},
		"a test":             {map[string]string{"internal/engine/engine_test.go": "package engine_test\n"}, "none", "internal/engine", "internal/engine"},
		"data of tests":      {map[string]string{"internal/engine/testdata/deep/any": "2"}, "none", "internal/engine", "internal/engine"},
		"used by a test":     {map[string]string{"internal/shared/shared.go": "package shared\n\n// new\n"}, "none", "internal/shared", "internal/controller/beta internal/shared"},
		"an embedded file":   {map[string]string{"docs/page.md": "2"}, "none", "docs", "docs internal/controller/beta internal/shared"},
		"a removed file":     {map[string]string{"docs/other.md": ""}, "none", "docs", "docs internal/controller/beta internal/shared"},
		"another file":       {map[string]string{"docs/other.md": "2"}, "none", "docs", "docs"},
		"another module":     {map[string]string{"docs/nested/main.go": "package main\n\n// new\n", "hack/any.sh": "1"}, "none", "", ""},
		"what all use":       {map[string]string{"internal/engine/engine.go": "package engine\n\n// new\n"}, "all", "internal/engine", "internal/controller/alpha internal/controller/beta internal/engine internal/operator test/guarantees"},
		"the Makefile":       {map[string]string{"Makefile": "PROCS := 3\nall: some\n"}, "none", "", ""},
		"the Makefile's run": {map[string]string{"Makefile": "PROCS := 2\nall:\n"}, "all", "", ""},
		"the module":         {map[string]string{"go.mod": "module example.com/toy\n\ngo 1.26\n\n"}, "all", "", "docs internal/controller/alpha internal/controller/beta internal/engine internal/operator internal/shared test/guarantees"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() {
				s.run("reset", "--quiet", "--hard")
				s.run("clean", "--quiet", "--force", "-d")
			})
			s.write(tc.change)
			c, err := Since(string(s.repository), green)
			if err != nil {
				t.Fatal(err)
			}
			kinds, err := c.Kinds()
			if err != nil || kinds.Filter() != tc.kinds {
				t.Errorf("kinds: %s, %v, not %s", kinds.Filter(), err, tc.kinds)
			}
			packages, err := c.Packages()
			if got := short(packages); err != nil || got != tc.packages {
				t.Errorf("packages: %s, %v, not %s", got, err, tc.packages)
			}
			tests, err := c.Tests()
			if got := short(tests); err != nil || got != tc.test {
				t.Errorf("to test: %s, %v, not %s", got, err, tc.test)
			}
		})
	}
}

func short(packages []string) string {
	return strings.ReplaceAll(strings.Join(packages, " "), "example.com/toy/", "")
}

func TestAKindWithoutAControllerIsAnError(t *testing.T) {
	s := newScratch(t, toy)
	s.write(map[string]string{"internal/operator/kinds.go": strings.ReplaceAll(toy["internal/operator/kinds.go"], "alpha.Alpha", "alpha.Gamma")})
	c := s.since(s.passed("HEAD"), "HEAD", "passed", "internal/operator/kinds.go")
	if _, err := c.Kinds(); err == nil || !strings.Contains(err.Error(), "no package internal/controller/gamma") {
		t.Error(err)
	}
}
