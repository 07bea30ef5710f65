// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/yuin/goldmark"
	highlighting "github.com/yuin/goldmark-highlighting/v2"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	renderer "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// site is what is read of the repository.
type site struct {
	root     string
	pages    map[string]*page // by the path of the file
	sections []section
	unlisted []*page // of sections, and found by the search
	queue    []*page // not rendered yet
}

// page is one file of the repository as a page.
type page struct {
	Name, Title, Section string
	Target               string // path in the site
	Body                 template.HTML
	Headings             []heading
	source               []byte
}

// heading is one of a page, with the text below it for the search.
type heading struct {
	Level     int
	ID, Title string
	text      string
}

// markdown reads pages as git hosts do. They are ours, so HTML in them is kept.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM, highlighting.NewHighlighting(highlighting.WithFormatOptions(html.WithClasses(true)))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithUnsafe()),
)

// read reads the pages of the navigation, then all that they link to.
func (s *site) read() error {
	if err := s.navigate(); err != nil {
		return err
	}
	var wrong []error
	for len(s.queue) > 0 {
		next := s.queue[0]
		s.queue = s.queue[1:]
		if err := s.render(next); err != nil {
			wrong = append(wrong, fmt.Errorf("%s %w", next.Name, err))
		}
	}
	return errors.Join(wrong...)
}

// page returns that of a file, which is read when it is named first.
func (s *site) page(name string) (*page, error) {
	if p := s.pages[name]; p != nil {
		return p, nil
	}
	text, err := os.ReadFile(filepath.Join(s.root, name))
	if err != nil {
		return nil, err
	}
	p := &page{Name: name, Title: path.Base(name), Target: target(name), source: text}
	if !strings.HasSuffix(name, ".md") {
		p.source = []byte("# " + name + "\n\n````" + strings.TrimPrefix(path.Ext(name), ".") + "\n" + string(text) + "\n````\n")
	}
	if title, found := strings.CutPrefix(strings.SplitN(string(p.source), "\n", 2)[0], "# "); found {
		p.Title = title
	}
	s.pages[name], s.queue = p, append(s.queue, p)
	return p, nil
}

// render makes the HTML of a page.
func (s *site) render(p *page) error {
	doc := markdown.Parser().Parse(text.NewReader(p.source), parser.WithContext(parser.NewContext(parser.WithIDs(&ids{used: map[string]int{}}))))
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			p.Headings = append(p.Headings, heading{Level: n.Level, ID: string(id.([]byte)), Title: plain(n, p.source)})
		case *ast.Link:
			to, err := s.link(p, string(n.Destination))
			n.Destination = []byte(to)
			return ast.WalkContinue, err
		case *ast.Image:
			return ast.WalkSkipChildren, s.inline(p, n)
		case *ast.Paragraph, *ast.TextBlock, *ast.FencedCodeBlock:
			p.collect(n)
		default:
			if n.Kind().String() == "TableCell" {
				p.collect(n)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, p.source, doc); err != nil {
		return err
	}
	wide := strings.NewReplacer("<table>", `<div class="table"><table>`, "</table>", "</table></div>") // it scrolls on a small screen
	p.Body = template.HTML(wide.Replace(out.String()))                                                 //nolint:gosec // The pages are ours.
	return nil
}

// collect adds the text of a block to the heading above it.
func (p *page) collect(n ast.Node) {
	if len(p.Headings) > 0 {
		h := &p.Headings[len(p.Headings)-1]
		h.text += plain(n, p.source) + " "
	}
}

// link is the link in the site for one of a page. What it leads to becomes part of the site.
func (s *site) link(p *page, to string) (string, error) {
	file, anchor, hasAnchor := strings.Cut(to, "#")
	if file == "" || strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return to, nil
	}
	other, err := s.page(path.Join(path.Dir(p.Name), file))
	if err != nil {
		return "", fmt.Errorf("links to %s: %w", to, err)
	}
	if to = relative(p.Target, other.Target); hasAnchor {
		to += "#" + anchor
	}
	return to, nil
}

// inline puts a picture into the page, where it takes the colors of the theme.
func (s *site) inline(p *page, image *ast.Image) error {
	name := path.Join(path.Dir(p.Name), string(image.Destination))
	if !strings.HasSuffix(name, ".svg") {
		return fmt.Errorf("shows %s: use an SVG, which the site can put into the page", image.Destination)
	}
	picture, err := os.ReadFile(filepath.Join(s.root, name))
	if err != nil {
		return fmt.Errorf("shows %s: %w", image.Destination, err)
	}
	label := template.HTMLEscapeString(plain(image, p.source))
	raw := ast.NewString([]byte(`<span class="picture" role="img" aria-label="` + label + `">` + string(picture) + `</span>`))
	raw.SetCode(true) // not escaped
	image.Parent().ReplaceChild(image.Parent(), image, raw)
	return nil
}

// plain is the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	if block, is := n.(*ast.FencedCodeBlock); is {
		return string(block.Lines().Value(source))
	}
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, is := n.(*ast.Text); is && entering {
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() || t.HardLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// ids gives headings the anchors that git hosts give them.
type ids struct{ used map[string]int }

// idRunes are the ASCII characters of an anchor.
const idRunes = "-_abcdefghijklmnopqrstuvwxyz0123456789"

// Generate implements parser.IDs.
func (i *ids) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case r == ' ':
			b.WriteRune('-')
		case strings.ContainsRune(idRunes, r) || r > 127:
			b.WriteRune(r)
		}
	}
	id := b.String()
	n := i.used[id]
	i.used[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (i *ids) Put(value []byte) { i.used[string(value)]++ }
