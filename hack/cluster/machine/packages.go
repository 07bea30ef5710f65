/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// PluginDir is where Debian puts the network plugins of containers.
const PluginDir = "/usr/lib/cni"

// needs lists what a real node uses, with the Debian package that brings it: programs, or files when
// the name is a path.
var needs = []struct{ what, pkg string }{
	{"containerd", "containerd"},
	{"containerd-shim-runc-v2", "containerd"},
	{"runc", "runc"},
	{filepath.Join(PluginDir, "bridge"), "containernetworking-plugins"},
	{filepath.Join(PluginDir, "host-local"), "containernetworking-plugins"},
	{filepath.Join(PluginDir, "portmap"), "containernetworking-plugins"},
	{filepath.Join(PluginDir, "loopback"), "containernetworking-plugins"},
	{"iptables", "iptables"},
	{"ip", "iproute2"},
	{"mount", "mount"},
}

// EnsurePackages installs the Debian packages that a real node needs and that are missing, and says so
// on out. Where that is not possible the error names them.
func EnsurePackages(ctx context.Context, out io.Writer) error {
	missing := missingPackages()
	if len(missing) == 0 {
		return nil
	}
	list := strings.Join(missing, " ")
	if RequireRoot() != nil || Find("apt-get") == "" {
		return fmt.Errorf("missing packages: %s. On Debian, as root: apt-get install %s", list, list)
	}
	_, _ = fmt.Fprintf(out, "installing %s\n", list)
	err := run(ctx, "apt-get", "update", "-qq")
	if err == nil {
		err = run(ctx, "apt-get", append([]string{"install", "-qq", "--yes", "--no-install-recommends"}, missing...)...)
	}
	if err != nil {
		return fmt.Errorf("installing %s: %w", list, err)
	}
	if still := missingPackages(); len(still) != 0 {
		return errors.New("installed, but what they should bring is missing: " + strings.Join(still, " "))
	}
	return nil
}

func missingPackages() []string {
	var packages []string
	for _, need := range needs {
		if !installed(need.what) && !slices.Contains(packages, need.pkg) {
			packages = append(packages, need.pkg)
		}
	}
	return packages
}

func installed(what string) bool {
	if !filepath.IsAbs(what) {
		return Find(what) != ""
	}
	_, err := os.Stat(what)
	return err == nil
}
