// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// execute runs a command line as main does and returns what it printed and its exit code.
func execute(t *testing.T, words ...string) (out, errOut string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), app{out: &stdout, errOut: &stderr}, words)
	return stdout.String(), stderr.String(), code
}

func TestCommandLine(t *testing.T) {
	state := t.TempDir()
	for reason, test := range map[string]struct {
		words string
		code  int
		says  string // on either output
	}{
		"no command":          {"", exitUsage, "webhook-cert"},
		"help":                {"--help", exitOK, "webhook-cert"},
		"help for a command":  {"up --help", exitOK, "--node-count"},
		"unknown command":     {"explode", exitUsage, `"explode"`},
		"unknown flag":        {"up --explode", exitUsage, "explode"},
		"positional word":     {"down demo", exitUsage, `"demo"`},
		"other nodes":         {"up --nodes strange --state-dir " + state, exitUsage, `"strange"`},
		"many real nodes":     {"up --nodes real --node-count 3 --state-dir " + state, exitUsage, "one real node"},
		"nothing to push":     {"push dir", exitUsage, "required"},
		"negative node count": {"up --node-count -2", exitUsage, "negative"},
		"unknown program":     {"build --only strange", exitUsage, `"strange"`},
		"name and all":        {"down --all --name demo", exitUsage, "not both"},
		"no user":             {"user", exitUsage, "--user is required"},
		"no folder":           {"webhook-cert", exitUsage, "--dir is required"},
		"bad name":            {"down --name ../up --state-dir " + state, exitFailed, "no cluster name"},
		"down: not there":     {"down --state-dir " + state, exitOK, "there is no cluster demo"},
		"status: none":        {"status --state-dir " + state, exitOK, "there is no cluster"},
		"status: not there":   {"status --name demo --state-dir " + state, exitFailed, "no such cluster"},
		"path: not there":     {"kubeconfig --state-dir " + state, exitFailed, "no such cluster"},
	} {
		t.Run(reason, func(t *testing.T) {
			out, errOut, code := execute(t, strings.Fields(test.words)...)
			if code != test.code || !strings.Contains(out+errOut, test.says) {
				t.Errorf("exit code %d, want %d; it must say %q and says:\n%s%s", code, test.code, test.says, out, errOut)
			}
		})
	}
}
