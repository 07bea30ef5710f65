// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the operator on a local cluster of its own, against a raw client that does the
// same work: throughput, time to Ready, requests, memory, restart. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/acme/platform-operator/hack/cluster/localcluster"
)

// benchmark is something that can be measured.
type benchmark struct {
	name string
	// small are the flags of a short run, whose enforced figures are those of a long one.
	small string
	run   func(ctx context.Context, l *lab) (outcome, error)
}

// outcome is what a benchmark has found.
type outcome interface {
	show(out io.Writer)
	// judged are its figures beside what is aimed at.
	judged() []aim
}

// benchmarks are all that there are. The file of a kind joins them: var _ = join(benchmark{...}).
var benchmarks []benchmark

//nolint:unparam // a declaration needs a value
func join(b benchmark) struct{} {
	benchmarks = append(benchmarks, b)
	return struct{}{}
}

// options is what the command line says.
type options struct {
	only, clusterName, out, operator, rival, rivalAnnotation     string
	keep, strict, list                                           bool
	count, warmUp, rounds, workers, secrets, replicas, schedules int
	namespaces, watches                                          int
	names                                                        []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		if failed := (*localcluster.ComponentError)(nil); errors.As(err, &failed) {
			fmt.Fprintf(os.Stderr, "\nthe end of %s:\n%s\n", failed.Log, failed.Tail)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.list {
		for _, b := range benchmarks {
			fmt.Fprintln(out, b.name, b.small)
		}
		return nil
	}
	ctrl.SetLogger(logr.Discard())
	l, err := newLab(o, out)
	if err != nil {
		return err
	}
	r := newReport(l)
	if err := r.measure(ctx, l); err != nil {
		return err
	}
	if err := r.write(l.path(o.out)); err != nil {
		return err
	}
	fmt.Fprintf(out, "written to %s\n", o.out)
	return r.verdict(o.strict)
}

// measure runs the benchmarks that are asked for.
func (r *report) measure(ctx context.Context, l *lab) error {
	for _, b := range benchmarks {
		if !slices.Contains(l.names, b.name) {
			continue
		}
		found, err := b.run(ctx, l)
		if err != nil {
			return fmt.Errorf("measuring %s: %w", b.name, err)
		}
		found.show(l.out)
		r.Results[b.name] = found
	}
	return nil
}

// parse reads the command line. A word or a name that means nothing is an error.
func parse(args []string) (options, error) {
	var o options
	var known []string
	for _, b := range benchmarks {
		known = append(known, b.name)
	}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.StringVar(&o.only, "only", strings.Join(known, ","), "Benchmarks to run, comma-separated.")
	fs.StringVar(&o.clusterName, "name", "bench", "Name of the cluster. Benchmarks that run beside each other need different ones.")
	fs.StringVar(&o.out, "out", "dist/bench.json", "File for the result as JSON, relative to the repository.")
	fs.StringVar(&o.operator, "operator", "", "Binary of the operator to measure. Default: built from the sources.")
	fs.StringVar(&o.rival, "rival", "", "Command of another controller to measure on the same objects as ConfigWatchers; it gets KUBECONFIG.")
	fs.StringVar(&o.rivalAnnotation, "rival-annotation", "configmap.reloader.stakater.com/reload=NAME",
		"Annotation KEY=VALUE that asks the rival to restart a Deployment; NAME in it becomes the ConfigMap's name.")
	fs.BoolVar(&o.keep, "keep", false, "Keep the last cluster. The next run with its name removes it.")
	fs.BoolVar(&o.strict, "strict", false, "Fail when any aim is missed, not only an enforced one.")
	fs.BoolVar(&o.list, "list", false, "Measure nothing: list the benchmarks, each with the flags of a short run.")
	fs.IntVar(&o.count, "count", 500, "Objects in a round.")
	fs.IntVar(&o.warmUp, "warm-up", 50, "Objects before each round that do not count.")
	fs.IntVar(&o.rounds, "rounds", 3, "Rounds, each on a new cluster.")
	fs.IntVar(&o.workers, "workers", 10, "Workers of the raw client, and of the client that creates objects.")
	fs.IntVar(&o.secrets, "secrets", 5000, "Unrelated Secrets of 20 KiB.")
	fs.IntVar(&o.replicas, "replicas", 1, "Pods of each Deployment that ConfigWatchers restart.")
	fs.IntVar(&o.schedules, "schedules", 1000, "Schedules that fire at the same minute.")
	fs.IntVar(&o.namespaces, "namespaces", 5000, "Namespaces of the views, with ten RoleBindings each.")
	fs.IntVar(&o.watches, "watches", 200, "Watches of views.")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected %q", fs.Arg(0))
	}
	for flagName, n := range map[string]int{
		"count": o.count, "warm-up": o.warmUp, "rounds": o.rounds, "workers": o.workers, "schedules": o.schedules,
		"namespaces": o.namespaces, "watches": o.watches,
	} {
		if n < 1 {
			return o, fmt.Errorf("--%s must be at least 1", flagName)
		}
	}
	o.names = strings.Split(o.only, ",")
	for _, name := range o.names {
		if !slices.Contains(known, name) {
			return o, fmt.Errorf("there is no benchmark %q; there are: %s", name, strings.Join(known, ", "))
		}
	}
	return o, nil
}
