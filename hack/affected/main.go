// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command affected prints what has changed since the last commit that passed the checks, and what has to be checked because of
// that.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/acme/platform-operator/hack/affected/change"
)

func main() {
	var o options
	flag.StringVar(&o.green, "green", "", "file with the hashes of the trees that passed, one a line (git rev-parse HEAD^{tree})")
	flag.BoolVar(&o.kinds, "kinds", false, "print only a label filter for the guarantees of the affected kinds, or all, or none")
	flag.BoolVar(&o.packages, "packages", false, "print only the packages that own a changed file")
	flag.BoolVar(&o.tests, "go", false, "print only the packages that own a changed file or are compiled from one, tests included")
	flag.Parse()
	if err := o.report(os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	green                  string
	kinds, packages, tests bool
}

// report writes what the flags ask for, about the work tree around dir.
func (o options) report(out io.Writer, dir string) error {
	c, err := change.Since(dir, o.green)
	if err != nil {
		return err
	}
	switch {
	case o.kinds:
		kinds, err := c.Kinds()
		if err == nil {
			fmt.Fprintln(out, kinds.Filter())
		}
		return err
	case o.packages:
		return lines(out, c.Packages)
	case o.tests:
		return lines(out, c.Tests)
	}
	return summary(out, c)
}

func lines(out io.Writer, list func() ([]string, error)) error {
	all, err := list()
	for _, line := range all {
		fmt.Fprintln(out, line)
	}
	return err
}

// summary writes how the base was found, how much changed, and the kinds with what affects them.
func summary(out io.Writer, c change.Change) error {
	packages, err := c.Packages()
	if err != nil {
		return err
	}
	tests, err := c.Tests()
	if err != nil {
		return err
	}
	kinds, err := c.Kinds()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\nChanged: %d files of %d packages. Packages to test: %d. Guarantees to check: %s.\n",
		c.Why, len(c.Files), len(packages), len(tests), kinds.Filter())
	var causes []string
	affected := map[string][]string{}
	for _, name := range kinds.Names {
		file := kinds.Because[name]
		if affected[file] == nil {
			causes = append(causes, file)
		}
		affected[file] = append(affected[file], name)
	}
	for _, file := range causes {
		fmt.Fprintf(out, "  %s affects %s\n", file, strings.Join(affected[file], ", "))
	}
	return nil
}
