// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// found is what a page has and what it refers to.
type found struct {
	ids, links, loads []string
}

// check wants every link of the site to lead to a page and an anchor that are there, and every page to load nothing from
// elsewhere. It reads what was written, as a browser does.
func check(folder string) error {
	pages := map[string]found{}
	files := map[string]bool{}
	site := os.DirFS(folder)
	err := fs.WalkDir(site, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[name] = true
		if path.Ext(name) != ".html" {
			return nil
		}
		text, err := fs.ReadFile(site, name)
		if err == nil {
			pages[name], err = scan(text)
		}
		return err
	})
	if err != nil {
		return err
	}
	var wrong []error
	for name, p := range pages {
		wrong = append(wrong, p.check(name, pages, files)...)
	}
	slices.SortFunc(wrong, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(wrong...)
}

func (p found) check(name string, pages map[string]found, files map[string]bool) (wrong []error) {
	for i, id := range p.ids {
		if slices.Contains(p.ids[:i], id) {
			wrong = append(wrong, fmt.Errorf("%s has two anchors %s", name, id))
		}
	}
	for _, load := range p.loads {
		if !files[path.Join(path.Dir(name), load)] {
			wrong = append(wrong, fmt.Errorf("%s loads %s, which is no file of the site", name, load))
		}
	}
	for _, link := range p.links {
		if err := broken(name, link, pages, files); err != nil {
			wrong = append(wrong, err)
		}
	}
	return wrong
}

// outside are the beginnings of links that lead out of the site.
var outside = []string{"https://", "http://", "mailto:"}

// broken is what is wrong with a link of a page, if anything is.
func broken(name, link string, pages map[string]found, files map[string]bool) error {
	if slices.ContainsFunc(outside, func(begin string) bool { return strings.HasPrefix(link, begin) }) {
		return nil
	}
	file, anchor, _ := strings.Cut(link, "#")
	to := path.Join(path.Dir(name), file)
	if file == "" {
		to = name
	}
	switch {
	case !files[to]:
		return fmt.Errorf("%s links to %s, which does not exist", name, link)
	case anchor != "" && !slices.Contains(pages[to].ids, anchor):
		return fmt.Errorf("%s links to %s, which has no such heading", name, link)
	}
	return nil
}

// scan finds anchors, links and what a browser loads.
func scan(text []byte) (found, error) {
	doc, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		return found{}, err
	}
	var f found
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			f.take(n.Data, a)
		}
	}
	return f, nil
}

// loading are the attributes with what a browser loads at once, but for the links of an anchor.
var loading = []string{"src", "srcset", "data", "href", "xlink:href"}

// take records an attribute of an element.
func (p *found) take(element string, a html.Attribute) {
	switch {
	case a.Key == "id":
		p.ids = append(p.ids, a.Val)
	case a.Key == "href" && element == "a":
		p.links = append(p.links, a.Val)
	case slices.Contains(loading, a.Key):
		p.loads = append(p.loads, a.Val)
	case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
		p.loads = append(p.loads, a.Key+"="+a.Val) // neither may be there
	}
}
