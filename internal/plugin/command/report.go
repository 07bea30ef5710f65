// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/acme/platform-operator/internal/plugin/cluster"
	"github.com/acme/platform-operator/internal/plugin/doctor"
	"github.com/acme/platform-operator/internal/plugin/report"
)

func (p *program) report() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Make an archive for a bug report, with names and without values",
		Long: "Make an archive for a bug report: the operator's objects in the namespace, the names of what exists because of them, events,\n" +
			"and the installation with what doctor finds. It has names, numbers, times, states and reasons, and no content of Secrets and\n" +
			"ConfigMaps, no values of environments, arguments, labels and annotations, and no free text. What you may not read is not in it,\n" +
			"and named.",
		Example:           "  kubectl acme report -n team-a\n  kubectl acme report --all-namespaces --file report.tar.gz",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				file = "acme-report-" + p.Now().UTC().Format("20060102-150405") + ".tar.gz"
			}
			archive, err := p.archive(cmd.Context())
			if err != nil {
				return err
			}
			return p.save(file, archive)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "The file to write, which must not exist; - is the standard output. (default acme-report-TIME.tar.gz)")
	must(cmd.MarkFlagFilename("file", "tar.gz", "tgz"))
	p.addAllNamespaces(cmd)
	return cmd
}

func (p *program) archive(ctx context.Context) ([]byte, error) {
	c, err := p.openWith(cluster.OpenAny)
	if err != nil {
		return nil, err
	}
	found, err := c.Report(ctx)
	if err != nil {
		return nil, err
	}
	found.Version, found.Now = p.Version, p.Now()
	found.Installation = c.Installation(ctx, p.Version)
	found.Diagnosis = doctor.Diagnose(found.Installation, p.Now())
	return report.Archive(found)
}

// save writes the archive for nobody else to read, and over nothing.
func (p *program) save(file string, archive []byte) error {
	if file == "-" {
		_, err := p.Out.Write(archive)
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // The user names the file.
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("there is a file %s already; name another one with --file", file)
	}
	if err != nil {
		return fmt.Errorf("creating the archive: %w", err)
	}
	if _, err = f.Write(archive); err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("writing the archive: %w", err)
	}
	_, err = io.WriteString(p.Out, "wrote "+file+"; look through it before you hand it out\n")
	return err
}
