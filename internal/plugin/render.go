// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf16"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Printer writes for people. What was written by others loses its control characters.
type Printer struct {
	// Out is where it goes.
	Out io.Writer
	// Colours is whether Out is a terminal that shows them.
	Colours bool
	// Wide is whether messages are written whole, Namespaces whether rows begin with the namespace.
	Wide, Namespaces bool
	// Now is the time from which ages are counted.
	Now time.Time

	indent string
}

// Colours of a terminal.
const (
	red    = "31"
	yellow = "33"
	green  = "32"
	plain  = "39"
	bold   = "1"
)

var colours = map[string]string{Failed: red, NotReady: yellow, Deleting: yellow, Unseen: yellow, Paused: yellow, Ready: green, Plain: plain}

// painted is text without control characters of others, in a colour.
type painted string

func (p Printer) paint(colour, text string) painted {
	text = clean(text)
	if !p.Colours || colour == "" {
		return painted(text)
	}
	return painted("\x1b[" + colour + "m" + text + "\x1b[0m")
}

// line writes a line. The texts in it are cleaned; what is painted is clean already.
func (p Printer) line(format string, args ...any) {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = printable(text)
		}
	}
	fmt.Fprintf(p.Out, format+"\n", args...)
}

// printable replaces control characters and marks of direction, with which a text can show what it is not.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
}

// clean makes one printable line of a text of others.
func clean(text string) string { return printable(oneLine(text)) }

// EscapeControls escapes in JSON the control characters and marks of direction that JSON may have in strings.
func EscapeControls(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, `\u%04x`, unit)
			}
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// Overview writes a table of objects.
func (p Printer) Overview(o Overview) {
	if len(o.Objects) == 0 {
		p.line("nothing of the operator's kinds is here; --all-namespaces looks everywhere")
	} else {
		p.table(o.Objects)
	}
	p.hidden(o.Hidden)
}

// maxMessage is how long a message in a table is, unless it is wide.
const maxMessage = 90

func (p Printer) table(rows []Row) {
	w := tabwriter.NewWriter(p.Out, 0, 8, 3, ' ', 0)
	if p.Namespaces {
		fmt.Fprint(w, "NAMESPACE\t")
	}
	fmt.Fprintf(w, "KIND\tNAME\t%s\tREASON\tSINCE\tMESSAGE\n", p.paint(plain, "STATE"))
	for _, r := range rows {
		message := clean(r.Message)
		if runes := []rune(message); !p.Wide && len(runes) > maxMessage {
			message = string(runes[:maxMessage-1]) + "…"
		}
		if p.Namespaces {
			fmt.Fprintf(w, "%s\t", clean(r.Namespace))
		}
		// The colour is in every row, so that the columns keep their widths.
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", clean(strings.ToLower(r.Kind)), clean(r.Name), p.paint(colours[r.State.State], r.State.State),
			clean(r.Reason), Ago(r.Since.Time, p.Now), message)
	}
	_ = w.Flush() // what cannot be printed cannot be reported either
}

func (p Printer) hidden(lines []string) {
	for _, text := range lines {
		p.line("note: %s", text)
	}
}

func (p Printer) title(text string) { p.line("\n%s", p.paint(bold, text)) }

// Status writes all about one object.
func (p Printer) Status(s Status) {
	where := ""
	if s.Namespace != "" {
		where = " in namespace " + s.Namespace
	}
	p.line("%s %s%s: %s%s", s.Kind, s.Name, where, p.paint(colours[s.State.State], s.State.State), reasonOf(s.State))
	p.facts("Asked for", s.Asked)
	p.facts("Now", s.Facts)
	if len(s.Children) > 0 {
		p.title("Exists because of it")
		p.tree(s.Children, "  ")
	}
	if len(s.Conditions) > 0 {
		p.title("Conditions")
	}
	for _, c := range s.Conditions {
		p.line("  %s %s", p.sign(c), Sentence(c, p.Now))
	}
	p.events(s.Events)
	if len(s.Next) > 0 {
		p.title("Next")
	}
	for _, command := range s.Next {
		p.line("  %s", command)
	}
	if len(s.Hidden) > 0 {
		p.line("%s", "")
	}
	p.hidden(s.Hidden)
}

func reasonOf(s State) string {
	if s.Reason == "" || s.Reason == s.State {
		return ""
	}
	return " (" + s.Reason + ")"
}

func (p Printer) facts(title string, facts []Fact) {
	if len(facts) == 0 {
		return
	}
	p.title(title)
	w := tabwriter.NewWriter(p.Out, 0, 8, 2, ' ', 0)
	for _, f := range facts {
		fmt.Fprintf(w, "  %s\t%s\n", clean(f.Name), clean(f.Value))
	}
	_ = w.Flush() // what cannot be printed cannot be reported either
}

func (p Printer) tree(children []Child, indent string) {
	for _, c := range children {
		colour, name := "", c.Name
		if c.Wrong {
			colour = red
		}
		if c.Namespace != "" {
			name = c.Namespace + "/" + name
		}
		p.line("%s%s %s: %s", indent, c.Kind, name, p.paint(colour, c.Is))
		p.tree(c.Children, indent+"  ")
	}
}

// sign marks a condition; Stalled and Paused are good when they are not true.
func (p Printer) sign(c metav1.Condition) painted {
	good := metav1.ConditionTrue
	if c.Type == conditionStalled || c.Type == conditionPaused {
		good = metav1.ConditionFalse
	}
	switch c.Status {
	case good:
		return p.paint(green, "+")
	case metav1.ConditionUnknown:
		return p.paint(yellow, "?")
	default:
		return p.paint(red, "-")
	}
}

func (p Printer) events(events []Event) {
	if len(events) == 0 {
		return
	}
	p.title("Last events")
	for _, e := range events {
		colour, times := "", ""
		if e.Type != "Normal" {
			colour = yellow
		}
		if e.Count > 1 {
			times = fmt.Sprintf(" (%d times)", e.Count)
		}
		p.line("  %s ago%s  %s: %s", Ago(e.Last.Time, p.Now), times, p.paint(colour, e.Reason), oneLine(e.Message))
	}
}
