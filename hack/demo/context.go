// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/acme/platform-operator/hack/cluster/binaries"
	"github.com/acme/platform-operator/hack/cluster/files"
)

// demoNamespace is where the samples go in a cluster that is not the demo's own.
const demoNamespace = "platform-operator-demo"

// upInContext brings the demo up in the cluster of the current context. The kubeconfig of that cluster is kept in the
// demo's folder: all that follows, and down, works on that cluster, whatever context is current by then.
func (d *demo) upInContext(ctx context.Context) error {
	config, err := currentContext()
	if err != nil {
		return err
	}
	used, err := clientcmd.LoadFromFile(d.kubeconfig())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = d.enterContext(ctx, config)
	case err == nil && server(used) != server(config):
		err = fmt.Errorf("the demo is in the context %s (%s): take it down with `%s` first", used.CurrentContext, server(used), d.command("down"))
	}
	if err != nil {
		return err
	}
	unlock, err := d.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	d.doing = "building the operator"
	if err := d.build(ctx, contextPrograms()); err != nil {
		return err
	}
	return d.present(ctx)
}

// enterContext makes the demo's folder, when the reader agrees and nothing in the cluster is in the way.
func (d *demo) enterContext(ctx context.Context, config *clientcmdapi.Config) error {
	fmt.Fprintf(d.out, "This uses the cluster of the current context:\n\n  context  %s\n  server   %s\n\n"+
		"It makes CRDs, roles and policies (config/install), a sample of every kind, and the namespaces %s,\n%s and app-z. "+
		"The operator runs on this machine, without webhooks.\n`%s` removes all of that, and every object of the operator's kinds.\n",
		config.CurrentContext, server(config), namespace, demoNamespace, d.command("down"))
	if err := d.ask(); err != nil {
		return err
	}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	if err := d.build(ctx, contextPrograms()); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(d.path(), 0o700), files.Write(d.kubeconfig(), data, 0o600)); err != nil {
		return err
	}
	there, err := d.sh(ctx, "", `kubectl kustomize config/install | kubectl get --ignore-not-found -o name -f -
		kubectl get namespace `+demoNamespace+` app-z --ignore-not-found -o name`)
	if err == nil && there != "" {
		err = fmt.Errorf("the cluster has what the demo would make, and would remove again; use another cluster, or remove it:\n%s", there)
	}
	if err == nil {
		err = d.kubectl(ctx, "create", "namespace", demoNamespace)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(d.path()))
	}
	return nil
}

// contextPrograms are what the demo needs when the cluster is there.
func contextPrograms() []binaries.Binary {
	return append(binaries.Kubectl(), binaries.Manager("demo"), binaries.Plugin("demo"))
}

func (d *demo) ask() error {
	if d.yes {
		return nil
	}
	fmt.Fprint(d.out, "Continue? [y/N] ")
	answer, _ := bufio.NewReader(d.in).ReadString('\n') // no answer is no
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was done; answer y, or add --yes, to continue")
	}
	return nil
}

// currentContext is a kubeconfig with nothing but the current context, which needs no other file.
func currentContext() (*clientcmdapi.Config, error) {
	config, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	if err != nil {
		return nil, err
	}
	if config.CurrentContext == "" {
		return nil, errors.New("kubectl has no current context: set KUBECONFIG, or leave --current-context out for a local cluster")
	}
	if err := errors.Join(clientcmdapi.MinifyConfig(config), clientcmdapi.FlattenConfig(config)); err != nil {
		return nil, err
	}
	config.Contexts[config.CurrentContext].Namespace = demoNamespace
	return config, nil
}

func server(config *clientcmdapi.Config) string {
	for _, cluster := range config.Clusters {
		return cluster.Server
	}
	return ""
}

// leaveContext undoes all that the demo did in a cluster. The operator runs until its objects are gone, because it
// removes their finalizers.
func (d *demo) leaveContext(ctx context.Context) error {
	if _, err := os.Stat(d.kubeconfig()); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(d.out, "there is no demo in a context")
		return nil
	}
	d.doing = "removing the samples"
	if d.kubectl(ctx, "get", "acme", "--all-namespaces") == nil { // the kinds are there
		if err := d.startOperator(ctx); err != nil {
			return err
		}
		if err := d.kubectl(ctx, "delete", "acme", "--all", "--all-namespaces", kubectlWait); err != nil {
			return err
		}
	}
	if err := d.kubectl(ctx, "delete", "namespace", demoNamespace, "app-z", "--ignore-not-found", kubectlWait); err != nil {
		return err
	}
	d.doing = "stopping the operator"
	if err := d.operator().Stop(stopGrace); err != nil {
		return err
	}
	d.doing = "removing CRDs, roles and policies"
	if err := d.kubectl(ctx, "delete", "--ignore-not-found", kubectlWait, "-k", "config/install"); err != nil {
		return err
	}
	fmt.Fprintln(d.out, "the operator has stopped, and nothing of the demo is left in the cluster")
	return os.RemoveAll(d.path())
}
