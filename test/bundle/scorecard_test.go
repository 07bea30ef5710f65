// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestScorecard runs the tests of operator-sdk's scorecard, the ones that config/scorecard lists. On a cluster
// they are pods of an image with one program; here it is the program itself, which reads /bundle and so gets
// a root folder of its own.
func TestScorecard(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "bundle"), os.DirFS(repo("bundle"))); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(repo("bin", "scorecard-test"))
	if err != nil {
		t.Fatalf("`make bin/scorecard-test` builds it: %v", err)
	}
	if err := os.WriteFile(filepath.Join(root, "scorecard-test"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	var config struct {
		Stages []struct {
			Tests []struct{ Entrypoint []string }
		}
	}
	text, err := os.ReadFile(repo("bundle", "tests", "scorecard", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	decode(t, string(text), &config)
	ran := 0
	for _, stage := range config.Stages {
		for _, test := range stage.Tests {
			ran++
			t.Run(test.Entrypoint[1], func(t *testing.T) { runScorecardTest(t, root, test.Entrypoint[1]) })
		}
	}
	if ran != 6 {
		t.Errorf("operator-sdk brings six tests, the configuration lists %d", ran)
	}
}

func runScorecardTest(t *testing.T, root, name string) {
	cmd := exec.CommandContext(t.Context(), "/scorecard-test", name)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Getuid() != 0 { // in a user namespace everybody may change the root folder
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("running it (needs root or user namespaces, see CONTRIBUTING.md): %v", err)
	}
	var status struct {
		Results []struct {
			Name, State         string
			Errors, Suggestions []string
		}
	}
	if err := json.Unmarshal(output, &status); err != nil {
		t.Fatalf("reading %s: %v", output, err)
	}
	if len(status.Results) == 0 {
		t.Fatal("it has no result")
	}
	for _, r := range status.Results {
		// It suggests a status in each sample; samples are what users write, so they have none.
		t.Logf("%s: %s, suggestions %q", r.Name, r.State, r.Suggestions)
		if r.State != "pass" {
			t.Errorf("%s: %s, errors %q", r.Name, r.State, r.Errors)
		}
	}
}
