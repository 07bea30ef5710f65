// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command test runs all tests, as `make test` does: those of the modules beside the main one, those of the packages, and the
// guarantees of the kinds that a change affects. What fails runs once more, alone and with nothing beside it, unless the
// change touches its package: a second run would hide what the change has broken. Each test that passes then is a flake:
// it gets a line "FLAKE package spec commit" in the output and in the file flakes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/acme/platform-operator/hack/affected/change"
)

func main() {
	t := tests{out: os.Stdout, began: time.Now()}
	modules := flag.String("modules", "", "folders of the modules to test, separated by spaces")
	flag.StringVar(&t.goFlags, "flags", "", "more flags for go test, separated by spaces")
	flag.IntVar(&t.atOnce, "packages", 4, "how many packages are tested at once")
	flag.IntVar(&t.procs, "procs", 2, "how many processes run the guarantees")
	flag.StringVar(&t.cache, "cache", "", "folder that keeps what has passed, and flakes; empty: nothing is kept, and everything runs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := t.run(ctx, strings.Fields(*modules))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tests is a run of all tests.
type tests struct {
	out     *os.File
	began   time.Time
	goFlags string
	atOnce  int
	procs   int
	cache   string

	change change.Change
	key    string // of the tree's content, for what Go's cache of test results does not know
}

// failure is what has failed, and how to run that again.
type failure struct {
	pkg    string
	specs  []string
	broken bool // it does not compile: a second run would be of no use
	again  func(context.Context) error
}

func (t *tests) run(ctx context.Context, modules []string) error {
	if err := quarantine(quarantineFile, t.began.UTC()); err != nil {
		return err
	}
	var err error
	if t.change, err = change.Since(".", t.file("green")); err != nil {
		return fmt.Errorf("finding out what has changed: %w", err)
	}
	fmt.Fprintln(t.out, t.change.Why)
	if t.key, err = contentOf(ctx, "."); err != nil {
		return fmt.Errorf("reading the tree: %w", err)
	}
	var failed []failure
	for _, part := range []func(context.Context) ([]failure, error){
		func(ctx context.Context) ([]failure, error) { return t.modules(ctx, modules) },
		t.packages,
		t.guarantees,
	} {
		failures, err := part(ctx)
		if err != nil {
			return err
		}
		failed = append(failed, failures...)
	}
	if failed = t.again(ctx, failed); len(failed) > 0 {
		var lines []error
		for _, f := range failed {
			lines = append(lines, fmt.Errorf("FAILED %s %s", f.pkg, strings.Join(f.specs, ", ")))
		}
		return fmt.Errorf("some tests FAILED after %s:\n%w", t.minutes(), errors.Join(lines...))
	}
	t.say("all tests passed")
	return nil
}

// again runs what has failed once more, one after the other, and gives what fails still.
func (t *tests) again(ctx context.Context, failed []failure) []failure {
	touched, err := t.change.Packages()
	if err != nil {
		fmt.Fprintf(t.out, "no second run of anything: it is not known what the change touches: %v\n", err)
		return failed
	}
	var still []failure
	for _, f := range failed {
		switch {
		case f.again == nil:
			still = append(still, f)
		case slices.Contains(touched, f.pkg):
			t.say("no second run of " + f.pkg + ": the change touches it")
			still = append(still, f)
		default:
			t.say("once more, alone: " + f.pkg)
			if f.again(ctx) != nil {
				still = append(still, f)
				continue
			}
			t.flaky(f)
		}
	}
	return still
}

// flaky reports tests that failed and then passed.
func (t *tests) flaky(f failure) {
	if len(f.specs) == 0 {
		f.specs = []string{"(no test is named)"}
	}
	for _, spec := range f.specs {
		line := fmt.Sprintf("FLAKE %s %q %s", f.pkg, spec, t.change.Head)
		fmt.Fprintln(t.out, line)
		if err := appendLine(t.file("flakes"), t.began.UTC().Format(time.DateOnly)+" "+line); err != nil {
			fmt.Fprintf(t.out, "the flake is not recorded: %v\n", err)
		}
	}
}

// file is a file of the cache; empty without a cache.
func (t *tests) file(name string) string {
	if t.cache == "" {
		return ""
	}
	return filepath.Join(t.cache, name)
}

func (t *tests) say(what string) {
	fmt.Fprintf(t.out, "\n=== %s, %s after the start\n", what, t.minutes())
}

func (t *tests) minutes() string { return time.Since(t.began).Round(time.Second).String() }
