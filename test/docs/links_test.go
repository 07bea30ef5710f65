// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	// A command in a block is at the start of a line, else in backticks.
	inBlock = regexp.MustCompile(`(?m)^\s*(?:sudo )?make ((?:[a-z][a-z0-9-]* ?)+)`)
	inText  = regexp.MustCompile("`(?:sudo )?make ((?:[a-z][a-z0-9-]* ?)+)")
	target  = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
)

// TestLinks follows the links between pages, anchors included.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, page), ""), -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			file := page
			if to != "" {
				file = path.Join(path.Dir(page), to)
			}
			info, err := os.Stat(filepath.Join(root, file))
			switch {
			case err != nil:
				t.Errorf("%s links to %s, which does not exist", page, m[1])
			case anchor != "" && !info.IsDir() && !slices.Contains(anchors(read(t, file)), anchor):
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
}

// TestMakeTargets wants every target that a page names to exist.
func TestMakeTargets(t *testing.T) {
	var targets []string
	for _, m := range target.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets = append(targets, m[1])
	}
	for _, page := range pages(t) {
		text := read(t, page)
		blocks := strings.Join(fenced.FindAllString(text, -1), "\n")
		for _, m := range append(inBlock.FindAllStringSubmatch(blocks, -1), inText.FindAllStringSubmatch(text, -1)...) {
			for _, name := range strings.Fields(m[1]) {
				if !slices.Contains(targets, name) {
					t.Errorf("%s names \"make %s\", which the Makefile does not have", page, name)
				}
			}
		}
	}
}

// pages are the documents that people read, but for the generated reference.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md", "docs/develop/*.md", "docs/kinds/*.md", "docs/schemas/*.md", "docs/tutorials/*.md", "docs/how-to/*.md", "hack/*/README.md", "test/*/README.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			found = append(found, strings.TrimPrefix(filepath.ToSlash(f), root+"/"))
		}
	}
	if len(found) < 20 {
		t.Fatalf("found %d pages only", len(found))
	}
	return found
}

// anchors are those that GitHub gives to the headings of a page.
func anchors(text string) []string {
	var found []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(m[1])) {
			switch {
			case r == ' ':
				b.WriteRune('-')
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
				b.WriteRune(r)
			}
		}
		found = append(found, b.String())
	}
	return found
}
