// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/acme/platform-operator/internal/plugin/command"
)

// broken panics when it is written to.
type broken struct{}

func (broken) Write([]byte) (int, error) { panic("broken") }

// TestPanic: the exit code is that of an error, which of plan is not that of a difference.
func TestPanic(t *testing.T) {
	for verb, want := range map[string]int{"plan": 2, "status": 1} {
		var errs bytes.Buffer
		code := command.Run(t.Context(), command.Options{IOStreams: genericiooptions.IOStreams{Out: broken{}, ErrOut: &errs}}, []string{verb, "--help"})
		if code != want || !strings.Contains(errs.String(), "please report it: broken") {
			t.Errorf("%s: %d %s", verb, code, errs.String())
		}
	}
}
