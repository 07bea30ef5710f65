// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/hack/cluster/files"
	"github.com/acme/platform-operator/hack/cluster/process"
)

const (
	loopback       = "127.0.0.1"
	namespace      = "platform-operator-system" // of the operator
	serviceAccount = "system:serviceaccount:" + namespace + ":platform-operator-controller-manager"
	namePrefix     = "platform-operator-" // the one that the kustomizations put before names
	stopGrace      = 15 * time.Second     // the operator hands its lease over
)

// ports are those of the operator, on loopback.
type ports struct{ metrics, probes, webhooks int }

func (d *demo) operator() process.Process { return process.Process{Name: "manager", Dir: d.path()} }
func (d *demo) operatorConfig() string    { return d.path("operator", "kubeconfig") }
func (d *demo) certDir() string           { return d.path("operator", "webhook") }

// operatorArgs are the flags of the operator. It elects a leader although it is alone: one that loses its cluster ends
// by itself then. The API server of a cluster elsewhere does not reach webhooks on this machine.
func (d *demo) operatorArgs(p ports) []string {
	webhooks := []string{"--webhook-port=-1"}
	if !d.context {
		webhooks = []string{"--webhook-port=" + strconv.Itoa(p.webhooks), "--webhook-bind-address=" + loopback, "--webhook-cert-path=" + d.certDir()}
	}
	return append([]string{
		"--metrics-bind-address=" + at(p.metrics), "--health-probe-bind-address=" + at(p.probes), "--metrics-secure=false",
		"--kubeconfig=" + d.operatorConfig(), "--namespace=" + namespace, "--leader-elect",
		"--zap-encoder=console", "--zap-stacktrace-level=panic",
	}, webhooks...)
}

func at(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// portsOf reads the ports from the flags of an operator that runs.
func portsOf(args []string) ports {
	number := func(flag string) int {
		i := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, flag) })
		if i < 0 {
			return 0
		}
		n, _ := strconv.Atoi(args[i][len(flag):])
		return n
	}
	return ports{number("--metrics-bind-address=" + loopback + ":"), number("--health-probe-bind-address=" + loopback + ":"), number("--webhook-port=")}
}

// startOperator leaves the operator running, as the program, the cluster and the flags of now ask for. One that runs so
// and answers is left alone.
func (d *demo) startOperator(ctx context.Context) error {
	kubeconfig, err := d.kubeconfigAs(serviceAccount)
	if err != nil {
		return err
	}
	if d.ports = portsOf(d.operator().Args()); d.current(ctx, kubeconfig) {
		return nil
	}
	if err := d.operator().Stop(stopGrace); err != nil {
		return err
	}
	if d.ports, err = freePorts(); err != nil {
		return err
	}
	if d.cluster != nil {
		if err := d.cluster.WriteWebhookCert(d.certDir()); err != nil {
			return err
		}
	}
	err = errors.Join(os.MkdirAll(filepath.Dir(d.operatorConfig()), 0o700), files.Write(d.operatorConfig(), kubeconfig, 0o600))
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(d.binDir(), d.operator().Name), d.operatorArgs(d.ports)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")} // kubeconfigs name programs and files
	if d.version != "" {
		cmd.Env = append(cmd.Env, schedulerImage(d.version))
	}
	running, err := d.operator().Start(cmd, nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not ready after %s", timeout))
	defer cancel()
	return process.Poll(ctx, process.PollInterval, running, func() error { return ready(ctx, d.ports) })
}

// current reports whether the operator runs with the program and the flags of now, and is ready.
func (d *demo) current(ctx context.Context, kubeconfig []byte) bool {
	args := d.operator().Args()
	if len(args) == 0 || !slices.Equal(args[1:], d.operatorArgs(d.ports)) {
		return false
	}
	used, errUsed := os.Stat(fmt.Sprintf("/proc/%d/exe", d.operator().PID()))
	built, errBuilt := os.Stat(filepath.Join(d.binDir(), d.operator().Name))
	last, errLast := os.ReadFile(d.operatorConfig())
	return errors.Join(errUsed, errBuilt, errLast) == nil && os.SameFile(used, built) && bytes.Equal(last, kubeconfig) &&
		ready(ctx, d.ports) == nil
}

// freePorts chooses ports. They are held together while they are chosen, so that they differ.
func freePorts() (p ports, err error) {
	for _, port := range []*int{&p.metrics, &p.probes, &p.webhooks} {
		listener, err := net.Listen("tcp", at(0))
		if err != nil {
			return p, fmt.Errorf("choosing a port: %w", err)
		}
		defer func() { _ = listener.Close() }() // nobody connected
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return p, nil
}

// ready asks the operator whether it can work.
func ready(ctx context.Context, p ports) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at(p.probes)+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("it does not answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("its probe answers %s", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// installWebhooks tells the API server where the webhooks of the process are.
func (d *demo) installWebhooks(ctx context.Context) error {
	manifests, err := os.ReadFile(filepath.Join(d.root, "config", "webhook", "manifests.yaml"))
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(filepath.Join(d.certDir(), "ca.crt"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; `%s` and `%s` make it again", err, d.command("down"), d.command("up"))
	} else if err != nil {
		return err
	}
	manifests, err = webhookConfigurations(manifests, "https://"+at(d.ports.webhooks), ca)
	if err != nil {
		return fmt.Errorf("reading config/webhook/manifests.yaml: %w", err)
	}
	_, err = d.sh(ctx, string(manifests), "kubectl apply --server-side --force-conflicts -f -")
	return err
}

// webhookConfigurations turns the generated webhook configurations, which name a Service, into ones for a process at
// address (https://HOST:PORT) whose certificate ca (PEM) has signed. Names get the prefix of a deployment.
func webhookConfigurations(manifests []byte, address string, ca []byte) ([]byte, error) {
	var all []byte
	for _, doc := range documents(manifests) {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			return nil, err
		}
		metadata, _ := o["metadata"].(map[string]any)
		webhooks, _ := o["webhooks"].([]any)
		if metadata == nil || len(webhooks) == 0 {
			return nil, errors.New("a document has no name or no webhooks")
		}
		metadata["name"] = fmt.Sprint(namePrefix, metadata["name"])
		for i := range webhooks {
			webhook, _ := webhooks[i].(map[string]any)
			config, _ := webhook["clientConfig"].(map[string]any)
			service, _ := config["service"].(map[string]any)
			path, found := service["path"].(string)
			if !found {
				return nil, fmt.Errorf("%s: webhook %d names no path of a Service", metadata["name"], i)
			}
			webhook["clientConfig"] = map[string]any{"url": address + path, "caBundle": base64.StdEncoding.EncodeToString(ca)}
		}
		data, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		all = append(append(all, "---\n"...), data...)
	}
	return all, nil
}

// documents are the parts of a manifest that are not empty.
func documents(manifest []byte) []string {
	return slices.DeleteFunc(strings.Split("\n"+string(manifest), "\n---\n"), func(doc string) bool { return strings.TrimSpace(doc) == "" })
}
