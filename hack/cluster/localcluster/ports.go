// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
)

// Ports come from a range that lies below the one from which Linux takes ports for outgoing
// connections (32768 and up) and below that of NodePorts (30000 and up): a port that is free now
// stays free until its component starts.
const (
	firstPort = 20000
	lastPort  = 29999
)

// choosePorts finds a port for each name, beginning at start and skipping those that are taken or not free.
func choosePorts(names []string, start int, taken map[int]bool, free func(port int) bool) (map[string]int, error) {
	const size = lastPort - firstPort + 1
	ports := map[string]int{}
	for i := 0; i < size && len(ports) < len(names); i++ {
		port := firstPort + (start-firstPort+i)%size
		if !taken[port] && free(port) {
			ports[names[len(ports)]] = port
		}
	}
	if len(ports) < len(names) {
		return nil, errors.New("choosing ports: too few are free")
	}
	return ports, nil
}

// portFree reports whether a component could listen on port now.
func portFree(port int) bool {
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// assignPorts gives the cluster its ports, apart from those of its neighbours, running or not. Ports
// that it has are kept while they can be: kubeconfigs that were handed out name them.
func (c *Cluster) assignPorts() error {
	if c.portsUsable() {
		return nil
	}
	taken := map[int]bool{}
	stateDir := filepath.Dir(c.dir)
	names, err := List(stateDir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if other, err := Open(stateDir, name); err == nil { // a folder that is no cluster takes no port
			for _, port := range other.Ports {
				taken[port] = true
			}
		}
	}
	start := firstPort + rand.IntN(lastPort-firstPort)
	c.Ports, err = choosePorts(c.portNames(), start, taken, portFree)
	if err != nil {
		return fmt.Errorf("cluster %s: %w", c.record.Name, err)
	}
	return nil
}

// portsUsable reports whether the cluster has all its ports and can use them further.
func (c *Cluster) portsUsable() bool {
	for _, name := range c.portNames() {
		if c.Ports[name] == 0 {
			return false
		}
	}
	for _, name := range componentNames {
		if c.process(name).PID() != 0 {
			return true // a part of the cluster runs and uses them
		}
	}
	for _, port := range c.Ports {
		if !portFree(port) {
			return false
		}
	}
	return true
}
