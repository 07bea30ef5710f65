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
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	askedLines = 16 // of a sample; the file has the rest
	factWidth  = 16
)

// answer is what a person can do, or cannot.
type answer struct {
	can  bool
	what string
}

// page is the report that is being written.
type page struct {
	console
	strings.Builder
}

func (p *page) line(text string) { fmt.Fprintln(p, strings.TrimRight(text, " ")) }

// sample writes what was asked and what now exists.
func (p *page) sample(s *sample, file string, facts []fact) {
	gap := max(1, textWidth-utf8.RuneCountInString(s.title())-utf8.RuneCountInString(file))
	p.line("\n" + p.paint(bold, s.title()) + strings.Repeat(" ", gap) + p.paint(dim, file))
	if s.comment != "" {
		p.paragraph("", s.comment)
	}
	p.line("\n  " + p.paint(bold, "asked for"))
	asked := askedFor(s.text)
	for i, line := range asked {
		if i == askedLines && len(asked) > askedLines+1 {
			p.line("    " + p.paint(dim, fmt.Sprintf("… and %d more lines", len(asked)-i)))
			break
		}
		p.line("    " + p.paint(dim, line))
	}
	p.line("\n  " + p.paint(bold, "what now exists"))
	p.facts("    ", facts)
}

// askedFor is the spec of a sample as the file has it, without the outer indentation; all of the text
// when there is none.
func askedFor(text string) []string {
	_, spec, found := strings.Cut("\n"+text, "\nspec:\n")
	if !found {
		return strings.Split(text, "\n")
	}
	var lines []string
	for line := range strings.SplitSeq(spec, "\n") {
		if line != "" && line[0] != ' ' && line[0] != '-' {
			break // the next field of the object
		}
		lines = append(lines, strings.TrimPrefix(line, "  "))
	}
	return lines
}

// facts writes a column of names and what is to be said about each.
func (p *page) facts(indent string, facts []fact) {
	for _, f := range facts {
		lead := fmt.Sprintf("%-*s ", factWidth-1, f.what)
		for i, line := range wrap(f.text, textWidth-len(indent)-factWidth) {
			if i > 0 {
				lead = strings.Repeat(" ", factWidth)
			}
			p.line(indent + lead + line)
		}
	}
}

func (p *page) paragraph(indent, text string) {
	for _, line := range wrap(text, textWidth-len(indent)) {
		p.line(indent + line)
	}
}

// tour writes as whom and what to try.
func (p *page) tour(g *tour, kubeconfig string, answers []answer) {
	p.line("\n" + p.paint(bold, "Try it as "+g.user))
	p.paragraph("", fmt.Sprintf("%s says who you are: a client certificate for %s, in the namespace %s. "+
		"What the API server answers when asked:", kubeconfig, g.user, g.namespace))
	for _, a := range answers {
		verdict := p.paint(green, "can   ")
		if !a.can {
			verdict = p.paint(red, "cannot")
		}
		p.line("    " + verdict + "  " + a.what)
	}
	for i, c := range g.commands {
		p.command(fmt.Sprintf("%d. ", i+1), c)
	}
}

// command writes something to type: on one line where it fits, else broken so that it still can be pasted.
func (p *page) command(lead string, c command) {
	p.line("")
	indent := strings.Repeat(" ", len(lead))
	for i, line := range wrap(c.why, textWidth-len(lead)) {
		if i == 0 {
			line = lead + line
		} else {
			line = indent + line
		}
		p.line(line)
	}
	line := indent + "  "
	width := 0
	for _, part := range c.parts {
		if width > 0 && len(indent)+2+width+1+len(part)+2 > textWidth { // 2 for the break
			p.line(p.paint(cyan, line+" \\"))
			line, width = indent+"      ", 4
		} else if width > 0 {
			line, width = line+" ", width+1
		}
		line, width = line+part, width+len(part)
	}
	p.line(p.paint(cyan, line))
	if c.answer != "" {
		p.line(indent + p.paint(dim, "It was tried just now; the answer was:"))
		for _, line := range wrap(c.answer, textWidth-len(indent)-2) {
			p.line(indent + "  " + p.paint(red, line))
		}
	}
}

// end writes where everything is.
func (p *page) end(facts []fact) {
	p.line("\n" + p.paint(bold, "Where things are"))
	p.facts("  ", facts)
}
