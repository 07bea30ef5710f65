// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	module = "github.com/acme/platform-operator"
	// guarantees is the package that Ginkgo's own program runs, in several processes.
	guarantees = "./test/guarantees"
)

// modules tests modules beside the main one. Go's cache does not see when a file outside of a module changes, and their tests
// read those of this repository: they pass again without a run only if no file of the repository has changed.
func (t *tests) modules(ctx context.Context, folders []string) ([]failure, error) {
	t.say(fmt.Sprintf("1 of 3: %d modules", len(folders)))
	var failed []failure
	for _, folder := range folders {
		passed, record := t.passedBefore(strings.ReplaceAll(folder, "/", "-"))
		if passed {
			fmt.Fprintf(t.out, "ok  \t%s\t(passed with this tree)\n", folder)
			continue
		}
		failures, err := t.goTest(ctx, folder, "./...")
		if err != nil {
			return nil, err
		}
		if len(failures) == 0 {
			record()
		}
		failed = append(failed, failures...)
	}
	return failed, nil
}

// packages tests the packages of the main module but for the guarantees. What has passed and has not changed comes from Go's
// cache.
func (t *tests) packages(ctx context.Context) ([]failure, error) {
	list := exec.CommandContext(ctx, "go", "list", "./...")
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./...: %w", err)
	}
	packages := slices.DeleteFunc(strings.Fields(string(output)), func(p string) bool {
		return strings.HasSuffix(p, strings.TrimPrefix(guarantees, "."))
	})
	t.say(fmt.Sprintf("2 of 3: %d packages", len(packages)))
	return t.goTest(ctx, ".", packages...)
}

// goTest tests packages of the module in a folder.
func (t *tests) goTest(ctx context.Context, folder string, packages ...string) ([]failure, error) {
	args := append([]string{"-p", fmt.Sprint(t.atOnce)}, packages...)
	if folder != "." {
		args = append([]string{"-count=1"}, args...)
	}
	reader, writer := io.Pipe()
	command := t.command(ctx, folder, args...)
	command.Stdout, command.Stderr = writer, writer
	if err := command.Start(); err != nil {
		return nil, err
	}
	go func() { _ = writer.CloseWithError(command.Wait()) }()
	total := 0
	if folder == "." {
		total = len(packages)
	}
	failed, err := parse(reader, t.out, total)
	for i := range failed {
		if !failed[i].broken {
			failed[i].again = func(ctx context.Context) error {
				once := t.command(ctx, folder, "-count=1", "-p", "1", failed[i].pkg)
				once.Stdout, once.Stderr = t.out, t.out
				return once.Run()
			}
		}
	}
	if err != nil && len(failed) == 0 {
		return nil, fmt.Errorf("go test in %s: %w", folder, err)
	}
	return failed, nil
}

func (t *tests) command(ctx context.Context, folder string, args ...string) *exec.Cmd {
	flags := append([]string{"test", "-vet=off", "-ldflags=-s -w", "-timeout=35m"}, strings.Fields(t.goFlags)...)
	command := exec.CommandContext(ctx, "go", append(flags, args...)...)
	command.Dir = filepath.Clean(folder)
	return command
}

var (
	colors = regexp.MustCompile("\x1b\\[[0-9;]*m")
	spec   = regexp.MustCompile(`^\s*\[(?:FAIL|PANICKED!|TIMEDOUT)\] (.*)$`)
	goTest = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)
	// What became of a package, its path, and why it did not even run.
	verdict = regexp.MustCompile(`^(ok  |FAIL|\?   )\t(\S+)(?: \[(build|setup) failed\])?`)
)

// parse passes on what go test prints, says with each package how many of the total are left, and gives those that failed. Its
// error is that of the reader: how go test ended.
func parse(from io.Reader, to io.Writer, total int) ([]failure, error) {
	var failed []failure
	var specs, tests []string
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		if line == "" && err != nil {
			return failed, ended(err)
		}
		plain := colors.ReplaceAllString(line, "")
		if m := spec.FindStringSubmatch(plain); m != nil {
			specs = append(specs, m[1])
		}
		if m := goTest.FindStringSubmatch(plain); m != nil {
			tests = append(tests, m[1])
		}
		m := verdict.FindStringSubmatch(plain)
		if m == nil {
			fmt.Fprintln(to, line)
			continue
		}
		if m[1] == "FAIL" {
			failed = append(failed, failure{pkg: m[2], specs: named(specs, tests), broken: m[3] != ""})
		}
		specs, tests = nil, nil
		if total--; total >= 0 {
			line = fmt.Sprintf("%s (%d left)", line, total)
		}
		fmt.Fprintln(to, line)
	}
}

func ended(err error) error {
	if err == io.EOF { //nolint:errorlint // io.Pipe gives it as it is
		return nil
	}
	return err
}

// named are the tests that failed: the specs, or, without any, the tests of Go's but for those whose subtests are named.
func named(specs, tests []string) []string {
	if len(specs) > 0 {
		slices.Sort(specs)
		return slices.Compact(specs)
	}
	return slices.DeleteFunc(tests, func(name string) bool {
		return slices.ContainsFunc(tests, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
}
