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

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/hack/cluster/binaries"
	"github.com/acme/platform-operator/hack/cluster/files"
	"github.com/acme/platform-operator/hack/cluster/localcluster"
)

// logLines is how much of a log is shown after a failure.
const logLines = 20

// demo is what every command knows.
type demo struct {
	console
	name    string
	root    string // the repository
	timeout time.Duration
}

func newDemo(name string, timeout time.Duration, c console) (*demo, error) {
	root, err := repository()
	return &demo{console: c, name: name, root: root, timeout: timeout}, err
}

// repository finds the repository that holds the working folder.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "config", "install")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("finding the repository: run this inside it")
		}
		dir = filepath.Dir(dir)
	}
}

func (d *demo) stateDir() string { return filepath.Join(d.root, ".cluster") }
func (d *demo) binDir() string   { return filepath.Join(d.root, "bin") }

// path is the absolute path of a file of the demo.
func (d *demo) path(elem ...string) string {
	return filepath.Join(append([]string{d.stateDir(), d.name}, elem...)...)
}

// short is a path as a person in the working folder would write it.
func short(path string) string {
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, path); err == nil {
			return rel
		}
	}
	return path
}

// command is what a person types for a command of this program.
func (d *demo) command(name string) string {
	switch {
	case d.name != "demo":
		return "go run ./hack/demo " + name + " --name " + d.name
	case name == "up":
		return "make demo"
	default:
		return "make demo-" + name
	}
}

// session is one up at work.
type session struct {
	*demo
	cluster *localcluster.Cluster
	config  *rest.Config // the administrator's
	admin   client.Client
	unlock  func()
	samples []*sample
	ports   ports
}

// up does what is missing, in an order in which each step can rely on the one before. All steps can be
// repeated, so that an up that was interrupted is taken on by the next one.
func (d *demo) up(ctx context.Context) error {
	s := &session{demo: d, unlock: func() {}}
	defer func() { s.unlock() }()
	for _, step := range []struct {
		doing string
		log   string // tells more when the step fails
		run   func(context.Context) error
	}{
		{"starting the cluster", "", s.startCluster},
		{"installing CRDs, roles and policies", "", s.install},
		{"building the operator", "", s.buildOperator},
		{"starting the operator", d.logPath(), s.startOperator},
		{"installing the webhooks", d.logPath(), s.installWebhooks},
		{"applying the samples", d.logPath(), s.applySamples},
		{"changing what the samples watch", d.logPath(), s.act},
		{"looking at what exists now", d.logPath(), s.report},
	} {
		if err := step.run(ctx); err != nil {
			return &failure{demo: d, doing: step.doing, err: err, log: step.log, interrupted: ctx.Err() != nil}
		}
	}
	return nil
}

// startCluster leaves the cluster running and this program the only one that works on the demo.
func (s *session) startCluster(ctx context.Context) error {
	build := binaries.Builder{Root: s.root, BinDir: s.binDir(), Out: s.out, Live: s.live}
	if err := build.Ensure(ctx, binaries.All()); err != nil {
		return err
	}
	version, err := binaries.KubernetesVersion(s.root)
	if err != nil {
		return err
	}
	s.cluster, err = localcluster.Up(ctx, localcluster.UpOptions{
		Name: s.name, StateDir: s.stateDir(), BinDir: s.binDir(), Version: version,
		NodeCount: localcluster.KeepNodeCount, Timeout: s.timeout, Out: s.out,
	})
	if err != nil {
		return err
	}
	if s.unlock, err = s.lock(ctx); err != nil {
		s.unlock = func() {}
		return err
	}
	s.config, s.admin, err = connect(s.cluster.KubeconfigPath())
	return err
}

func (d *demo) lock(ctx context.Context) (unlock func(), err error) {
	return files.Lock(ctx, d.path(), func() { fmt.Fprintf(d.out, "waiting for another demo of this cluster to finish\n") })
}

// connect makes a client from a kubeconfig.
func connect(kubeconfig string) (*rest.Config, client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), tenancyv1alpha1.AddToScheme(scheme)); err != nil {
		return nil, nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	return config, c, err
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
	stopped, err := d.stopOperator(ctx)
	if err != nil {
		return err
	}
	if stopped {
		fmt.Fprintln(d.out, "the operator has stopped")
	}
	return localcluster.Down(ctx, d.stateDir(), d.name, d.out)
}

// failure is an up that did not work out.
type failure struct {
	demo        *demo
	doing       string
	err         error
	log         string
	interrupted bool
}

// Error implements error.
func (f *failure) Error() string { return f.doing + ": " + f.err.Error() }

// Unwrap gives access to the cause.
func (f *failure) Unwrap() error { return f.err }

// explain prints what went wrong, the end of the log that tells more, and the ways on.
func explain(w io.Writer, err error) {
	var f *failure
	if !errors.As(err, &f) {
		fmt.Fprintf(w, "error: %v\n", err)
		return
	}
	next := fmt.Sprintf("`%s` goes on from here, `%s` removes everything.", f.demo.command("up"), f.demo.command("down"))
	if f.interrupted {
		fmt.Fprintf(w, "\ninterrupted while %s. %s\n", f.doing, next)
		return
	}
	fmt.Fprintf(w, "\nfailed while %v\n", err)
	log, tail := f.log, ""
	var component *localcluster.ComponentError
	if errors.As(err, &component) {
		log, tail = component.Log, component.Tail
	} else if log != "" {
		tail = lastLines(log, logLines)
	}
	if tail != "" {
		fmt.Fprintf(w, "\nthe end of %s:\n%s\n", short(log), tail)
	}
	fmt.Fprintf(w, "\n%s\n", next)
}

// lastLines returns the last n lines of a file, none when it cannot be read.
func lastLines(path string, n int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// status prints what runs; its error says that something does not.
func (d *demo) status(ctx context.Context) error {
	cluster, err := localcluster.Open(d.stateDir(), d.name)
	if err != nil {
		return fmt.Errorf("%w; `%s` makes it", err, d.command("up"))
	}
	var wrong []string
	say := func(what string, err error, more string) {
		state := "healthy"
		if err != nil {
			state = err.Error()
			wrong = append(wrong, what)
		}
		fmt.Fprintf(d.out, "  %-*s %s%s\n", titleWidth, what, state, more)
	}
	for _, s := range cluster.Status(ctx) {
		say(s.Name, s.Err, "")
	}
	say("operator", d.operatorHealth(ctx), ", log "+short(d.logPath()))
	if _, admin, err := connect(cluster.KubeconfigPath()); err != nil {
		say("samples", err, "")
	} else if samples, err := loadSamples(d.root); err != nil {
		say("samples", err, "")
	} else {
		for _, s := range samples {
			say(s.title(), s.health(ctx, admin), "")
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("not healthy: %s; `%s` mends what it can", strings.Join(wrong, ", "), d.command("up"))
	}
	return nil
}
