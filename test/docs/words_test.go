// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// insteadOf lists phrases that comments, messages and pages must not have, with what to write instead. It has only phrases
// without a legitimate use in them; CONTRIBUTING.md asks for plain words in general.
var insteadOf = map[string]string{
	"anew":                           "again",
	"are refused":                    "are rejected",
	"are told":                       "are notified, get a report",
	"comes? back|came back":          "is requeued, is created again, is up again",
	"free or ours":                   "may be used",
	"gives? way to":                  "is superseded by",
	"goes on|going on|go on|went on": "continues, is in progress",
	"guard rails?":                   "guardrail",
	"is refused":                     "is rejected",
	"is told|was told|were told":     "is notified, gets a report",
	"made again":                     "created again",
	"mended|mends":                   "corrected, repaired",
	"puts? back":                     "restores, undoes",
	"(says|tells) whether":           "reports whether",
	"taken as it is":                 "the baseline",
	"taken over":                     "adopted",
	"takes? up":                      "applies, adopts, continues",
	"tried again and again":          "retried",
	"tries again and again":          "retries",
	"whom(ever)?|whoever":            "users who, the author, the owner",
}

// spared are the folders and files that are not checked: generated ones, and the phrases themselves.
var spared = []string{"config/rbac", "docs/reference", "test/docs/words_test.go"}

// TestPlainWords finds phrases that have a plainer equivalent in comments and strings of Go files, in the comments of
// manifests, and in pages.
func TestPlainWords(t *testing.T) {
	if found := unplain("the Job is made\nanew"); len(found) != 1 || found[0] != `"anew" in "the Job is made\nanew": write again` {
		t.Fatalf("a phrase is not found: %q", found)
	}
	count := 0
	for _, folder := range []string{"README.md", "api", "cmd", "config", "docs", "hack", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			name := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
			switch {
			case err != nil:
				return err
			case slices.Contains(spared, name) && d.IsDir():
				return filepath.SkipDir
			case d.IsDir() || slices.Contains(spared, name):
				return nil
			}
			for _, text := range textsOf(t, path) {
				count++
				for _, phrase := range unplain(text) {
					t.Errorf("%s has %s", name, phrase)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if count < 5000 {
		t.Fatalf("found %d texts only: the search for them is broken", count)
	}
}

var phrases = func() map[*regexp.Regexp]string {
	all := map[*regexp.Regexp]string{}
	for phrase, instead := range insteadOf {
		all[regexp.MustCompile(`(?i)\b(`+strings.ReplaceAll(phrase, " ", `\s+`)+`)\b`)] = instead
	}
	return all
}()

// unplain returns the phrases in a text that have a plainer equivalent.
func unplain(text string) (found []string) {
	for phrase, instead := range phrases {
		if at := phrase.FindStringIndex(text); at != nil {
			context := text[max(0, at[0]-30):min(len(text), at[1]+30)]
			found = append(found, fmt.Sprintf("%q in %q: write %s", text[at[0]:at[1]], context, instead))
		}
	}
	return found
}

// textsOf returns the comments and strings of a Go file, the comments of a manifest, and the text of a page.
func textsOf(t *testing.T, path string) []string {
	t.Helper()
	switch filepath.Ext(path) {
	case ".go":
		return textsOfGo(t, path)
	case ".md":
		return []string{readFile(t, path)}
	case ".yaml":
		var comments []string
		for line := range strings.Lines(readFile(t, path)) {
			if comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#"); ok {
				comments = append(comments, comment)
			}
		}
		return []string{strings.Join(comments, "\n")}
	default:
		return nil
	}
}

func textsOfGo(t *testing.T, path string) (texts []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		texts = append(texts, group.Text())
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if text := literal(n); text != "" {
			texts = append(texts, text)
		}
		return true
	})
	return texts
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
