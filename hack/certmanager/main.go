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

// Command certmanager is cert-manager, with the issuers that need no service elsewhere: its controller issues certificates,
// its cainjector tells webhook configurations whom to trust, its webhook checks what people write. A fourth word prints the
// manifests that install the three, of cert-manager's own chart.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	ctrl "sigs.k8s.io/controller-runtime"

	logf "github.com/cert-manager/cert-manager/pkg/logs"
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
