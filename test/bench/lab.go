// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/hack/cluster/binaries"
	"github.com/acme/platform-operator/hack/cluster/localcluster"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/operator/settings"
)

const (
	// The operator's own namespace and user, as config/install has them.
	ownNamespace   = "platform-operator-system"
	serviceAccount = "platform-operator-controller-manager"
	// patience bounds everything that is waited for.
	patience = 5 * time.Minute
)

// lab is the place where things are measured: the repository, the operator's binary and, one at a
// time, a cluster.
type lab struct {
	options
	out  io.Writer
	root string
	// dir is for what is thrown away: the operator's log, and its binary when it was built.
	dir string
	// manager is the operator's binary.
	manager string
}

func newLab(o options, out io.Writer) (*lab, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "tools", "kubernetes", "go.mod")); err == nil {
			return &lab{options: o, out: out, root: root}, nil
		}
		parent := filepath.Dir(root)
		if parent == root {
			return nil, errors.New("finding the repository: run this inside it")
		}
		root = parent
	}
}

// path makes a path of the repository absolute.
func (l *lab) path(elem ...string) string {
	if filepath.IsAbs(elem[0]) {
		return filepath.Join(elem...)
	}
	return filepath.Join(append([]string{l.root}, elem...)...)
}

func (l *lab) say(format string, args ...any) { fmt.Fprintf(l.out, format, args...) }

// prepare builds what a round needs.
func (l *lab) prepare(ctx context.Context) error {
	b := binaries.Builder{Root: l.root, BinDir: l.path("bin"), Out: l.out}
	if err := b.Ensure(ctx, binaries.All()); err != nil {
		return err
	}
	var err error
	if l.dir, err = os.MkdirTemp("", "platform-operator-bench-"); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	if l.manager = l.operator; l.manager != "" {
		return nil
	}
	l.manager = filepath.Join(l.dir, "manager")
	return l.command(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", l.manager, "./cmd")
}

// cleanUp removes what prepare and up have made, as far as it is not to be kept.
func (l *lab) cleanUp(ctx context.Context) error {
	err := os.RemoveAll(l.dir)
	if l.keep {
		return err
	}
	return errors.Join(err, l.down(ctx))
}

// command runs a program in the repository. Its output is shown only when it fails.
func (l *lab) command(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = l.root
	cmd.Env = append(os.Environ(), env...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running %s: %w\n%s", name, err, output)
	}
	return nil
}

// cluster is a new cluster with the operator's CRDs, roles and policy, but without the operator.
type cluster struct {
	admin client.WithWatch
	rest  rest.Interface
	// kubeconfig is the operator's: the user is its service account, so that the generated role holds.
	kubeconfig string
	// adminKubeconfig is the administrator's.
	adminKubeconfig string
}

// up makes a new cluster with simulated nodes for so many pods. One that an earlier run left is removed.
func (l *lab) up(ctx context.Context, pods int) (*cluster, error) {
	if err := l.down(ctx); err != nil {
		return nil, err
	}
	version, err := binaries.KubernetesVersion(l.root)
	if err != nil {
		return nil, err
	}
	local, err := localcluster.Up(ctx, localcluster.UpOptions{
		Name: l.clusterName, StateDir: l.path(".cluster"), BinDir: l.path("bin"), Version: version,
		NodeCount: 1 + pods/podsPerNode, Timeout: patience, Out: io.Discard,
	})
	if err != nil {
		return nil, err
	}
	if err := l.command(ctx, []string{"KUBECONFIG=" + local.KubeconfigPath()}, "make", "--no-print-directory", "install"); err != nil {
		return nil, err
	}
	c, err := connect(local)
	if err != nil {
		return nil, err
	}
	if err := c.admin.Create(ctx, configuration()); err != nil {
		return nil, fmt.Errorf("configuring the operator: %w", err)
	}
	return c, nil
}

// configuration is that of the operator: nobody answers views here, and it would report them as missing, by an event that belongs to no
// object.
func configuration() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: settings.ConfigMapName},
		Data: map[string]string{"config.yaml": "apiVersion: config.acme.com/v1alpha1\nkind: PlatformOperatorConfig\n" +
			"views: {state: Disabled}\n"},
	}
}

// podsPerNode is how many pods a simulated node takes.
const podsPerNode = 110

func connect(local *localcluster.Cluster) (*cluster, error) {
	c := &cluster{adminKubeconfig: local.KubeconfigPath(), kubeconfig: filepath.Join(filepath.Dir(local.KubeconfigPath()), "operator.kubeconfig")}
	data, err := local.UserKubeconfig("system:serviceaccount:"+ownNamespace+":"+serviceAccount,
		[]string{"system:serviceaccounts", "system:serviceaccounts:" + ownNamespace}, "")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(c.kubeconfig, data, 0o600); err != nil {
		return nil, fmt.Errorf("writing the operator's kubeconfig: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", local.KubeconfigPath())
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	config.QPS = -1
	if c.admin, err = client.NewWithWatch(config, client.Options{Scheme: operator.Scheme()}); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	if c.rest, err = rest.UnversionedRESTClientFor(config); err != nil {
		return nil, fmt.Errorf("making the raw client: %w", err)
	}
	return c, nil
}

// down removes the cluster, when there is one.
func (l *lab) down(ctx context.Context) error {
	return localcluster.Down(ctx, l.path(".cluster"), l.clusterName, io.Discard)
}

// poll asks until the answer is yes. what is part of the error when that takes too long.
func poll(ctx context.Context, what string, interval time.Duration, ask func(context.Context) (bool, error)) error {
	if err := wait.PollUntilContextTimeout(ctx, interval, patience, true, ask); err != nil {
		return fmt.Errorf("waiting until %s: %w", what, err)
	}
	return nil
}
