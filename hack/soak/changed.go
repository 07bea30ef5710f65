// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/acme/platform-operator/hack/affected/change"
)

// slow are packages of which a few runs take longer than the gate: they are soaked by hand.
var slow = []string{"test/guarantees", "test/e2e", "hack/soak", "test/ci"}

// soakChanged soaks the tests of each package that have changed since a tree that passed the gate, those of changed files alone where
// they are specs. After within it begins no other package, and names those that are left.
func soakChanged(ctx context.Context, out io.Writer, o options, green string, within time.Duration) error {
	c, err := change.Since(".", green)
	if err != nil {
		return fmt.Errorf("finding out what has changed: %w", err)
	}
	fmt.Fprintln(out, c.Why)
	if !c.Proved {
		fmt.Fprintln(out, "No test is known to be new.")
		return nil
	}
	packages, err := c.Packages()
	if err != nil {
		return err
	}
	tests, began := changedTests(c.Files, packages), time.Now()
	var errs []error
	for _, folder := range slices.Sorted(maps.Keys(tests)) {
		one := o
		one.pkg, one.files = "./"+folder, tests[folder]
		one.report = strings.TrimSuffix(o.report, ".json") + "-" + strings.ReplaceAll(folder, "/", "-") + ".json"
		if slices.Contains(slow, folder) || time.Since(began) > within {
			fmt.Fprintf(out, "Not soaked here: make soak PKG=%s N=%d\n", one.pkg, o.runs)
			continue
		}
		errs = append(errs, soak(ctx, out, one))
	}
	return errors.Join(errs...)
}

// changedTests are, by the folders of packages, regular expressions for the files with changed tests. Files of other modules, and
// those of packages that are gone, are left out.
func changedTests(files, packages []string) map[string]string {
	tests := map[string]string{}
	for _, file := range files {
		folder := path.Dir(file)
		known := slices.ContainsFunc(packages, func(p string) bool { return strings.HasSuffix(p, "/"+folder) })
		if !known || !strings.HasSuffix(file, "_test.go") {
			continue
		}
		name := "/" + regexp.QuoteMeta(path.Base(file)) + "$"
		if before := tests[folder]; before != "" {
			name = before + "|" + name
		}
		tests[folder] = name
	}
	return tests
}
