// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSite makes the site of this repository: build fails when a link or an anchor leads nowhere, or a page of docs is in no
// section.
func TestSite(t *testing.T) {
	to := filepath.Join(t.TempDir(), "site")
	if err := os.MkdirAll(filepath.Join(to, "of-an-earlier-version"), 0o750); err != nil {
		t.Fatal(err)
	}
	n, err := build("../..", to)
	if err != nil {
		t.Fatal(err)
	}
	if n < 80 {
		t.Errorf("it has %d pages only", n)
	}
	if _, err := os.Stat(filepath.Join(to, "of-an-earlier-version")); err == nil {
		t.Error("what was in the folder is still there")
	}
	page := read(t, to, "docs/kinds/webapp.html")
	for what, want := range map[string]string{
		"the title":                   "<title>WebApp · Acme Platform Operator</title>",
		"the section":                 `<p class="section">Kinds</p>`,
		"the place in the navigation": `<a href="../../docs/kinds/webapp.html" aria-current="page">WebApp</a>`,
		"a link to another page":      `href="../../docs/reference/api.html#webapp"`,
		"colors of code":              `<span class="nt">apiVersion</span>`,
		"tables that scroll":          `<div class="table"><table>`,
		"what is on the page":         `<li><a href="#revisions-and-rollbacks">`,
		"the page before":             `<small>Previous</small>SchedulerProfile`,
		"the script without a server": `<script src="../../site.js" data-root="../../">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("a page has not %s: %s", what, want)
		}
	}
	if !strings.Contains(read(t, to, "docs/architecture.html"), `<span class="picture" role="img"`) {
		t.Error("pictures are not in the page, where they take the colors of the theme")
	}
	index := read(t, to, "search.js")
	for _, want := range []string{
		`["docs/kinds/webapp.html#revisions-and-rollbacks","WebApp","Revisions and rollbacks",`, "docs/adr/0002-skip-what-is-already-true.html",
		"a number that fences the former one",
	} {
		if !strings.Contains(index, want) {
			t.Errorf("the search does not find %q", want)
		}
	}
}

// TestOrder wants the sections in the order of what people look for.
func TestOrder(t *testing.T) {
	to := filepath.Join(t.TempDir(), "site")
	if _, err := build("../..", to); err != nil {
		t.Fatal(err)
	}
	at := 0
	page := read(t, to, "index.html")
	for _, section := range []string{
		"What is this?", "First ten minutes", "How to", "Kinds", "Reference", "Troubleshooting", "Runbooks", "How it works", "Contributing",
	} {
		i := strings.Index(page[at:], "<summary>"+section+"</summary>")
		if i < 0 {
			t.Fatalf("%s is not after the section before it", section)
		}
		at += i
	}
}

// TestMistakes wants each mistake in a page to be found, and named with the page.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"none":                            {"[a](other.md#part-two), [b](#part), [c](../data.yaml), [d](https://example.com)\n\n## Part\n", ""},
		"a page that does not exist":      {"[a](missing.md)", "docs/page.md links to missing.md"},
		"an anchor that does not exist":   {"[a](other.md#part-three)", "docs/page.html links to ../docs/other.html#part-three"},
		"an anchor that is not here":      {"[a](#missing)", "docs/page.html links to #missing"},
		"a folder":                        {"[a](../config)", "docs/page.md links to ../config"},
		"a picture from elsewhere":        {"![a](https://example.com/a.png)", "docs/page.md shows https://example.com/a.png"},
		"a picture that does not exist":   {"![a](missing.svg)", "docs/page.md shows missing.svg"},
		"a script from elsewhere":         {`<script src="https://example.com/a.js"></script>`, "docs/page.html loads https://example.com/a.js"},
		"a frame":                         {`<iframe src="//example.com"></iframe>`, "docs/page.html loads //example.com"},
		"an attribute that runs a script": {`<b onclick="x()">a</b>`, "docs/page.html loads onclick=x()"},
		"a reference without its page":    {"[a][b]\n\n[b]: gone.md", "docs/page.md links to gone.md"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range map[string]string{
				"README.md": "# Home\n", "data.yaml": "a: b\n", "config/x.yaml": "a: b\n",
				"docs/page.md": "# Page\n\n" + c.page, "docs/other.md": "# Other\n\n## Part two\n",
			} {
				write(t, root, file, text)
			}
			withSections(t, []section{{Title: "All", Paths: []string{"README.md", "docs/*.md"}}})
			to := filepath.Join(t.TempDir(), "site")
			_, err := build(root, to)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if _, err := os.Stat(to); (err == nil) != (c.want == "") {
				t.Errorf("whether there is a site: %v", err)
			}
		})
	}
}

// TestEveryPageHasASection wants a page of docs that nobody put into a section to be named.
func TestEveryPageHasASection(t *testing.T) {
	root := t.TempDir()
	write(t, root, "README.md", "# Home\n")
	write(t, root, "docs/a/lost.md", "# Lost\n")
	withSections(t, []section{{Title: "All", Paths: []string{"README.md"}}})
	if _, err := build(root, filepath.Join(t.TempDir(), "site")); err == nil || !strings.Contains(err.Error(), "docs/a/lost.md is in no section") {
		t.Errorf("%v", err)
	}
}

// TestAnchors wants those that git hosts make.
func TestAnchors(t *testing.T) {
	all := &ids{used: map[string]int{}}
	for _, c := range [][2]string{
		{"What rolls the pods", "what-rolls-the-pods"},
		{"kubectl acme: reference", "kubectl-acme-reference"},
		{"A, B & C", "a-b--c"},
		{"Größe", "größe"},
		{"The pods", "the-pods"},
		{"The pods", "the-pods-1"},
		{"`spec.a_b`", "speca_b"},
	} {
		if got := string(all.Generate([]byte(c[0]), 0)); got != c[1] {
			t.Errorf("%q has the anchor %q, want %q", c[0], got, c[1])
		}
	}
}

func withSections(t *testing.T, s []section) {
	t.Helper()
	before := sections
	sections = s
	t.Cleanup(func() { sections = before })
}

func read(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	file := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
