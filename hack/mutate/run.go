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
	"sync"
	"time"
)

// errSurvived says that every test passed in spite of a mutation.
var errSurvived = errors.New("survived")

// errNothing says that no test could have failed.
var errNothing = errors.New("no test was run: run and focus select none")

// runner tries mutations of the tree at root, which it never changes.
type runner struct {
	root, tmp string
	binaries  map[string]*binary // by the package whose tests they have
}

// binary is a test binary in which mutations can be switched on.
type binary struct {
	mutations map[string]int // their numbers, by what they break
	path      func() string  // compiles it once; empty if that fails
}

// prepare finds out which mutations can be in one binary.
func (r *runner) prepare(ctx context.Context, all []mutation) {
	trees := map[string]*switched{}
	r.binaries = map[string]*binary{}
	for i, m := range all {
		tree, b := trees[m.pkg], r.binaries[m.pkg]
		if tree == nil {
			tree, b = &switched{root: r.root, files: map[string]*switchedFile{}}, &binary{mutations: map[string]int{}}
			b.path = sync.OnceValue(func() string { return r.compileSwitched(ctx, m.pkg, tree) })
			trees[m.pkg], r.binaries[m.pkg] = tree, b
		}
		if tree.add(i+1, m) == nil {
			b.mutations[m.breaks] = i + 1
		}
	}
}

// compileSwitched gives the path of the test binary, or "" if it does not compile: its mutations are tried alone then, which
// shows the one that is to blame.
func (r *runner) compileSwitched(ctx context.Context, pkg string, tree *switched) string {
	tmp, err := os.MkdirTemp(r.tmp, "")
	if err != nil {
		return ""
	}
	overlay, _, err := r.write(ctx, tree.overlay(), tmp)
	path := filepath.Join(tmp, "switched.test")
	if err != nil || compile(ctx, filepath.Join(r.root, pkg), overlay, path) != nil {
		return ""
	}
	return path
}

// try gives the test that kills a mutation, or fails without any when m has none. What does not compile, hangs or cannot run
// is an error, and no kill.
func (r *runner) try(ctx context.Context, m mutation) (killer string, err error) {
	b := r.binaries[m.pkg]
	number, ok := b.mutations[m.breaks]
	if ok || len(m.edits) == 0 {
		if path := b.path(); path != "" {
			return run(ctx, m, filepath.Join(r.root, m.pkg), path, fmt.Sprint(number))
		}
	}
	return r.tryAlone(ctx, m)
}

// tryAlone compiles a binary for one mutation.
func (r *runner) tryAlone(ctx context.Context, m mutation) (killer string, err error) {
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
	path := filepath.Join(tmp, "mutated.test")
	if err := compile(ctx, filepath.Join(r.root, m.pkg), overlay, path); err != nil {
		return "", err
	}
	return run(ctx, m, filepath.Join(tree, m.pkg), path, "")
}

// write gives what the compiler reads instead of Go files, and the tree in which the tests run: a copy when another file is
// changed, which tests may read.
func (r *runner) write(ctx context.Context, changed map[string]string, tmp string) (overlay, tree string, err error) {
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
func (r *runner) copied(ctx context.Context, to string) (string, error) {
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

// compile makes the test binary of the package in a folder.
func compile(ctx context.Context, folder, overlay, path string) error {
	c := command(ctx, folder, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay="+overlay, "-o", path, ".")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("it does not compile, which no test has noticed: %w\n%s", err, tail(string(out)))
	}
	return nil
}

// run runs the tests of a mutation in a folder, with a number for the switch. The error is errSurvived when they pass.
func run(ctx context.Context, m mutation, folder, path, number string) (killer string, err error) {
	args := []string{"-test.failfast", "-test.timeout=" + hangs.String(), "-test.run=" + m.run}
	if m.focus != "" {
		args = append(args, "-ginkgo.fail-fast", "-ginkgo.no-color", "-ginkgo.focus="+m.focus)
	}
	c := command(ctx, folder, path, args...)
	c.Env = append(os.Environ(), variable+"="+number)
	out, err := c.CombinedOutput()
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
