// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows the operator at work: a local Kubernetes, or the cluster that the user has, with the operator, the
// samples of every kind, what came of them, and what to try next. It needs no root.
//
// What it knows of a kind is a sample in config/samples and, where there is more to show than a table, a file in scenes.
// The views, which have no sample, are shown by views.go. All else is kubectl's work. A demo is a folder: .cluster/NAME, that of its
// cluster, or .cluster/_context.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/acme/platform-operator/hack/cluster/localcluster"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it did not work out
	exitUsage  = 2 // the command line is wrong
)

const help = `The operator at work: a Kubernetes, the operator, samples, and what came of them.

usage: go run ./hack/demo COMMAND [FLAGS]

  up    bring everything up, or up to date, and show what to try
  down  remove everything that up made

  --name NAME        name of the local cluster (default demo)
  --current-context  use the cluster of kubectl's current context instead of a local one
  --yes              with --current-context: do not ask
`

func main() {
	if len(os.Args) > 1 && os.Args[1] == asHost {
		fmt.Fprintln(os.Stderr, runAsHost(os.Args[2:]))
		os.Exit(exitFailed)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends at once
	os.Exit(run(ctx, os.Stdin, os.Stdout, os.Stderr, os.Args[1:]))
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, in io.Reader, out, errOut io.Writer, words []string) int {
	d := &demo{in: in, out: out}
	fs := flag.NewFlagSet("demo", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.Usage = func() { fmt.Fprint(errOut, help) }
	fs.StringVar(&d.name, "name", "demo", "")
	fs.BoolVar(&d.context, "current-context", false, "")
	fs.BoolVar(&d.yes, "yes", false, "")
	if len(words) == 0 {
		fs.Usage()
		return exitUsage
	}
	command, ok := map[string]func(*demo, context.Context) error{"up": (*demo).up, "down": (*demo).down}[words[0]]
	if ok {
		words = words[1:]
	}
	switch err := fs.Parse(words); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case !ok || fs.NArg() > 0:
		fmt.Fprintf(errOut, "there is no command %q\n\n%s", fs.Arg(0), help)
		return exitUsage
	}
	err := d.open()
	if err == nil {
		err = command(d, ctx)
	}
	if err != nil {
		d.explain(errOut, err, ctx.Err() != nil)
		return exitFailed
	}
	return exitOK
}

// explain prints what went wrong, the end of the log that tells more, and the ways on.
func (d *demo) explain(w io.Writer, err error, interrupted bool) {
	next := fmt.Sprintf("`%s` continues, `%s` removes everything.", d.command("up"), d.command("down"))
	if interrupted {
		fmt.Fprintf(w, "\ninterrupted while %s. %s\n", d.doing, next)
		return
	}
	if d.doing == "" {
		fmt.Fprintf(w, "error: %v\n", err)
		return
	}
	fmt.Fprintf(w, "\nfailed while %s: %v\n", d.doing, err)
	log, tail := d.operator().LogPath(), d.operator().LogTail(20)
	if component := (*localcluster.ComponentError)(nil); errors.As(err, &component) {
		log, tail = component.Log, component.Tail
	}
	if tail != "" {
		fmt.Fprintf(w, "\nthe end of %s:\n%s\n", short(log), tail)
	}
	fmt.Fprintf(w, "\n%s\n", next)
}

// command is what a person types for a command of this program.
func (d *demo) command(name string) string {
	target := map[string]string{"up": "make demo", "down": "make demo-down"}[name]
	switch {
	case d.context:
		return target + " ARGS=--current-context"
	case d.name != "demo":
		return target + " ARGS='--name " + d.name + "'"
	}
	return target
}

// short is a path as a person in the working folder would write it.
func short(path string) string {
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, path); err == nil {
			return rel
		}
	}
	return path
}
