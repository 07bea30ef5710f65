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
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// errSurvived says that every test passed in spite of a mutation.
var errSurvived = errors.New("survived")

// errNothing says that no test could have failed.
var errNothing = errors.New("no test was run: run and focus select none")

// runner tries mutations of the tree at root, which it never changes.
type runner struct{ root, tmp string }

// try gives the test that kills a mutation. What does not compile, hangs or cannot run is an error, and no kill.
func (r runner) try(ctx context.Context, m mutation) (killer string, err error) {
	changed, err := m.apply(r.root)
	if err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(r.tmp, "")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	overlay, tree, err := r.write(ctx, changed, tmp)
	if err != nil {
		return "", err
	}
	return test(ctx, m, filepath.Join(r.root, m.pkg), overlay, filepath.Join(tree, m.pkg), filepath.Join(tmp, "mutated.test"))
}

// write gives what the compiler reads instead of Go files, and the tree in which the tests run: a copy when another file is
// changed, which tests may read.
func (r runner) write(ctx context.Context, changed map[string]string, tmp string) (overlay, tree string, err error) {
	overlay, tree = filepath.Join(tmp, "overlay.json"), r.root
	replace, files := map[string]string{}, map[string]string{}
	for file, text := range changed {
		to := filepath.Join(tmp, strings.ReplaceAll(file, "/", "_"))
		if strings.HasSuffix(file, ".go") {
			replace[filepath.Join(r.root, file)] = to
		} else {
			if tree, err = r.copied(ctx, filepath.Join(tmp, "tree")); err != nil {
				return "", "", err
			}
			to = filepath.Join(tree, file)
		}
		files[to] = text
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	files[overlay] = string(text)
	for file, text := range files {
		err = errors.Join(err, os.WriteFile(file, []byte(text), 0o600))
	}
	return overlay, tree, err
}

// notCopied are folders that no test changes. Of them, tests need bin alone, which is large.
var notCopied = []string{".git", ".cluster", "bin", "dist"}

// copied copies the tree, once. The programs in bin are linked.
func (r runner) copied(ctx context.Context, to string) (string, error) {
	entries, err := os.ReadDir(r.root)
	if err != nil || os.Mkdir(to, 0o700) != nil { // it is there
		return to, err
	}
	args := []string{"-r", "-t", to}
	for _, e := range entries {
		if !slices.Contains(notCopied, e.Name()) {
			args = append(args, e.Name())
		}
	}
	if err := os.Symlink(filepath.Join(r.root, "bin"), filepath.Join(to, "bin")); err != nil {
		return to, err
	}
	return to, command(ctx, r.root, "cp", args...).Run()
}

// hangs is when a test binary is ended that does not end. Ginkgo gives up five minutes earlier.
const hangs = 10 * time.Minute

var (
	failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	spec   = regexp.MustCompile(`(?m)^\s*(?:\x1b\[[0-9;]*m)*\[FAIL\] (.*)`)
	// nothing is in the output of tests when none of them, or no spec, was run.
	nothing = regexp.MustCompile(`(?m)^testing: warning: no tests to run$|^Ran 0 of \d+ Specs? in `)
)

// test compiles the tests of a package and runs them in a folder. The error is errSurvived when they pass.
func test(ctx context.Context, m mutation, source, overlay, folder, binary string) (killer string, err error) {
	compile := command(ctx, source, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay="+overlay, "-o", binary, ".")
	if out, err := compile.CombinedOutput(); err != nil {
		return "", fmt.Errorf("it does not compile, which no test has noticed: %w\n%s", err, tail(string(out)))
	}
	args := []string{"-test.failfast", "-test.timeout=" + hangs.String(), "-test.run=" + m.run}
	if m.focus != "" {
		args = append(args, "-ginkgo.fail-fast", "-ginkgo.no-color", "-ginkgo.focus="+m.focus)
	}
	out, err := command(ctx, folder, binary, args...).CombinedOutput()
	text := string(out)
	found, specs := failed.FindStringSubmatch(text), spec.FindStringSubmatch(text)
	switch {
	case err == nil && nothing.MatchString(text):
		return "", errNothing
	case err == nil:
		return "", errSurvived
	case found == nil || specs != nil && strings.Contains(specs[1], "BeforeSuite"):
		return "", fmt.Errorf("the tests could not run, or did not end: %w\n%s", err, tail(text))
	case specs != nil:
		return specs[1], nil
	default:
		return found[1], nil
	}
}

// command is one that is interrupted, so that it cleans up, when ctx ends.
func command(ctx context.Context, folder, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = folder
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = time.Minute
	return c
}

// tail is the end of an output.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
