// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster builds, starts, reports on and stops local Kubernetes clusters: with simulated nodes,
// without root and without containers, or with a real node. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/acme/platform-operator/hack/cluster/localcluster"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the command did not do what it was asked to, or status found something unhealthy
	exitUsage  = 2 // the command line is wrong
)

// errUsage is a wrong command line; what is wrong has been printed.
var errUsage = errors.New("wrong usage")

// command is a subcommand. run gets a flag set to declare flags on, and the words to parse with it.
type command struct {
	name, args, summary string
	run                 func(ctx context.Context, a app, fs *flag.FlagSet, words []string) error
}

// app is where a command writes to.
type app struct{ out, errOut io.Writer }

var commands = []command{
	{"build", "[--only LIST]", "build the programs of a cluster into bin/", runBuild},
	{"up", "[--name NAME] [--nodes simulated|real] [--node-count N]", "build what is missing, start a cluster or mend it", runUp},
	{"status", "[--name NAME]", "show the components of one cluster or of all", runStatus},
	{"kubeconfig", "[--name NAME]", "print the path of the administrator's kubeconfig", runKubeconfig},
	{"user", "--user USER [--groups LIST] [--namespace NS]", "print a kubeconfig for another user", runUser},
	{"webhook-cert", "--dir DIR", "write a serving certificate for a webhook on this machine", runWebhookCert},
	{"push", "[--name NAME] LAYOUT_DIR IMAGE:TAG", "put an image into the registry of a cluster with a real node", runPush},
	{"down", "[--name NAME | --all]", "stop a cluster and remove all of it", runDown},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, app{out: os.Stdout, errOut: os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, a app, words []string) int {
	if len(words) == 0 {
		usage(a.errOut)
		return exitUsage
	}
	if word := strings.TrimLeft(words[0], "-"); word == "help" || word == "h" {
		usage(a.out)
		return exitOK
	}
	for _, c := range commands {
		if c.name == words[0] {
			return exitCode(a, c.run(ctx, a, c.flags(a), words[1:]))
		}
	}
	say(a.errOut, "there is no command %q\n\n", words[0])
	usage(a.errOut)
	return exitUsage
}

// exitCode prints what went wrong and says how the process ends.
func exitCode(a app, err error) int {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errUsage):
		return exitUsage
	}
	say(a.errOut, "error: %v\n", err)
	var failed *localcluster.ComponentError
	if errors.As(err, &failed) {
		say(a.errOut, "\nthe end of %s:\n%s\n", failed.Log, failed.Tail)
	}
	return exitFailed
}

func usage(w io.Writer) {
	say(w, "A local Kubernetes: a real control plane, and simulated nodes (no root) or a real one.\n\n"+
		"usage: go run ./hack/cluster COMMAND [FLAGS]\n\n")
	for _, c := range commands {
		say(w, "  %-13s %s\n", c.name, c.summary)
	}
	say(w, "\nCOMMAND --help shows the flags of a command.\n")
}

func (c command) flags(a app) *flag.FlagSet {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(a.errOut)
	fs.Usage = func() {
		say(fs.Output(), "%s: %s\n\nusage: go run ./hack/cluster %s %s\n\n", c.name, c.summary, c.name, c.args)
		fs.VisitAll(func(f *flag.Flag) {
			say(fs.Output(), "  --%-12s %s%s\n", f.Name, f.Usage, defaultText(f))
		})
	}
	return fs
}

func defaultText(f *flag.Flag) string {
	if f.DefValue == "" || f.DefValue == "false" {
		return ""
	}
	return " (default " + f.DefValue + ")"
}

// parse reads the words of a command whose every input has a name.
func parse(fs *flag.FlagSet, words []string) error {
	if err := parseFlags(fs, words); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return misused(fs, "unexpected %q", fs.Arg(0))
	}
	return nil
}

// parseFlags reads the flags and leaves what comes after them in fs.
func parseFlags(fs *flag.FlagSet, words []string) error {
	err := fs.Parse(words)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		return errUsage
	}
	return err
}

// misused prints what is wrong with the command line, then how it should look.
func misused(fs *flag.FlagSet, format string, args ...any) error {
	say(fs.Output(), format+"\n\n", args...)
	fs.Usage()
	return errUsage
}

// say prints progress. A reader that went away is no reason to give up half-way.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
