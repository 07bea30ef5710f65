// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ci checks the script of the continuous integration with programs that do nothing in place of the real ones:
// what it runs, and that its result is theirs.
package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What the script asks make for, in this order but for what runs beside the end-to-end tests.
var targets = []string{
	"tools", "test", "test-race", "verify", "image", "demo", "demo", "demo-down", "bench-check", "bundle-check",
	"catalog-validate", "test-real-node", "e2e", "lint", "mutate",
}

// The script's result is that of its stages: it fails when any of them does, and only then.
func TestResultIsThatOfTheStages(t *testing.T) {
	passed := run(t, "", "")
	if passed.code != 0 {
		t.Errorf("all stages pass, and the script ends with %d:\n%s", passed.code, passed.output)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(targets)), slices.Sorted(slices.Values(passed.asked))); diff != "" {
		t.Errorf("asked of make (-want +got):\n%s", diff)
	}

	seen := map[string]bool{}
	for _, target := range targets {
		if seen[target] {
			continue
		}
		seen[target] = true
		t.Run(target, func(t *testing.T) {
			result := run(t, target, "")
			if result.code != 1 || strings.Count(result.output, "\nFAILED ") != 1 {
				t.Errorf("make %s fails, and the script ends with %d:\n%s", target, result.code, result.output)
			}
			// A demo that fails is not started a second time.
			if missing := len(targets) - len(result.asked); missing > strings.Count(target, "demo") {
				t.Errorf("after make %s failed, only these were asked for: %v", target, result.asked)
			}
		})
	}
}

// Who does not let the script run containers gets a line that says what was left out.
func TestSaysWhatItLeavesOut(t *testing.T) {
	result := run(t, "", "unshare")
	if result.code != 0 || !strings.Contains(result.output, "left out") {
		t.Errorf("without containers the script ends with %d:\n%s", result.code, result.output)
	}
	for _, target := range []string{"e2e", "test-real-node"} {
		if strings.Contains(strings.Join(result.asked, " "), target) {
			t.Errorf("without containers make %s ran", target)
		}
	}
}

// What came of a run: the script's exit code and output, and the targets that make was asked for.
type result struct {
	code   int
	output string
	asked  []string
}

// Runs the script in a folder of its own. make fails for failing, a target; broken is a program that fails always.
func run(t *testing.T, failing, broken string) result {
	t.Helper()
	root := t.TempDir()
	script, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, ".ci/run"), string(script))
	write(t, filepath.Join(root, "hack/packages.sh"), "#!/bin/sh\n")
	asked := filepath.Join(root, "asked")
	write(t, filepath.Join(root, "bin/make"), strings.NewReplacer("ASKED", asked, "FAILING", failing).Replace(`#!/bin/sh
echo "$1" >>ASKED
[ "$1" != "FAILING" ] || exit 1
case $1 in
demo) mkdir -p .cluster/ci/pids && echo 1 >.cluster/ci/pids/one ;;
demo-down) rm -rf .cluster ;;
esac
`))
	write(t, filepath.Join(root, "bin/id"), "#!/bin/sh\necho 0\n")
	write(t, filepath.Join(root, "bin/unshare"), "#!/bin/sh\n")
	if broken != "" {
		write(t, filepath.Join(root, "bin", broken), "#!/bin/sh\nexit 1\n")
	}

	command := exec.CommandContext(t.Context(), filepath.Join(root, ".ci/run"))
	command.Env = append(os.Environ(), "PATH="+filepath.Join(root, "bin")+":"+os.Getenv("PATH"), "TMPDIR="+root)
	command.WaitDelay = time.Second
	output, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(asked)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if left, _ := filepath.Glob(filepath.Join(root, "tmp.*")); len(left) > 0 {
		t.Errorf("the script left %v", left)
	}
	return result{code: command.ProcessState.ExitCode(), output: string(output), asked: strings.Fields(string(list))}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}
