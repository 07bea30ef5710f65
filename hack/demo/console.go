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
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

const (
	// textWidth is the width that reports are wrapped at.
	textWidth = 100
	// titleWidth is the width of the first column of progress lines, the same as that of the cluster's.
	titleWidth = 24
	// liveInterval and plainInterval are the times between two lines about something that takes long: on a
	// terminal, where they are redrawn, and elsewhere, where each is a new line.
	liveInterval  = time.Second
	plainInterval = 15 * time.Second
)

// style is how a piece of text looks on a terminal.
type style string

const (
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// console is where a person reads.
type console struct {
	out   io.Writer
	live  bool // lines can be redrawn
	color bool
	width int // of the terminal; 0 where lines are not redrawn
}

// newConsole finds out what out can do.
func newConsole(out io.Writer) console {
	c := console{out: out}
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return c
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if width == 0 { // the terminal does not know
		width = 80
	}
	c.live = err == nil && width > titleWidth+20
	c.color = os.Getenv("NO_COLOR") == ""
	c.width = width
	return c
}

// paint styles text where colours are wanted.
func (c console) paint(s style, text string) string {
	if !c.color {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// board is a block of progress lines: redrawn in place on a terminal, else one line for each change.
type board struct {
	console
	rows  []row
	start time.Time
	drawn bool
}

type row struct {
	title, state string
	done         bool
	printed      string // the state that was printed last, where lines are not redrawn
}

func (c console) board(titles ...string) *board {
	b := &board{console: c, start: time.Now()}
	for _, t := range titles {
		b.rows = append(b.rows, row{title: t})
	}
	return b
}

// set changes a line; draw shows it.
func (b *board) set(i int, state string, done bool) { b.rows[i].state, b.rows[i].done = state, done }

// open lists what is not done yet.
func (b *board) open() []string {
	var open []string
	for _, r := range b.rows {
		if !r.done {
			open = append(open, r.title+": "+r.state)
		}
	}
	return open
}

// elapsed is the time since the board was made.
func (b *board) elapsed() string { return fmt.Sprintf("%.1fs", time.Since(b.start).Seconds()) }

func (b *board) draw() {
	if b.live && b.drawn {
		fmt.Fprintf(b.out, "\x1b[%dA", len(b.rows)) // up to the first row
	}
	b.drawn = true
	for i := range b.rows {
		r := &b.rows[i]
		switch {
		case b.live:
			fmt.Fprintf(b.out, "\r\x1b[K%s\n", b.line(*r))
		case r.state != r.printed:
			fmt.Fprintln(b.out, b.line(*r))
			r.printed = r.state
		}
	}
}

// line is a row that fits into a line of the terminal: a longer one would break the redrawing.
func (b *board) line(r row) string {
	state, color := r.state, green
	if !r.done {
		color = yellow
		if b.live {
			state += fmt.Sprintf(" (%ds)", int(time.Since(b.start).Seconds()))
		}
	}
	title := fmt.Sprintf("  %-*s ", titleWidth, r.title)
	if b.live {
		title = cut(title, b.width)
		state = cut(state, b.width-utf8.RuneCountInString(title))
	}
	return title + b.paint(color, state)
}

// step does work that may take a while, with a line that says so. What work returns is the end of the line.
func (c console) step(title, doing string, work func() (string, error)) error {
	b := c.board(title)
	b.set(0, doing+" …", false)
	if c.live {
		b.draw()
	}
	ticker := time.NewTicker(liveInterval)
	defer ticker.Stop()
	said, done := "", make(chan error, 1)
	go func() {
		var err error
		said, err = work()
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				said = "failed"
			}
			b.set(0, said+" after "+b.elapsed(), err == nil)
			b.draw()
			return err
		case <-ticker.C:
			if !c.live {
				b.set(0, fmt.Sprintf("%s … %.0fs", doing, time.Since(b.start).Seconds()), false)
				ticker.Reset(plainInterval)
			}
			b.draw()
		}
	}
}

// cut shortens text to at most width characters.
func cut(text string, width int) string {
	switch {
	case width <= 0:
		return ""
	case utf8.RuneCountInString(text) <= width:
		return text
	default:
		return string([]rune(text)[:width-1]) + "…"
	}
}

// nbsp is a space at which wrap does not break a line.
const nbsp = "\u00a0"

// wrap breaks text at spaces into lines of at most width characters; a longer word keeps a line to itself.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' }) {
		word = strings.ReplaceAll(word, nbsp, " ")
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
