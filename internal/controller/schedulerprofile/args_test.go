// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acme/platform-operator/internal/testenv"
)

func binary() string {
	return filepath.Join(cmp.Or(os.Getenv("KUBEBUILDER_ASSETS"), testenv.RepoFile("bin")), "kube-scheduler")
}

// inFolder are arguments of the container, with a folder of the test's instead of the container's.
func inFolder(folder string, args []string) (flags []string) {
	for _, arg := range args {
		flags = append(flags, strings.NewReplacer(configFolder+"/", folder+"/", "=/tmp", "="+folder).Replace(arg))
	}
	return flags
}

// TestFlags: kube-scheduler has the flags that the container gives it.
func TestFlags(t *testing.T) {
	folder, in := t.TempDir(), inputFor(t, named("gpu", everything))
	if err := os.WriteFile(filepath.Join(folder, configFile), []byte(in.config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	flags := append(inFolder(folder, in.scheduler().Args), "--master=http://127.0.0.1:1", "--secure-port=0",
		"--write-config-to="+filepath.Join(folder, "written"))
	if output, err := exec.CommandContext(ctx, binary(), flags...).CombinedOutput(); err != nil {
		t.Errorf("kube-scheduler %s: %v\n%s", strings.Join(flags, " "), err, output)
	}
}
