// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	if err := withoutServices(servicePolicy, func() error { return install(ctx, missing) }); err != nil {
		return fmt.Errorf("installing %s: %w", list, err)
	}
	if still := missingPackages(); len(still) != 0 {
		return errors.New("installed, but what they should bring is missing: " + strings.Join(still, " "))
	}
	return nil
}

func install(ctx context.Context, packages []string) error {
	if err := run(ctx, "apt-get", "update", "-qq"); err != nil {
		return err
	}
	return run(ctx, "apt-get", append([]string{"install", "-qq", "--yes", "--no-install-recommends"}, packages...)...)
}

// servicePolicy is what Debian's packages ask before they start a service.
const servicePolicy = "/usr/sbin/policy-rc.d"

// withoutServices calls f while a policy forbids that services start: a node has its own containerd, and the machine
// is not to get another. A policy that the machine has is left alone.
func withoutServices(policy string, f func() error) error {
	file, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return f()
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString("#!/bin/sh\nexit 101\n")
	if err = errors.Join(err, file.Close()); err == nil {
		err = f()
	}
	return errors.Join(err, os.Remove(policy))
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
