// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed theme
var theme embed.FS

var layout = template.Must(template.New("page.html").Funcs(template.FuncMap{"relative": relative}).ParseFS(theme, "theme/page.html"))

// view is what the layout shows.
type view struct {
	*page
	Sections []section
	// Contents are the headings of the second level, Previous and Next the pages beside this one in the navigation.
	Contents       []heading
	Previous, Next *page
}

// write writes the site to a folder that does not exist.
func (s *site) write(to string) error {
	order := s.order()
	for _, name := range slices.Sorted(maps.Keys(s.pages)) {
		p := s.pages[name]
		v := view{page: p, Sections: s.sections, Contents: slices.DeleteFunc(slices.Clone(p.Headings), func(h heading) bool { return h.Level != 2 })}
		if i := slices.Index(order, p); i >= 0 {
			v.Previous, v.Next = at(order, i-1), at(order, i+1)
		}
		var b strings.Builder
		if err := layout.Execute(&b, v); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		if err := writeFile(to, p.Target, b.String()); err != nil {
			return err
		}
	}
	for _, name := range []string{"style.css", "site.js", "icon.svg"} {
		text, err := theme.ReadFile("theme/" + name)
		if err != nil {
			return err
		}
		if err := writeFile(to, name, string(text)); err != nil {
			return err
		}
	}
	index, err := s.index(append(order, s.unlisted...))
	if err != nil {
		return err
	}
	return writeFile(to, "search.js", index)
}

// order is that of the navigation.
func (s *site) order() (all []*page) {
	for _, part := range s.sections {
		all = append(all, part.Pages...)
	}
	return all
}

func at(all []*page, i int) *page {
	if i < 0 || i >= len(all) {
		return nil
	}
	return all[i]
}

// index is what the search looks through: for each heading its page, the text below it, and where it is. It is a script, as
// browsers read no data from files beside a page that is a file itself.
func (s *site) index(order []*page) (string, error) {
	type entry [4]string
	var all []entry
	for _, p := range order {
		for _, h := range p.Headings {
			to := p.Target
			if h.Level > 1 {
				to += "#" + h.ID
			}
			all = append(all, entry{to, p.Title, h.Title, strings.Join(strings.Fields(h.text), " ")})
		}
	}
	text, err := json.Marshal(all)
	return "window.searchIndex = " + string(text) + ";\n", err
}

func writeFile(folder, name, text string) error {
	file := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}
