// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-acme is the kubectl plugin: kubectl runs it for "kubectl acme".
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that kubectl knows
	"k8s.io/klog/v2"

	"github.com/acme/platform-operator/internal/plugin/command"
)

// version is set by the linker.
var version = "unknown"

func main() {
	// What the client library logs is for programmers; errors are printed, each in a line.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, cancel) // a second interrupt ends the program, whatever it waits for
	code := command.Run(ctx, command.Options{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}, Version: version, Now: time.Now, Getenv: os.Getenv,
	}, os.Args[1:])
	cancel()
	os.Exit(code)
}
