// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command soak runs the tests of a package many times on a busy machine, each time in another order, and fails if any run
// fails: what passes here may be a part of the checks of every change.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func main() {
	o := options{grace: time.Minute}
	flag.StringVar(&o.pkg, "pkg", "", "package whose tests are run, for instance ./internal/engine")
	flag.IntVar(&o.runs, "n", 20, "how many times they are run, with SEED=1 and so on")
	flag.StringVar(&o.focus, "focus", "", "only specs with this text; without Ginkgo, only tests with names like it")
	flag.StringVar(&o.labels, "labels", os.Getenv("LABELS"), "only specs that this label filter selects")
	flag.DurationVar(&o.timeout, "timeout", 20*time.Minute, "when a run is ended that hangs")
	flag.IntVar(&o.jobs, "jobs", 2, "how many runs are going at once")
	flag.IntVar(&o.load, "load", 2*runtime.NumCPU(), "how many busy loops run beside them")
	flag.StringVar(&o.report, "report", "dist/soak.json", "file for the results; the output of runs that fail goes to the folder beside it")
	green := flag.String("green", "", "instead of --pkg: the tests that have changed since a tree that passed the gate; the file has their hashes")
	within := flag.Duration("within", 5*time.Minute, "with --green, when no other package is begun")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if *green != "" {
		err = soakChanged(ctx, os.Stdout, o, *green, *within)
	} else {
		err = soak(ctx, os.Stdout, o)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
