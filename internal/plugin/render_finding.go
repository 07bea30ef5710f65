// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

// Sign is what a line begins with.
type Sign string

// The signs.
const (
	SignGood    Sign = "+"
	SignBad     Sign = "-"
	SignUnknown Sign = "?"
	SignChange  Sign = "~"
	SignWarning Sign = "!"
)

var signs = map[Sign]string{SignGood: green, SignBad: red, SignUnknown: yellow, SignChange: yellow, SignWarning: yellow}

// Item writes a line with a sign, and what belongs to it in lines below.
func (p Printer) Item(sign Sign, text string, below ...string) {
	p.line("%s%s %s", p.indent, p.paint(signs[sign], string(sign)), clean(text))
	for _, line := range below {
		p.line("%s    %s", p.indent, clean(line))
	}
}

// Indented returns a printer whose items begin with an indent.
func (p Printer) Indented(indent string) Printer {
	p.indent = indent
	return p
}

// Title writes a title.
func (p Printer) Title(text string) { p.line("%s", p.paint(bold, text)) }

// Notes writes what there is to know besides.
func (p Printer) Notes(notes []string) { p.hidden(notes) }
