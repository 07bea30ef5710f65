// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/spf13/cobra"

	"github.com/acme/platform-operator/internal/plugin"
	"github.com/acme/platform-operator/internal/plugin/cluster"
	"github.com/acme/platform-operator/internal/plugin/doctor"
)

func (p *program) doctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation of the operator, and say what to do about what is wrong",
		Long: "Check the installation: versions, the operator and its leader, kinds, webhooks and their certificates, policies, rights,\n" +
			"APIServices. Nothing is changed: webhooks are tried with requests that are not carried out. What you may not read is not\n" +
			"checked, and named. The exit code is 1 if something does not work.",
		Example:           "  kubectl acme doctor\n  kubectl acme doctor --operator-namespace operators -o json",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.checkOutput(); err != nil {
				return err
			}
			c, err := p.openWith(cluster.OpenAny)
			if err != nil {
				return err
			}
			d := doctor.Diagnose(c.Installation(cmd.Context(), p.Version), p.Now())
			if err := p.print(d, func(out plugin.Printer) { printDiagnosis(out, d) }); err != nil {
				return err
			}
			if d.Broken() {
				return finding("something does not work")
			}
			return nil
		},
	}
	p.addOutput(cmd)
	return cmd
}

var levels = map[string]plugin.Sign{
	doctor.OK: plugin.SignGood, doctor.Unknown: plugin.SignUnknown, doctor.Warning: plugin.SignWarning, doctor.Broken: plugin.SignBad,
}

func printDiagnosis(out plugin.Printer, d doctor.Diagnosis) {
	for _, f := range d.Findings {
		var below []string
		if f.Do != "" {
			below = append(below, "do: "+f.Do)
		}
		out.Item(levels[f.Level], f.Check+": "+f.Says, below...)
	}
}
