// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hack installs programs of the machine, for Go programs that run some. Which Debian package brings which program,
// packages.sh alone knows.
package hack

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

//go:embed packages.sh
var packages string

// EnsurePrograms installs the Debian packages of those of the programs that are missing, and says so on out. Where that is
// not possible the error names the packages. A program outside the usual folders is given by its path.
func EnsurePrograms(ctx context.Context, out io.Writer, programs ...string) error {
	cmd := exec.CommandContext(ctx, "bash", append([]string{"-c", packages, "packages.sh"}, programs...)...)
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &words
	err := cmd.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && words.Len() > 0 {
		return errors.New(strings.TrimSpace(words.String()))
	}
	if err != nil {
		return fmt.Errorf("looking for %s: %w", strings.Join(programs, ", "), err)
	}
	return nil
}
