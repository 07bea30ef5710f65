// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// whole is the name under which runs are counted, whatever they ran.
const whole = "(the whole run)"

// shown is how many results are printed.
const shown = 10

// results is what the report has.
type results struct {
	Package string `json:"package"`
	Runs    int    `json:"runs"`
	// Failed are the seeds of the runs that failed.
	Failed []int `json:"failed"`
	// Specs has the results of the specs and the tests, the worst first.
	Specs []result `json:"specs"`
}

// result is what became of a spec or a test in all runs.
type result struct {
	Spec     string  `json:"spec"`
	Runs     int     `json:"runs"`
	Failures int     `json:"failures"`
	Seeds    []int   `json:"seeds,omitempty"` // of the runs in which it failed
	Median   float64 `json:"medianSeconds"`
	Slowest  float64 `json:"slowestSeconds"`
}

// summarize writes the report and the output of runs that failed, and prints the worst results and how to repeat failures.
func summarize(out io.Writer, o options, b binary, runs []run) error {
	all := collect(o.pkg, runs)
	text, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = write(o.report, append(text, '\n'))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nfailures  runs  median s  slowest s\n")
	for _, r := range all.Specs[:min(shown, len(all.Specs))] {
		fmt.Fprintf(out, "%8d %5d %9.2f %10.2f  %s\n", r.Failures, r.Runs, r.Median, r.Slowest, r.Spec)
	}
	fmt.Fprintf(out, "all results are in %s\n", o.report)
	for _, r := range runs {
		if r.err == nil {
			continue
		}
		log := filepath.Join(strings.TrimSuffix(o.report, filepath.Ext(o.report)), fmt.Sprintf("%d.log", r.seed))
		if err := write(log, r.output); err != nil {
			return err
		}
		fmt.Fprintf(out, "\nSEED=%d failed (%v): %s\nagain: %s\n", r.seed, r.err, log, r.again(o, b))
	}
	switch {
	case len(all.Failed) > 0:
		return fmt.Errorf("%d of %d runs failed", len(all.Failed), len(runs))
	case len(runs) > 0 && len(all.Specs) == 1:
		return errors.New("no test was run: nothing is selected")
	}
	return nil
}

// collect sorts results by failures, then by the slowest run.
func collect(pkg string, runs []run) results {
	all := results{Package: pkg, Runs: len(runs)}
	bySpec := map[string]*result{}
	seconds := map[string][]float64{}
	for _, r := range runs {
		if r.err != nil {
			all.Failed = append(all.Failed, r.seed)
		}
		for _, t := range append(r.tests, test{whole, false, r.err != nil, r.took.Seconds()}) {
			if t.skipped {
				continue
			}
			if bySpec[t.name] == nil {
				bySpec[t.name] = &result{Spec: t.name}
			}
			bySpec[t.name].Runs++
			if t.failed {
				bySpec[t.name].Failures++
				bySpec[t.name].Seeds = append(bySpec[t.name].Seeds, r.seed)
			}
			seconds[t.name] = append(seconds[t.name], t.seconds)
		}
	}
	for name, r := range bySpec {
		s := slices.Sorted(slices.Values(seconds[name]))
		r.Median, r.Slowest = s[len(s)/2], s[len(s)-1]
		all.Specs = append(all.Specs, *r)
	}
	slices.SortFunc(all.Specs, func(a, b result) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(b.Slowest, a.Slowest), cmp.Compare(a.Spec, b.Spec))
	})
	return all
}

// again is the command that repeats the run, without the load.
func (r *run) again(o options, b binary) string {
	var words []string
	for _, variable := range r.environment(o) {
		name, value, _ := strings.Cut(variable, "=")
		words = append(words, name+"="+quoted(value))
	}
	words = append(words, "go test -count=1 -vet=off -ldflags='-s -w' -timeout="+o.timeout.String(), o.pkg)
	for _, f := range o.selection(b) {
		words = append(words, quoted(f))
	}
	return strings.Join(words, " ")
}

// plain is a word that needs no quotes.
var plain = regexp.MustCompile(`^[\w./=:-]*$`)

// quoted quotes a word for a shell.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// write writes a file, and makes its folder.
func write(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
