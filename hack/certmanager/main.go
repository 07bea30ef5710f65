// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command certmanager is cert-manager, with the issuers that need no service elsewhere: its controller issues certificates,
// its cainjector tells webhook configurations which authority to trust, its webhook checks what people write. A fourth word prints the
// manifests that install the three, of cert-manager's own chart.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	logf "github.com/cert-manager/cert-manager/pkg/logs"
	ctrl "sigs.k8s.io/controller-runtime"
)

var commands = map[string]func(ctx context.Context, args []string) error{
	"controller": controller,
	"cainjector": cainjector,
	"webhook":    webhook,
	"manifests":  manifests,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || commands[args[0]] == nil {
		return errors.New("the first word is one of controller, cainjector, webhook, manifests")
	}
	logf.InitLogs()
	ctrl.SetLogger(logf.Log)
	return commands[args[0]](logf.NewContext(ctx, logf.Log, args[0]), args[1:])
}
