// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/acme/platform-operator/internal/plugin"
)

func (p *program) status() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [KIND/NAME]",
		Short: "Show an object and what exists because of it, or everything of the operator's in the namespace",
		Long: "Show what an object asks for, what exists because of it, its conditions, its last events, and what to type next.\n" +
			"Without an object: everything of the operator's in the namespace, the worst first.",
		Example: "  kubectl acme status\n" +
			"  kubectl acme status --all-namespaces -o wide\n" +
			"  kubectl acme status crontab/nightly-report -n team-a",
		Args:              atMost(2),
		ValidArgsFunction: p.completeObjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.checkOutput(); err != nil {
				return err
			}
			if len(args) == 0 {
				return p.overview(cmd.Context())
			}
			return p.statusOf(cmd.Context(), args)
		},
	}
	p.addOutput(cmd)
	p.addAllNamespaces(cmd)
	return cmd
}

func (p *program) overview(ctx context.Context) error {
	c, err := p.open()
	if err != nil {
		return err
	}
	overview, err := c.Overview(ctx)
	if err != nil {
		return err
	}
	return p.print(overview, func(out plugin.Printer) { out.Overview(overview) })
}

func (p *program) statusOf(ctx context.Context, args []string) error {
	c, kind, name, err := p.target(args)
	if err != nil {
		return err
	}
	fetched, err := c.Fetch(ctx, kind, name)
	if err != nil {
		return err
	}
	status := plugin.StatusOf(fetched, c.OperatorNamespace)
	return p.print(status, func(out plugin.Printer) { out.Status(status) })
}
