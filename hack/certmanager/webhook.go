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

package main

import (
	"context"

	internalwebhook "github.com/cert-manager/cert-manager/internal/webhook"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
)

// webhook runs the webhook until ctx ends.
func webhook(ctx context.Context, args []string) error {
	config, err := options.NewWebhookConfiguration()
	if err != nil {
		return err
	}
	flags := newFlags("webhook")
	options.AddConfigFlags(flags, config)
	if err := flags.Parse(args); err != nil {
		return err
	}
	server, err := internalwebhook.NewCertManagerWebhookServer(logf.FromContext(ctx), *config)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
