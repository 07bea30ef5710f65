// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// aim is one figure: what is aimed at, and what was found.
type aim struct {
	Name string  `json:"name"`
	Most float64 `json:"most"`
	Got  float64 `json:"got"`
	OK   bool    `json:"ok"`
	// Enforced says that the bench fails when the figure is too high. Only what load does not move is enforced: what can be
	// counted, growth of memory, ratios of processor time. Times never are, nor ratios of times but one, punctuality.
	Enforced bool `json:"enforced"`
	// Ceiling is enforced instead of an aim that is not reached yet: the most that was measured. It goes down
	// with what is measured, and away when the aim is reached.
	Ceiling float64 `json:"ceiling,omitempty"`
}

// unpunctual is far more than load can make of punctuality, since it slows both down, and far less than a run that is late
// because nobody looked: 25 s late is 25.
const unpunctual = 10

// punctuality is how late the last runs of a minute start, measured by a client that creates as many Jobs in the same run.
// That client is taken to need a second at least: of few runs it needs so little that a ratio would tell of nothing else.
func punctuality(late, raw float64) aim {
	return aim{
		Name: "p99 of the start delay, CronTab / raw client, or a second", Most: 2, Got: late / max(raw, 1), Enforced: true, Ceiling: unpunctual,
	}
}

// limit is the most with which the bench ends well.
func (a aim) limit() float64 { return max(a.Most, a.Ceiling) }

// exceeded reports whether an enforced figure is too high. One that is no number is.
func (a aim) exceeded() bool { return a.Enforced && !(a.Got <= a.limit()) }

// compare judges what was found by the aims.
func compare(aims ...aim) []aim {
	for i := range aims {
		aims[i].OK = aims[i].Got <= aims[i].Most
	}
	return aims
}

// printAims writes what was aimed at, what was found, and what that means.
func printAims(out io.Writer, aims []aim) {
	table(out, 0, func(row func(string, ...any)) {
		row("  \tfigure\tfound\taim\tenforced")
		for _, a := range aims {
			verdict, enforced := "met", "no"
			if !a.OK {
				verdict = "MISSED"
			}
			if a.Enforced {
				enforced = fmt.Sprintf("at most %g", a.limit())
			}
			if a.exceeded() {
				verdict, enforced = "FAILED", enforced+": EXCEEDED"
			}
			row("  %s\t%s\t%.3g\t%.3g\t%s", verdict, a.Name, a.Got, a.Most, enforced)
		}
	})
}

// aims are those of everything that was measured.
func (r *report) aims() []aim {
	var all []aim
	for _, name := range slices.Sorted(maps.Keys(r.Results)) {
		all = append(all, r.Results[name].judged()...)
	}
	return all
}

// verdict is an error when an enforced figure is too high; if strict, also when any aim is missed.
func (r *report) verdict(strict bool) error {
	var names []string
	missed := slices.DeleteFunc(r.aims(), func(a aim) bool { return !a.exceeded() && (a.OK || !strict) })
	for _, a := range missed {
		names = append(names, fmt.Sprintf("%s (%.3g)", a.Name, a.Got))
	}
	if len(names) > 0 {
		return fmt.Errorf("too high: %s", strings.Join(names, "; "))
	}
	return nil
}
