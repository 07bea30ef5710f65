// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

type options struct {
	pkg, focus, labels, report string
	files                      string // a regular expression for the files whose specs are run; empty: all
	runs, jobs, load           int
	// timeout is for one run. What does not end by itself then is interrupted, and killed after grace.
	timeout, grace time.Duration
}

// soak runs the tests as o says, writes the report, and prints what is worth knowing. It fails if a run failed, if nothing was
// run, or when ctx ends; nothing that it started is left then.
func soak(ctx context.Context, out io.Writer, o options) error {
	tmp, err := os.MkdirTemp("", "soak")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	b, err := compile(ctx, o.pkg, filepath.Join(tmp, "soak.test"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d runs of %s, %d at once beside %d busy loops\n", o.runs, o.pkg, o.jobs, o.load)
	endLoad := busy(o.load)
	runs := runAll(ctx, out, o, b, tmp)
	endLoad()
	return errors.Join(ctx.Err(), summarize(out, o, b, runs))
}

// binary is a compiled test binary.
type binary struct {
	path, folder string // where it is, and where its package is
	ginkgo       bool   // whether it has specs
}

// compile compiles the tests of a package once, with the flags of make test, so that they share what is compiled.
func compile(ctx context.Context, pkg, path string) (binary, error) {
	b := binary{path: path}
	out, err := exec.CommandContext(ctx, "go", "list", "-test", "-f", "{{.Dir}}\n{{join .Deps \"\\n\"}}", "--", pkg).Output()
	if err != nil {
		return b, fmt.Errorf("finding the package %q: %w", pkg, withStderr(err))
	}
	b.folder, _, _ = strings.Cut(string(out), "\n")
	b.ginkgo = strings.Contains(string(out), "\ngithub.com/onsi/ginkgo/v2\n")
	text, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", path, pkg).CombinedOutput()
	if err != nil {
		return b, fmt.Errorf("compiling the tests of %s: %w\n%s", pkg, err, text)
	}
	if _, err := os.Stat(path); err != nil {
		return b, fmt.Errorf("%s is not one package with tests: %s", pkg, strings.TrimSpace(string(text)))
	}
	return b, nil
}

func withStderr(err error) error {
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}

// busy occupies n threads until the function is called that it returns.
func busy(n int) (end func()) {
	var done atomic.Bool
	var loops sync.WaitGroup
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(before + n)
	for range n {
		loops.Go(func() {
			for !done.Load() {
			}
		})
	}
	return func() {
		done.Store(true)
		loops.Wait()
		runtime.GOMAXPROCS(before)
	}
}

// runAll does the runs, some at once, and returns those that ended before ctx did, by their seeds.
func runAll(ctx context.Context, out io.Writer, o options, b binary, tmp string) []run {
	var mu sync.Mutex
	var runs []run
	var workers errgroup.Group
	workers.SetLimit(o.jobs)
	for seed := 1; seed <= o.runs && ctx.Err() == nil; seed++ {
		workers.Go(func() error {
			r := run{seed: seed, onOneProcessor: seed%2 == 0}
			if ctx.Err() == nil {
				r.do(ctx, o, b, filepath.Join(tmp, fmt.Sprint(seed)))
			}
			if ctx.Err() != nil {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			runs = append(runs, r)
			fmt.Fprintf(out, "[%d/%d] SEED=%d %s after %s\n", len(runs), o.runs, seed, r.verdict(), r.took.Round(time.Second))
			return nil
		})
	}
	_ = workers.Wait() // none gives an error
	slices.SortFunc(runs, func(a, b run) int { return a.seed - b.seed })
	return runs
}
