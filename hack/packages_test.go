// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package hack

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	absent = "no-such-program"             // brought by the package of the same name
	plugin = "/usr/lib/cni/no-such-plugin" // by another one
)

// Each apt-get notes what it is asked for, and what the policy for services says to it.
const (
	aptGet   = "#!/bin/sh\necho \"$@\" >>FOLDER/asked; \"$POLICY_RC_D\" || echo policy $? >>FOLDER/asked\n"
	installs = aptGet + "echo >FOLDER/" + absent + "; chmod +x FOLDER/" + absent + "\n"
	fails    = aptGet + "echo no network >&2; exit 100\n"
)

func TestEnsurePrograms(t *testing.T) {
	for reason, test := range map[string]struct {
		user, aptGet, policy string
		programs             []string
		asked                string // of apt-get
		out, err             string
	}{
		"nothing is missing":       {"0", fails, "", []string{"sh", "/bin/sh"}, "", "", ""},
		"what is missing comes":    {"0", installs, "", []string{"sh", absent}, absent + "\npolicy 101\n", "installing " + absent + "\n", ""},
		"the machine has a policy": {"0", installs, "#!/bin/sh\nexit 7\n", []string{absent}, absent + "\npolicy 7\n", "installing " + absent + "\n", ""},
		"apt-get fails":            {"0", fails, "", []string{absent}, absent + "\npolicy 101\n", "installing", "no network"},
		"the package lacks it":     {"0", installs, "", []string{absent, plugin}, "containernetworking-plugins no-such-program\npolicy 101\n", "installing", "missing what these should bring: containernetworking-plugins"},
		"not root":                 {"1000", installs, "", []string{"sh", plugin, absent}, "", "", "missing: containernetworking-plugins no-such-program. On Debian, as root: apt-get install containernetworking-plugins no-such-program"},
	} {
		t.Run(reason, func(t *testing.T) {
			dir := t.TempDir()
			policy := filepath.Join(dir, "policy-rc.d")
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			t.Setenv("POLICY_RC_D", policy)
			write(t, filepath.Join(dir, "id"), "#!/bin/sh\necho "+test.user+"\n")
			write(t, filepath.Join(dir, "apt-get"), strings.ReplaceAll(test.aptGet, "FOLDER", dir))
			if test.policy != "" {
				write(t, policy, test.policy)
			}
			var out bytes.Buffer
			err := EnsurePrograms(t.Context(), &out, test.programs...)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v, want %q", err, test.err)
			}
			if !strings.HasPrefix(out.String(), test.out) || (out.Len() == 0) != (test.out == "") {
				t.Errorf("it says %q, want %q", out.String(), test.out)
			}
			if asked := read(t, filepath.Join(dir, "asked")); !strings.HasSuffix(asked, test.asked) || (asked == "") != (test.asked == "") {
				t.Errorf("asked of apt-get:\n%swant at the end:\n%s", asked, test.asked)
			}
			if got := read(t, policy); got != test.policy {
				t.Errorf("the policy for services is %q now, want %q", got, test.policy)
			}
		})
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// read is what a file holds, nothing if it is not there.
func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(content)
}
