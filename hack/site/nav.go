// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// section is a part of the navigation.
type section struct {
	Title string
	// Paths are files and patterns, in the order of the navigation; a page that two match is where the first is.
	Paths []string
	// More belong to the section, and a page of it lists them instead of the navigation.
	More  string
	Pages []*page
}

// sections order the pages by what people look for.
var sections = []section{
	{Title: "What is this?", Paths: []string{"README.md", "docs/comparison.md", "docs/concepts.md", "docs/README.md"}},
	{Title: "First ten minutes", Paths: []string{"docs/tutorials/*.md"}},
	{Title: "How to", Paths: []string{
		"docs/install-olm.md", "docs/upgrade.md", "docs/kubectl-acme.md", "docs/operations.md", "docs/how-to/*.md", "docs/schemas/README.md",
	}},
	{Title: "Kinds", Paths: []string{"docs/kinds/*.md", "docs/views.md"}},
	{Title: "Reference", Paths: []string{"docs/reference/*.md", "CHANGELOG.md"}},
	{Title: "Troubleshooting", Paths: []string{"docs/troubleshooting.md"}},
	{Title: "Runbooks", Paths: []string{"docs/runbooks/README.md", "docs/runbooks/*.md"}},
	{Title: "How it works", Paths: []string{
		"docs/architecture.md", "docs/develop/guarantees.md", "docs/capabilities.md", "docs/adr/README.md",
	}, More: "docs/adr/*.md"},
	{Title: "Contributing", Paths: []string{"CONTRIBUTING.md", "docs/develop/*.md", "hack/*/README.md", "test/*/README.md"}},
}

// navigate reads the pages of the navigation. Every page of docs has to be in it.
func (s *site) navigate() error {
	s.sections = slices.Clone(sections)
	for i := range s.sections {
		part := &s.sections[i]
		for _, pattern := range part.Paths {
			pages, err := s.join(part, pattern)
			if err != nil {
				return err
			}
			part.Pages = append(part.Pages, pages...)
		}
		more, err := s.join(part, part.More)
		if err != nil {
			return err
		}
		s.unlisted = append(s.unlisted, more...)
	}
	return s.complete()
}

// join adds the pages that a pattern matches to a section, but for those that are in one, and returns them.
func (s *site) join(part *section, pattern string) (pages []*page, err error) {
	names, err := s.glob(pattern)
	for _, name := range names {
		p, err := s.page(name)
		if err != nil {
			return nil, err
		}
		if p.Section == "" {
			p.Section = part.Title
			pages = append(pages, p)
		}
	}
	return pages, err
}

// glob returns the files of the repository that a pattern matches.
func (s *site) glob(pattern string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(s.root, pattern))
	if err != nil || pattern == "" {
		return nil, err
	}
	for i, file := range files {
		name, err := filepath.Rel(s.root, file)
		if err != nil {
			return nil, err
		}
		files[i] = filepath.ToSlash(name)
	}
	return files, nil
}

// complete wants each page of docs in the navigation.
func (s *site) complete() error {
	for _, depth := range []string{"docs/*.md", "docs/*/*.md", "docs/*/*/*.md"} {
		names, err := s.glob(depth)
		if err != nil {
			return err
		}
		for _, name := range names {
			if p := s.pages[name]; p == nil || p.Section == "" {
				return fmt.Errorf("%s is in no section: add it to hack/site/nav.go", name)
			}
		}
	}
	return nil
}

// target is the file of the site that a file of the repository becomes.
func target(name string) string {
	if path.Base(name) == "README.md" {
		return path.Join(path.Dir(name), "index.html")
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// relative is the link from one file of the site to another.
func relative(from, to string) string {
	up := strings.Repeat("../", strings.Count(from, "/"))
	return up + to
}
