// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/acme/platform-operator/hack/cluster/binaries"
	"github.com/acme/platform-operator/hack/cluster/localcluster"
	"github.com/acme/platform-operator/hack/cluster/machine"
)

const defaultName = "demo"

// places are the folders that the commands work with. The defaults stand in the repository.
type places struct {
	root, bin, state string
	needsRoot        bool // programs are needed, and so is the repository that pins their versions
}

func (p *places) binFlag(fs *flag.FlagSet) {
	p.needsRoot = true
	fs.StringVar(&p.bin, "bin-dir", "", "folder for programs (default bin in the repository)")
}

func (p *places) stateFlag(fs *flag.FlagSet) {
	fs.StringVar(&p.state, "state-dir", "", "folder that holds a folder per cluster (default .cluster in the repository)")
}

// resolve fills in the defaults and makes all folders absolute.
func (p *places) resolve() (err error) {
	if p.needsRoot || p.state == "" {
		if p.root, err = repository(); err != nil {
			return err
		}
	}
	if p.bin, err = absolute(p.bin, p.root, "bin"); err != nil {
		return err
	}
	p.state, err = absolute(p.state, p.root, ".cluster")
	return err
}

// absolute makes dir absolute; an empty one is the folder called name in root.
func absolute(dir, root, name string) (string, error) {
	if dir == "" {
		return filepath.Join(root, name), nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding folder %s: %w", dir, err)
	}
	return dir, nil
}

// repository finds the repository that holds the working folder.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "tools", "kubernetes", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding the repository: run this inside it")
		}
		dir = parent
	}
}

func builder(p places, out io.Writer) binaries.Builder {
	file, isFile := out.(*os.File)
	return binaries.Builder{Root: p.root, BinDir: p.bin, Out: out, Live: isFile && term.IsTerminal(int(file.Fd()))}
}

func runBuild(ctx context.Context, a app, fs *flag.FlagSet, words []string) error {
	var p places
	p.binFlag(fs)
	only := fs.String("only", "", "comma-separated programs; or what tests need: envtest, or clusters: simulated, real (default simulated)")
	if err := parse(fs, words); err != nil {
		return err
	}
	wanted, err := binaries.Select(*only)
	if err != nil {
		return misused(fs, "%v", err)
	}
	if err := p.resolve(); err != nil {
		return err
	}
	if err := builder(p, a.out).Ensure(ctx, wanted); err != nil {
		return err
	}
	say(a.out, "%d programs are up to date in %s\n", len(wanted), p.bin)
	return nil
}

func runUp(ctx context.Context, a app, fs *flag.FlagSet, words []string) error {
	var p places
	p.binFlag(fs)
	p.stateFlag(fs)
	name := fs.String("name", defaultName, "name of the cluster")
	nodes := fs.String("nodes", "", "kind of nodes: simulated, or real: one that runs containers, which needs root "+
		"(default what the cluster has, simulated for a new one)")
	count := fs.Int("node-count", localcluster.DefaultNodeCount, "number of simulated nodes; a running cluster keeps its own unless this is given")
	timeout := fs.Duration("timeout", 2*time.Minute, "how long each component may take to become healthy")
	if err := parse(fs, words); err != nil {
		return err
	}
	if !given(fs, "node-count") {
		*count = localcluster.KeepNodeCount
	} else if *count < 0 {
		return misused(fs, "--node-count cannot be negative")
	}
	if err := p.resolve(); err != nil {
		return err
	}
	kind, err := nodeKind(fs, p.state, *name, localcluster.NodeKind(*nodes), *count)
	if err != nil {
		return err
	}
	if err := buildFor(ctx, a, p, kind); err != nil {
		return err
	}
	version, err := binaries.KubernetesVersion(p.root)
	if err != nil {
		return err
	}
	c, err := localcluster.Up(ctx, localcluster.UpOptions{
		Name: *name, StateDir: p.state, BinDir: p.bin, Version: version,
		Nodes: kind, NodeCount: *count, Timeout: *timeout, Out: a.out,
	})
	if err != nil {
		return err
	}
	printNext(a.out, p, c, given(fs, "state-dir"))
	return nil
}

// nodeKind is the kind of nodes that up is to run: the one that was asked for, else that of the cluster.
func nodeKind(fs *flag.FlagSet, stateDir, name string, asked localcluster.NodeKind, count int) (localcluster.NodeKind, error) {
	kind := asked
	if c, err := localcluster.Open(stateDir, name); err == nil && asked == "" {
		kind = c.NodeKind()
	}
	switch kind {
	case "":
		return localcluster.SimulatedNodes, nil
	case localcluster.SimulatedNodes:
		return kind, nil
	case localcluster.RealNode:
		if count != 1 && count != localcluster.KeepNodeCount {
			return "", misused(fs, "a machine has one real node, not %d", count)
		}
		return kind, machine.RequireRoot()
	}
	return "", misused(fs, "--nodes takes simulated or real, not %q", kind)
}

// buildFor builds what a cluster with such nodes needs, as far as that is missing.
func buildFor(ctx context.Context, a app, p places, kind localcluster.NodeKind) error {
	wanted := binaries.All()
	if kind == localcluster.RealNode {
		wanted = binaries.Real()
	}
	return builder(p, a.out).Ensure(ctx, wanted)
}

// printNext says what one can do with a cluster that is up.
func printNext(w io.Writer, p places, c *localcluster.Cluster, otherState bool) {
	same := " --name " + c.Name()
	if otherState {
		same += " --state-dir " + p.state
	}
	say(w, "\n  export KUBECONFIG=%s\n\nnext:\n  %s get nodes\n", c.KubeconfigPath(), filepath.Join(p.bin, "kubectl"))
	say(w, "  go run ./hack/cluster status%s\n", same)
	if registry := c.RegistryAddress(); registry != "" {
		say(w, "  go run ./hack/cluster push%s LAYOUT_DIR NAME:TAG   # pods use %s/NAME:TAG\n", same, registry)
	}
	say(w, "  go run ./hack/cluster down%s\n", same)
}

func given(fs *flag.FlagSet, name string) bool {
	found := false
	fs.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

func runStatus(ctx context.Context, a app, fs *flag.FlagSet, words []string) error {
	var p places
	p.stateFlag(fs)
	name := fs.String("name", "", "name of the cluster (default all)")
	if err := parse(fs, words); err != nil {
		return err
	}
	if err := p.resolve(); err != nil {
		return err
	}
	list := []string{*name}
	if *name == "" {
		var err error
		if list, err = localcluster.List(p.state); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		say(a.out, "there is no cluster in %s\n", p.state)
		return nil
	}
	var errs []error
	for _, each := range list {
		errs = append(errs, printStatus(ctx, a, p.state, each))
	}
	return errors.Join(errs...)
}

// printStatus prints a table; its error says that something is wrong with the cluster.
func printStatus(ctx context.Context, a app, stateDir, name string) error {
	c, err := localcluster.Open(stateDir, name)
	if err != nil {
		return err
	}
	say(a.out, "cluster %s\n", name)
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	say(table, "%s\n", "  COMPONENT\tPID\tADDRESS\tHEALTH\tLOG")
	var unhealthy []string
	for _, s := range c.Status(ctx) {
		pid, health := strconv.Itoa(s.PID), "healthy"
		if s.PID == 0 {
			pid = "-"
		}
		if s.Err != nil {
			health = s.Err.Error()
			unhealthy = append(unhealthy, s.Name)
		}
		say(table, "  %s\t%s\t%s\t%s\t%s\n", s.Name, pid, cmp.Or(s.Address, "-"), health, s.Log)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing status: %w", err)
	}
	if len(unhealthy) > 0 {
		return fmt.Errorf("cluster %s is not healthy: %s", name, strings.Join(unhealthy, ", "))
	}
	ready, total, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	say(a.out, "  %d of %d %s nodes are ready\n", ready, total, c.NodeKind())
	return c.Addons(ctx)
}

func runKubeconfig(_ context.Context, a app, fs *flag.FlagSet, words []string) error {
	c, err := open(fs, words, "")
	if err != nil {
		return err
	}
	say(a.out, "%s\n", c.KubeconfigPath())
	return nil
}

func runUser(_ context.Context, a app, fs *flag.FlagSet, words []string) error {
	user := fs.String("user", "", "name of the user; required")
	groups := fs.String("groups", "", "comma-separated groups of the user")
	namespace := fs.String("namespace", "", "namespace that the kubeconfig selects")
	c, err := open(fs, words, "user")
	if err != nil {
		return err
	}
	members := slices.DeleteFunc(strings.Split(*groups, ","), func(g string) bool { return g == "" })
	data, err := c.UserKubeconfig(*user, members, *namespace)
	if err != nil {
		return err
	}
	_, err = a.out.Write(data)
	return err
}

func runWebhookCert(_ context.Context, a app, fs *flag.FlagSet, words []string) error {
	dir := fs.String("dir", "", "folder for tls.crt, tls.key and ca.crt; required")
	c, err := open(fs, words, "dir")
	if err != nil {
		return err
	}
	if err := c.WriteWebhookCert(*dir); err != nil {
		return err
	}
	say(a.out, "wrote tls.crt, tls.key and ca.crt to %s\n", *dir)
	return nil
}

// open parses the words and opens the cluster that --name names. required is the name of a flag that
// must be given, or empty.
func open(fs *flag.FlagSet, words []string, required string) (*localcluster.Cluster, error) {
	var p places
	p.stateFlag(fs)
	name := fs.String("name", defaultName, "name of the cluster")
	if err := parse(fs, words); err != nil {
		return nil, err
	}
	if required != "" && fs.Lookup(required).Value.String() == "" {
		return nil, misused(fs, "--%s is required", required)
	}
	if err := p.resolve(); err != nil {
		return nil, err
	}
	return localcluster.Open(p.state, *name)
}

func runPush(ctx context.Context, a app, fs *flag.FlagSet, words []string) error {
	var p places
	p.stateFlag(fs)
	name := fs.String("name", defaultName, "name of the cluster, which has a real node")
	if err := parseFlags(fs, words); err != nil {
		return err
	}
	if fs.NArg() != 2 {
		return misused(fs, "a layout folder and an image name are required")
	}
	if err := p.resolve(); err != nil {
		return err
	}
	c, err := localcluster.Open(p.state, *name)
	if err != nil {
		return err
	}
	image, err := c.PushLayout(ctx, fs.Arg(0), fs.Arg(1))
	if err != nil {
		return err
	}
	say(a.out, "%s\n%s\n", image.Tag, image.Digest)
	return nil
}

func runDown(ctx context.Context, a app, fs *flag.FlagSet, words []string) error {
	var p places
	p.stateFlag(fs)
	name := fs.String("name", defaultName, "name of the cluster")
	all := fs.Bool("all", false, "stop all clusters")
	if err := parse(fs, words); err != nil {
		return err
	}
	if *all && given(fs, "name") {
		return misused(fs, "give --name or --all, not both")
	}
	if err := p.resolve(); err != nil {
		return err
	}
	list := []string{*name}
	if *all {
		var err error
		if list, err = localcluster.List(p.state); err != nil {
			return err
		}
	}
	var errs []error
	for _, each := range list {
		errs = append(errs, localcluster.Down(ctx, p.state, each, a.out))
	}
	return errors.Join(errs...)
}
