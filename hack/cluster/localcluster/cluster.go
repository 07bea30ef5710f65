// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package localcluster runs a real Kubernetes control plane on this machine, with nodes of one of two
// kinds. A cluster is a folder, <state folder>/<name>, which holds everything it is made of.
//
// With simulated nodes all of it is plain processes of the calling user: no root, no container, nothing
// that listens beyond loopback. Pods are scheduled and go through their phases, Deployments become
// available and Jobs complete, but no container runs, and no cluster network exists. Several such
// clusters run side by side.
//
// With a real node, which needs root, containers run, in namespaces of their own: to the machine, the
// node is another machine behind a bridge. A machine has one at most.
package localcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/acme/platform-operator/hack/cluster/files"
	"github.com/acme/platform-operator/hack/cluster/process"
)

// ErrNotFound is returned, wrapped, when no cluster has the given name.
var ErrNotFound = errors.New("there is no such cluster")

// NodeKind says what the nodes of a cluster are.
type NodeKind string

// Kinds of nodes.
const (
	SimulatedNodes NodeKind = "simulated" // pods get their phases; the default
	RealNode       NodeKind = "real"      // one node, which runs containers
)

const recordFile = "cluster.json"

var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// Cluster is a local cluster, running or not.
type Cluster struct {
	dir string
	record
}

// record is what a cluster remembers in its folder.
type record struct {
	Name      string         `json:"name"`
	BinDir    string         `json:"binDir"`
	Version   string         `json:"version"` // Kubernetes version, such as v1.36.3
	Nodes     NodeKind       `json:"nodes"`   // empty: simulated
	NodeCount int            `json:"nodeCount"`
	Ports     map[string]int `json:"ports"` // by component
}

// Open finds the cluster called name under stateDir. The error is ErrNotFound when there is none.
func Open(stateDir, name string) (*Cluster, error) {
	dir, err := folder(stateDir, name)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening cluster %s: %w", name, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("opening cluster %s: %w", name, err)
	}
	c := &Cluster{dir: dir}
	if err := json.Unmarshal(data, &c.record); err != nil {
		return nil, fmt.Errorf("opening cluster %s: reading %s: %w", name, recordFile, err)
	}
	return c, nil
}

// List names the clusters under stateDir, sorted; none when the folder does not exist.
func List(stateDir string) ([]string, error) {
	entries, err := os.ReadDir(stateDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && validName.MatchString(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// Name is the cluster's name.
func (c *Cluster) Name() string { return c.record.Name }

// NodeKind says what the cluster's nodes are.
func (c *Cluster) NodeKind() NodeKind {
	if c.real() {
		return RealNode
	}
	return SimulatedNodes
}

func (c *Cluster) real() bool { return c.record.Nodes == RealNode }

// KubeconfigPath is the file with the administrator's credentials (group system:masters).
func (c *Cluster) KubeconfigPath() string { return c.path("kubeconfig") }

// folder is the cluster's absolute folder. A name that is no DNS label is an error, so that a name
// can never lead out of stateDir.
func folder(stateDir, name string) (string, error) {
	if !validName.MatchString(name) {
		return "", fmt.Errorf("%q is no cluster name: use at most 40 lower-case letters, digits and dashes", name)
	}
	dir, err := filepath.Abs(filepath.Join(stateDir, name))
	if err != nil {
		return "", fmt.Errorf("finding the folder of cluster %s: %w", name, err)
	}
	return dir, nil
}

func (c *Cluster) path(elements ...string) string {
	return filepath.Join(append([]string{c.dir}, elements...)...)
}

func (c *Cluster) pkiDir() string               { return c.path("pki") }
func (c *Cluster) cert(name string) string      { return c.path("pki", name+".crt") }
func (c *Cluster) key(name string) string       { return c.path("pki", name+".key") }
func (c *Cluster) kubeconfigOf(n string) string { return c.path("kubeconfigs", n) }

func (c *Cluster) save() error {
	data, err := json.MarshalIndent(c.record, "", "  ")
	if err != nil {
		return fmt.Errorf("saving cluster %s: %w", c.record.Name, err)
	}
	return files.Write(c.path(recordFile), append(data, '\n'), 0o600)
}

// process is the component called name, running or not.
func (c *Cluster) process(name string) process.Process {
	return process.Process{Name: name, Dir: c.dir}
}
