/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Command demo shows the operator at work on this machine: a local Kubernetes, the operator with its
// webhooks, the samples of every kind, and a report of what became of them. It needs no root.
//
// Everything lives in the folder of the cluster, .cluster/<name>: operator.log, operator/ (credentials,
// certificates, what the process was started with), and a kubeconfig for each person to try it as.
//
// It imports none of the operator's code but the API types, so that an operator that does not compile
// can be taken down.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it did not work out, or status found something unhealthy
	exitUsage  = 2 // the command line is wrong
)

const help = `The operator at work on this machine: a local Kubernetes, the operator, samples, a report.

usage: go run ./hack/demo COMMAND [FLAGS]

  up      bring everything up, or up to date, and show what to try
  status  show what runs
  down    remove everything that up made

  --name NAME         name of the cluster (default demo)
  --timeout DURATION  up: how long each component and the samples may take (default 2m)
`

func main() {
	log.SetLogger(logr.Discard()) // what the client has to say is in its errors
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends at once
	os.Exit(run(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, out, errOut io.Writer, words []string) int {
	fs := flag.NewFlagSet("demo", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.Usage = func() { fmt.Fprint(fs.Output(), help) }
	name := fs.String("name", "demo", "")
	timeout := fs.Duration("timeout", 2*time.Minute, "")
	if len(words) == 0 {
		fs.Usage()
		return exitUsage
	}
	commands := map[string]func(*demo, context.Context) error{"up": (*demo).up, "status": (*demo).status, "down": (*demo).down}
	command, ok := commands[words[0]]
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
	d, err := newDemo(*name, *timeout, newConsole(out))
	if err == nil {
		err = command(d, ctx)
	}
	if err != nil {
		explain(errOut, err)
		return exitFailed
	}
	return exitOK
}
