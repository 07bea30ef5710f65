// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/acme/platform-operator/hack/cluster/files"
	"github.com/acme/platform-operator/hack/cluster/machine"
	"github.com/acme/platform-operator/hack/cluster/process"
)

const (
	stagesFile = "stages.yaml"
	// DefaultNodeCount is the number of simulated nodes of a new cluster.
	DefaultNodeCount = 3
	// KeepNodeCount as UpOptions.NodeCount leaves a cluster the nodes that it has.
	KeepNodeCount = -1

	logTailLines = 20
	// stopGrace is how long a component may take to end by itself. It is short because the API
	// server waits for the clients that still watch, and nothing of a cluster is kept.
	stopGrace = 5 * time.Second
	// nodePollInterval is the pace at which nodes are listed, which costs more than to ask for health.
	nodePollInterval = 250 * time.Millisecond
)

//go:embed stages.yaml
var stages []byte

// UpOptions say which cluster Up is to run.
type UpOptions struct {
	Name      string        // a DNS label of at most 40 characters
	StateDir  string        // holds a folder per cluster; made when missing
	BinDir    string        // absolute; holds the components' programs
	Version   string        // Kubernetes version of those programs, such as v1.36.3
	Nodes     NodeKind      // empty: what the cluster has, and simulated ones for a new cluster
	NodeCount int           // simulated nodes, or KeepNodeCount; a real node is one
	Timeout   time.Duration // for each component to become healthy
	Out       io.Writer     // progress
}

// ComponentError says which component did not start.
type ComponentError struct {
	Component string // name of the program
	Log       string // path of its log file
	Tail      string // last lines of the log
	Err       error  // what happened
}

// Error implements error, without the log.
func (e *ComponentError) Error() string { return fmt.Sprintf("%s: %v", e.Component, e.Err) }

// Unwrap gives access to the cause.
func (e *ComponentError) Unwrap() error { return e.Err }

// Up makes the cluster run and returns when it can be used. What runs already is left alone, what is
// missing is started, so a second Up is quick and a broken cluster is repaired. When a component does
// not become healthy, Up ends what it started and returns a *ComponentError; the folder stays, with
// the logs.
func Up(ctx context.Context, o UpOptions) (*Cluster, error) {
	unlock, err := lockState(ctx, o.StateDir, o.Out)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c, nodesChanged, err := o.open()
	if err != nil {
		return nil, err
	}
	if !nodesChanged && c.complete(ctx) {
		say(o.Out, "cluster %s is already running\n", o.Name)
		return c, nil
	}
	l := &launch{cluster: c, timeout: o.Timeout, out: o.Out}
	if err := l.run(ctx); err != nil {
		return nil, errors.Join(err, l.rollback())
	}
	return c, nil
}

// open finds or makes the cluster's record and brings it up to date with the options.
func (o UpOptions) open() (c *Cluster, nodesChanged bool, err error) {
	c, err = Open(o.StateDir, o.Name)
	if errors.Is(err, ErrNotFound) {
		c = &Cluster{record: record{Name: o.Name, NodeCount: DefaultNodeCount}}
		c.dir, err = folder(o.StateDir, o.Name)
	}
	if err != nil {
		return nil, false, err
	}
	if kind := cmp.Or(o.Nodes, c.NodeKind()); c.record.Nodes == "" && c.Ports == nil {
		c.record.Nodes = kind // it is new
	} else if kind != c.NodeKind() {
		return nil, false, fmt.Errorf("cluster %s has %s nodes: take it down first", o.Name, c.NodeKind())
	}
	if c.real() {
		o.NodeCount = 1
	}
	if o.NodeCount != KeepNodeCount && o.NodeCount != c.NodeCount {
		c.NodeCount, nodesChanged = o.NodeCount, true
	}
	c.BinDir, c.Version = o.BinDir, o.Version
	return c, nodesChanged, nil
}

// complete reports whether everything runs, is healthy and can be used.
func (c *Cluster) complete(ctx context.Context) bool {
	for _, status := range c.Status(ctx) {
		if status.Err != nil {
			return false
		}
	}
	client, err := c.client()
	return err == nil && c.usable(ctx, client) == nil
}

// lockState holds stateDir against other launchers: they choose ports and start processes one after the other.
func lockState(ctx context.Context, stateDir string, out io.Writer) (unlock func(), err error) {
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return nil, fmt.Errorf("making the state folder: %w", err)
	}
	return files.Lock(ctx, stateDir, func() { say(out, "waiting for another launcher in %s\n", stateDir) })
}

// launch is one Up at work.
type launch struct {
	cluster *Cluster
	timeout time.Duration
	out     io.Writer
	health  *http.Client
	client  kubernetes.Interface
	started []string // components, in order
}

func (l *launch) run(ctx context.Context) error {
	c := l.cluster
	start := time.Now()
	if err := l.prepare(); err != nil {
		return err
	}
	say(l.out, "starting cluster %s: Kubernetes %s, %s\n", c.Name(), c.Version, c.nodesInWords())
	for _, stage := range c.stages(l) {
		if stage.prepare != nil {
			if err := stage.prepare(ctx); err != nil {
				return err
			}
		}
		if err := l.runStage(ctx, stage.components); err != nil {
			return err
		}
	}
	if err := l.runNodes(ctx); err != nil {
		return err
	}
	say(l.out, "cluster %s is up after %s\n", c.Name(), seconds(start))
	return nil
}

// prepare writes everything that the components read.
func (l *launch) prepare() error {
	c := l.cluster
	if err := c.assignPorts(); err != nil {
		return err
	}
	for _, dir := range []string{"", "etcd", "kubeconfigs", "logs", "pids"} {
		if err := os.MkdirAll(c.path(dir), 0o700); err != nil { // the folder holds keys
			return fmt.Errorf("making the cluster's folder: %w", err)
		}
	}
	if err := c.save(); err != nil {
		return err
	}
	if err := c.writeCredentials(); err != nil {
		return err
	}
	if err := c.writeConfiguration(); err != nil {
		return err
	}
	var err error
	if l.health, err = c.healthClient(); err != nil {
		return err
	}
	l.client, err = c.client()
	return err
}

// writeConfiguration writes what the nodes' programs read.
func (c *Cluster) writeConfiguration() error {
	if c.real() {
		return c.writeRealConfiguration()
	}
	return files.Write(c.path(stagesFile), stages, 0o600)
}

func (l *launch) runStage(ctx context.Context, components []component) error {
	c := l.cluster
	start := time.Now()
	processes := map[string]*process.Running{}
	for _, comp := range components {
		if c.process(comp.name).PID() != 0 {
			continue
		}
		p, err := c.start(comp)
		if err != nil {
			return err
		}
		processes[comp.name] = p
		l.started = append(l.started, comp.name)
	}
	for _, comp := range components {
		p := processes[comp.name]
		limited, cancel := l.limit(ctx)
		err := awaitHealth(limited, l.health, comp, p)
		cancel()
		if err != nil {
			return l.failure(ctx, comp.name, err)
		}
		what := "healthy after " + seconds(start)
		if p == nil {
			what = "healthy (was running)"
		}
		l.report(comp.name, what, comp.address)
	}
	return nil
}

func (l *launch) runNodes(ctx context.Context) error {
	c := l.cluster
	start := time.Now()
	limited, cancel := l.limit(ctx)
	defer cancel()
	responsible := kwok
	var err error
	if c.real() {
		responsible = kubelet
		err = c.applyAddons(limited)
	} else {
		err = c.ensureNodes(limited, l.client)
	}
	if err != nil {
		return err
	}
	err = process.Poll(limited, nodePollInterval, nil, func() error { return c.usable(limited, l.client) })
	if err != nil {
		return l.failure(ctx, responsible, err)
	}
	l.report(c.nodesInWords(), "ready after "+seconds(start), "")
	return nil
}

// thrift has the components collect garbage less often than is Go's default, as long as they are small: about a fifth of the
// processor time of an API server goes there.
var thrift = []string{"GOGC=400", "GOMEMLIMIT=2GiB"}

// start runs a component. Its environment is empty but for a path, a home and thrift.
func (c *Cluster) start(comp component) (*process.Running, error) {
	program := filepath.Join(c.BinDir, comp.name)
	if comp.system {
		program = machine.Find(comp.name)
	}
	cmd := exec.Command(program, comp.args...)
	cmd.Env = append([]string{"PATH=" + machine.Path(), "HOME=" + c.dir}, thrift...)
	return c.process(comp.name).Start(cmd, func() error { return c.launch(cmd, comp.place) })
}

// launch starts cmd where it belongs.
func (c *Cluster) launch(cmd *exec.Cmd, where place) error {
	switch where {
	case asNode:
		machine.OwnNamespaces(cmd)
	case onNode:
		return machine.StartInside(c.process(nodeInit).PID(), cmd)
	case onMachine:
	}
	return cmd.Start()
}

// failure says that a component did not become ready, unless the caller ended the launch: then its log
// has nothing to tell.
func (l *launch) failure(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("waiting for %s: %w", name, context.Cause(ctx))
	}
	c := l.cluster
	return &ComponentError{Component: name, Log: c.process(name).LogPath(), Tail: c.process(name).LogTail(logTailLines), Err: err}
}

func (l *launch) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, l.timeout, fmt.Errorf("not ready after %s", l.timeout))
}

func (l *launch) report(what, how, where string) {
	say(l.out, "  %-24s %-22s %s\n", what, how, where)
}

// rollback ends what this launch started, last first.
func (l *launch) rollback() error {
	c := l.cluster
	slices.Reverse(l.started)
	var errs []error
	for _, name := range l.started {
		errs = append(errs, c.process(name).Stop(stopGrace))
	}
	return errors.Join(errs...)
}

func seconds(start time.Time) string { return fmt.Sprintf("%.1fs", time.Since(start).Seconds()) }

// say prints progress. A reader that went away is no reason to give up half-way.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
