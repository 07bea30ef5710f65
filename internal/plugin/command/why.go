// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/spf13/cobra"

	"github.com/acme/platform-operator/docs"
	"github.com/acme/platform-operator/internal/plugin"
)

func (p *program) why() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why KIND/NAME",
		Short: "Say why an object is not ready, or why a restart or a run waits, and the way out",
		Long: "Say the one reason why an object is not ready, or why a restart, a run or a change of the leader waits, and the way out.\n" +
			"The exit code does not depend on the answer.",
		Example:           "  kubectl acme why crontab/nightly-report\n  kubectl acme why webapp/shop -n team-a -o json",
		Args:              atMost(2),
		ValidArgsFunction: p.completeObjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.checkOutput(); err != nil {
				return err
			}
			c, kind, name, err := p.target(args)
			if err != nil {
				return err
			}
			fetched, err := c.Fetch(cmd.Context(), kind, name)
			if err != nil {
				return err
			}
			ways := plugin.ReadWays(docs.Pages, fetched.Kind.Word())
			status := plugin.StatusOf(fetched, c.OperatorNamespace)
			answer := plugin.Why(fetched, status, ways, c.OperatorNamespace, p.Now())
			return p.print(answer, func(out plugin.Printer) { out.Answer(answer) })
		},
	}
	p.addOutput(cmd)
	return cmd
}
