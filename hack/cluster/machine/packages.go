// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"io"

	"github.com/acme/platform-operator/hack"
)

// PluginDir is where Debian puts the network plugins of containers.
const PluginDir = "/usr/lib/cni"

// needs lists the programs of the machine that a real node runs, and its tests.
var needs = []string{
	"containerd", "containerd-shim-runc-v2", "runc",
	PluginDir + "/bridge", PluginDir + "/host-local", PluginDir + "/portmap", PluginDir + "/loopback",
	"iptables", "iptables-save", "ip6tables-save", "ip", "mount", "modprobe",
}

// EnsurePrograms installs what a real node needs of the machine and is missing, and says so on out. Where that is not
// possible the error names it.
func EnsurePrograms(ctx context.Context, out io.Writer) error {
	return hack.EnsurePrograms(ctx, out, needs...)
}
