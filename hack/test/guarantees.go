// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/acme/platform-operator/hack/affected/change"
)

// report is where Ginkgo writes what became of each spec.
const report = "dist/guarantees.json"

// guarantees runs the guarantees of the kinds that the change affects, of all kinds when it is not known what has passed.
func (t *tests) guarantees(ctx context.Context) ([]failure, error) {
	kinds, err := t.change.Kinds()
	if err != nil {
		return nil, fmt.Errorf("finding out which kinds are affected: %w", err)
	}
	t.say("3 of 3: the guarantees of the kinds: " + kinds.Filter())
	filter := both(kinds, os.Getenv("LABELS"))
	passed, record := t.passedBefore("guarantees")
	if len(kinds.Names) == 0 || passed {
		fmt.Fprintf(t.out, "ok  \t%s\t(passed before)\n", guarantees)
		return nil, nil
	}
	if err := t.ginkgo(ctx, t.procs, filter); err == nil {
		record()
		return nil, nil
	}
	specs, err := failedSpecs(report)
	if err != nil {
		return nil, fmt.Errorf("reading what became of the guarantees: %w", err)
	}
	return []failure{{
		pkg: module + strings.TrimPrefix(guarantees, "."), specs: specs,
		again: func(ctx context.Context) error {
			if len(specs) == 0 { // the suite itself
				return t.ginkgo(ctx, t.procs, filter)
			}
			if err := t.ginkgo(ctx, 1, filter, "--focus="+focus(specs)); err != nil {
				return err
			}
			return allRan(report, specs)
		},
	}}, nil
}

// focus is a regular expression of the specs with these whole texts. Ginkgo puts the description of the suite before the text.
func focus(specs []string) string {
	var texts []string
	for _, s := range specs {
		texts = append(texts, regexp.QuoteMeta(s))
	}
	return " (" + strings.Join(texts, "|") + ")$"
}

// allRan is an error unless all these specs have run: a run of none of them passes.
func allRan(file string, specs []string) error {
	reports, err := readReports(file)
	if err != nil {
		return err
	}
	ran := specsOf(reports, func(s types.SpecReport) bool { return s.State.Is(types.SpecStatePassed) })
	for _, s := range specs {
		if !slices.Contains(ran, s) {
			return fmt.Errorf("%q has not run again", s)
		}
	}
	return nil
}

// ginkgo runs the guarantees that a filter selects, with a dot for each spec.
func (t *tests) ginkgo(ctx context.Context, procs int, filter string, more ...string) error {
	if err := errors.Join(os.MkdirAll("dist", 0o755), remove(report)); err != nil {
		return err
	}
	args := append([]string{
		"tool", "ginkgo", "--vet=off", "--ldflags=-s -w", "--timeout=45m", "--no-color", "--output-dir=dist",
		"--json-report=guarantees.json", fmt.Sprintf("--procs=%d", procs),
	}, more...)
	command := exec.CommandContext(ctx, "go", append(args, guarantees)...)
	command.Env = append(os.Environ(), "LABELS="+filter)
	command.Stdout, command.Stderr = t.out, t.out
	return command.Run()
}

func remove(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// failedSpecs are the whole texts of the specs that failed; none if the suite itself failed, such as its start, or did not end in time:
// some that did not fail have not run then.
func failedSpecs(file string) ([]string, error) {
	reports, err := readReports(file)
	for _, r := range reports {
		whole := len(r.SpecialSuiteFailureReasons) > 0
		for _, s := range r.SpecReports {
			whole = whole || s.Failed() && s.LeafNodeType != types.NodeTypeIt
		}
		if whole {
			return nil, err
		}
	}
	return specsOf(reports, types.SpecReport.Failed), err
}

// readReports reads what became of each spec. There are no reports if the suite was not even compiled.
func readReports(file string) ([]types.Report, error) {
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var reports []types.Report
	err = json.Unmarshal(text, &reports)
	return reports, err
}

// specsOf are the whole texts of the specs that a function selects.
func specsOf(reports []types.Report, selects func(types.SpecReport) bool) (all []string) {
	for _, r := range reports {
		for _, s := range r.SpecReports {
			if s.LeafNodeType == types.NodeTypeIt && selects(s) {
				all = append(all, s.FullText())
			}
		}
	}
	return all
}

// both is a label filter for the specs of some kinds that another filter selects. The empty one selects everything.
func both(kinds change.Kinds, labels string) string {
	switch {
	case kinds.All:
		return labels
	case labels == "":
		return kinds.Filter()
	}
	return "(" + kinds.Filter() + ") && (" + labels + ")"
}
