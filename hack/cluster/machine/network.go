// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The node's network. The bridge has the machine's address in it, which stays when the node goes; the
// node is attached to it like a machine to a switch.
const (
	HostAddress = "10.239.0.1"    // the machine, as the node and its pods see it
	NodeAddress = "10.239.0.2"    // the node
	nodeNetwork = "10.239.0.0/24" // both
	prefix      = "/24"

	bridge = "acme-node"
	cable  = "acme-cable" // this machine's end; the node's is NodeLink

	// NodeLink is the name of the link inside the node.
	NodeLink = "eth0"
)

const links = "/sys/class/net"

// Claim makes the bridge for the cluster in folder dir, which marks it. It fails when the machine
// already has a real node of another cluster, or addresses that the node's network or one of the
// networks behind it (such as 10.96.0.0/16) would hide. A bridge that dir has already is left alone.
func Claim(ctx context.Context, dir string, behind ...string) error {
	switch owner, err := Owner(); {
	case err != nil:
		return err
	case owner == dir:
		return run(ctx, "ip", "link", "set", "dev", bridge, "up")
	case owner != "":
		return fmt.Errorf("this machine already has a real node, that of the cluster in %s: take it down first", owner)
	}
	if err := checkAddresses(append(behind, nodeNetwork)); err != nil {
		return err
	}
	if err := run(ctx, "ip", "link", "add", "name", bridge, "type", "bridge"); err != nil {
		return fmt.Errorf("making the node's network: %w", err)
	}
	for _, args := range [][]string{
		{"link", "set", "dev", bridge, "alias", dir}, // a new link takes no alias
		{"address", "add", HostAddress + prefix, "dev", bridge},
		{"link", "set", "dev", bridge, "up"},
	} {
		if err := run(ctx, "ip", args...); err != nil {
			return errors.Join(fmt.Errorf("making the node's network: %w", err), remove(context.WithoutCancel(ctx), bridge))
		}
	}
	return nil
}

// Owns reports whether the machine's real node belongs to the cluster in folder dir.
func Owns(dir string) bool {
	owner, err := Owner()
	return err == nil && owner == dir
}

// Owner is the folder of the cluster that has the bridge, or empty when there is no bridge.
func Owner() (string, error) {
	if !exists(bridge) {
		return "", nil
	}
	alias, err := os.ReadFile(filepath.Join(links, bridge, "ifalias"))
	if err != nil {
		return "", fmt.Errorf("asking whose link %s is: %w", bridge, err)
	}
	if owner := strings.TrimSpace(string(alias)); owner != "" {
		return owner, nil
	}
	return "(unknown)", nil
}

// checkAddresses fails when the machine has an address in one of the networks.
func checkAddresses(networks []string) error {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("listing the machine's addresses: %w", err)
	}
	for _, each := range networks {
		network, err := netip.ParsePrefix(each)
		if err != nil {
			return fmt.Errorf("reading a network: %w", err)
		}
		for _, address := range addresses {
			if used, err := netip.ParsePrefix(address.String()); err == nil && used.Overlaps(network) {
				return fmt.Errorf("the machine has the address %s: a real node would hide a part of that network (%s)", used, network)
			}
		}
	}
	return nil
}

// Connect attaches the node whose first process is pid to the bridge, and sends what is for the
// networks behind it there. A connection that was there before is replaced.
func Connect(ctx context.Context, pid int, behind ...string) error {
	if err := remove(ctx, cable); err != nil {
		return err
	}
	commands := [][]string{
		{"link", "add", "name", cable, "type", "veth", "peer", "name", NodeLink, "netns", strconv.Itoa(pid)},
		{"link", "set", "dev", cable, "master", bridge, "up"},
	}
	for _, network := range behind {
		commands = append(commands, []string{"route", "replace", network, "via", NodeAddress, "dev", bridge})
	}
	for _, args := range commands {
		if err := run(ctx, "ip", args...); err != nil {
			return fmt.Errorf("connecting the node: %w", err)
		}
	}
	return nil
}

// Release removes the links, if they are those of the cluster in folder dir.
func Release(ctx context.Context, dir string) error {
	if !Owns(dir) {
		return nil
	}
	return errors.Join(remove(ctx, cable), remove(ctx, bridge))
}

// remove deletes a link. One that is not there, or goes meanwhile together with its other end, is no error.
func remove(ctx context.Context, link string) error {
	if !exists(link) {
		return nil
	}
	if err := run(ctx, "ip", "link", "delete", "dev", link); err != nil && exists(link) {
		return err
	}
	return nil
}

func exists(link string) bool {
	_, err := os.Stat(filepath.Join(links, link))
	return !errors.Is(err, os.ErrNotExist)
}
