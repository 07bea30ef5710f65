// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/acme/platform-operator/hack/cluster/binaries"
	"github.com/acme/platform-operator/hack/cluster/files"
	"github.com/acme/platform-operator/hack/cluster/localcluster"
)

const (
	timeout     = 2 * time.Minute // for each component, and for all else that is waited for
	kubectlWait = "--timeout=2m"
)

// demo is one run of a command.
type demo struct {
	in      io.Reader
	out     io.Writer
	name    string // of the local cluster
	context bool   // the cluster is that of the current context
	yes     bool
	root    string // the repository
	doing   string // for the reader of an error; empty before anything is done

	cluster *localcluster.Cluster // nil with context
	version string                // of the local cluster
	ports   ports
}

// open checks the flags and finds the repository that holds the working folder.
func (d *demo) open() error {
	if d.context && d.name != "demo" {
		return errors.New("--name is of a local cluster; leave it out with --current-context")
	}
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "config", "install")); missing == nil {
			d.root = dir
			return nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("run this inside the repository")
		}
	}
	return fmt.Errorf("finding the repository: %w", err)
}

// path is the absolute path of a file of the demo.
func (d *demo) path(elem ...string) string {
	folder := d.name
	if d.context {
		folder = "_context" // no cluster can have this name
	}
	return filepath.Join(append([]string{d.root, ".cluster", folder}, elem...)...)
}

func (d *demo) binDir() string     { return filepath.Join(d.root, "bin") }
func (d *demo) kubeconfig() string { return d.path("kubeconfig") }

// up does what is missing, in an order in which each step can rely on the one before. All steps can be repeated, so
// that an up that was interrupted is continued by the next one.
func (d *demo) up(ctx context.Context) error {
	if d.context {
		return d.upInContext(ctx)
	}
	fmt.Fprintf(d.out, "This brings up a Kubernetes control plane with simulated nodes, the operator and a sample of every kind: "+
		"here, without root.\n")
	d.doing = "building the programs"
	if err := d.build(ctx, append(binaries.All(), binaries.Manager("demo"), binaries.Views(), binaries.Plugin("demo"))); err != nil {
		return err
	}
	d.doing = "starting the cluster"
	var err error
	if d.version, err = binaries.KubernetesVersion(d.root); err != nil {
		return err
	}
	d.cluster, err = localcluster.Up(ctx, localcluster.UpOptions{
		Name: d.name, StateDir: filepath.Dir(d.path()), BinDir: d.binDir(), Version: d.version,
		NodeCount: localcluster.KeepNodeCount, Timeout: timeout, Out: d.out,
	})
	if err != nil {
		return err
	}
	unlock, err := d.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return d.present(ctx)
}

func (d *demo) build(ctx context.Context, wanted []binaries.Binary) error {
	file, isFile := d.out.(*os.File)
	live := isFile && term.IsTerminal(int(file.Fd()))
	return binaries.Builder{Root: d.root, BinDir: d.binDir(), Out: d.out, Live: live}.Ensure(ctx, wanted)
}

// lock makes this program the only one that works on the demo.
func (d *demo) lock(ctx context.Context) (unlock func(), err error) {
	return files.Lock(ctx, d.path(), func() { fmt.Fprintln(d.out, "waiting for another demo of this cluster to finish") })
}

// present leaves the operator and the samples in a cluster that runs, and shows them.
func (d *demo) present(ctx context.Context) error {
	scenes, err := d.loadScenes()
	if err != nil {
		return err
	}
	webhooks, views := d.installWebhooks, d.startViews
	if d.context {
		webhooks, views = nil, nil
	}
	for _, step := range []struct {
		doing, done string
		run         func(context.Context) error
	}{
		{"installing CRDs, roles and policies", "in place", d.install},
		{"starting the operator", "ready", d.startOperator},
		{"telling the API server of the webhooks", "in place", webhooks},
		{"starting the views", "registered", views},
		{"applying the samples", "ready", func(ctx context.Context) error { return d.play(ctx, scenes) }},
	} {
		if step.run == nil {
			continue
		}
		d.doing = step.doing
		start := time.Now()
		if err := step.run(ctx); err != nil {
			return err
		}
		fmt.Fprintf(d.out, "  %-40s %s after %.1fs\n", step.doing, step.done, time.Since(start).Seconds())
	}
	d.doing = "showing what there is now"
	return d.report(ctx, scenes)
}

// install applies what an operator outside the cluster needs, and waits until its kinds are served.
func (d *demo) install(ctx context.Context) error {
	err := errors.Join(
		d.kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-k", "config/install"),
		d.kubectl(ctx, "wait", "--for=condition=Established", kubectlWait, "-f", "config/crd/bases"))
	if d.context || err != nil { // in a cluster of somebody's, an administrator decides who may be a scheduler
		return err
	}
	return d.kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-k", "config/scheduling")
}

// down removes everything. What is not there is no error.
func (d *demo) down(ctx context.Context) error {
	if _, err := os.Stat(d.path()); err == nil {
		unlock, err := d.lock(ctx)
		if err != nil {
			return err
		}
		defer unlock()
	}
	if d.context {
		return d.leaveContext(ctx)
	}
	return localcluster.Down(ctx, filepath.Dir(d.path()), d.name, d.out)
}

// kubectl runs kubectl on the demo's cluster; what it prints is only told in an error.
func (d *demo) kubectl(ctx context.Context, words ...string) error {
	_, err := d.sh(ctx, "", `exec kubectl "$@"`, words...)
	return err
}

// sh runs a script as a person would who has done what the report says, and returns what it prints.
func (d *demo) sh(ctx context.Context, input, script string, words ...string) (output string, err error) {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-euc", script, "sh"}, words...)...)
	cmd.Dir = d.root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+d.kubeconfig(), "SAM="+d.guestConfig(), "PATH="+d.binDir()+":"+os.Getenv("PATH"))
	cmd.Stdin = strings.NewReader(input)
	data, err := cmd.CombinedOutput()
	output = string(bytes.TrimSpace(data))
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, output)
	}
	return output, err
}
