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
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"time"

	"github.com/acme/platform-operator/hack/cluster/files"
)

const (
	loopback          = "127.0.0.1"
	operatorNamespace = "platform-operator-system"
	serviceAccount    = "platform-operator-controller-manager"
	manager           = "manager" // name of the program
)

// ports are those of the operator, on loopback.
type ports struct {
	Metrics  int `json:"metrics"`
	Probes   int `json:"probes"`
	Webhooks int `json:"webhooks"`
}

// started is what an operator was started with.
type started struct {
	Binary  string   `json:"binary"`  // SHA-256
	Cluster string   `json:"cluster"` // SHA-256 of the API server's address and authority
	Args    []string `json:"args"`
	Ports   ports    `json:"ports"`
	PID     int      `json:"pid"`
}

// same tells whether an operator that was started with s need not be started again for other.
func (s started) same(other started) bool {
	s.PID, other.PID = 0, 0
	return reflect.DeepEqual(s, other)
}

func (d *demo) logPath() string        { return d.path("operator.log") }
func (d *demo) certDir() string        { return d.path("operator", "webhook") }
func (d *demo) startedPath() string    { return d.path("operator", "started.json") }
func (d *demo) operatorConfig() string { return d.path("operator", "kubeconfig") }
func (d *demo) operatorBinary() string { return filepath.Join(d.binDir(), manager) }
func (d *demo) kubeconfigFlag() string { return "--kubeconfig=" + d.operatorConfig() }

// operatorArgs are the flags of the operator. It elects a leader although it is alone: one that loses
// its cluster ends by itself then.
func (d *demo) operatorArgs(p ports) []string {
	at := func(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
	return []string{
		d.kubeconfigFlag(), "--namespace=" + operatorNamespace, "--leader-elect",
		"--metrics-bind-address=" + at(p.Metrics), "--metrics-secure=false",
		"--health-probe-bind-address=" + at(p.Probes),
		"--webhook-bind-address=" + loopback, "--webhook-port=" + strconv.Itoa(p.Webhooks), "--webhook-cert-path=" + d.certDir(),
		"--zap-encoder=console", "--zap-stacktrace-level=panic",
	}
}

// buildOperator brings the operator's program up to date.
func (s *session) buildOperator(ctx context.Context) error {
	return s.step("bin/"+manager, "building", func() (string, error) {
		before, err := digest(s.operatorBinary())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags=-s -w -X main.version=demo", "-o", s.operatorBinary(), "./cmd")
		cmd.Dir = s.root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets go remove its work folder
		if output, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w\n%s", err, bytes.TrimSpace(output))
		}
		after, err := digest(s.operatorBinary())
		if before == after {
			return "up to date", err
		}
		return "built", err
	})
}

// digest is the SHA-256 of a file.
func digest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// startOperator leaves the operator running, as the program, the cluster and the flags of now ask for. One
// that runs so and answers is left alone.
func (s *session) startOperator(ctx context.Context) error {
	return s.step("operator", "starting", func() (string, error) {
		pid, err := s.current(ctx)
		if err != nil || pid != 0 {
			return fmt.Sprintf("runs already as process %d, checked", pid), err
		}
		stopped, err := s.stopOperator(ctx)
		if err != nil {
			return "", err
		}
		if s.ports, err = usable(s.ports); err != nil {
			return "", err
		}
		want, err := s.wanted(s.ports)
		if err != nil {
			return "", err
		}
		if err := s.launch(ctx, &want); err != nil {
			return "", err
		}
		how := "ready"
		if stopped {
			how = "restarted and ready"
		}
		return fmt.Sprintf("%s as process %d", how, want.PID), nil
	})
}

// current is the process of an operator that need not be started again, 0 when there is none. It leaves
// in s the ports that the last operator had.
func (s *session) current(ctx context.Context) (pid int, err error) {
	last, err := s.readStarted()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	s.ports = last.Ports
	want, err := s.wanted(last.Ports)
	if err != nil {
		return 0, err
	}
	pids, err := s.operatorPIDs()
	if err != nil || len(pids) != 1 || !want.same(last) || ready(ctx, last.Ports) != nil {
		return 0, err
	}
	return pids[0], nil
}

// wanted is what the operator has to be started with.
func (s *session) wanted(p ports) (started, error) {
	binary, err := digest(s.operatorBinary())
	if err != nil {
		return started{}, err
	}
	cluster := sha256.Sum256(append([]byte(s.config.Host+"\n"), s.config.CAData...))
	return started{Binary: binary, Cluster: hex.EncodeToString(cluster[:]), Args: s.operatorArgs(p), Ports: p}, nil
}

func (d *demo) readStarted() (started, error) {
	var s started
	data, err := os.ReadFile(d.startedPath())
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("reading %s: %w", d.startedPath(), err)
	}
	return s, nil
}

// usable returns p when all its ports are free, else others. They are held together while they are
// chosen, so that they differ.
func usable(p ports) (ports, error) {
	for _, each := range []ports{p, {}} {
		got, err := take(each)
		if err == nil && got == p || each == (ports{}) {
			return got, err
		}
	}
	return p, nil
}

// take finds out whether the ports can be listened on; 0 becomes any free one.
func take(p ports) (ports, error) {
	for _, port := range []*int{&p.Metrics, &p.Probes, &p.Webhooks} {
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(*port)))
		if err != nil {
			return p, fmt.Errorf("choosing a port: %w", err)
		}
		defer func() { _ = listener.Close() }() // nobody connected
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return p, nil
}

// launch starts the operator under the role that a deployment gives it, and waits until it is ready.
func (s *session) launch(ctx context.Context, want *started) error {
	if err := s.cluster.WriteWebhookCert(s.certDir()); err != nil {
		return err
	}
	user := "system:serviceaccount:" + operatorNamespace + ":" + serviceAccount
	kubeconfig, err := s.cluster.UserKubeconfig(user,
		[]string{"system:serviceaccounts", "system:serviceaccounts:" + operatorNamespace}, operatorNamespace)
	if err != nil {
		return err
	}
	if err := files.Write(s.operatorConfig(), kubeconfig, 0o600); err != nil {
		return err
	}
	ended, err := s.spawn(want)
	if err != nil {
		return err
	}
	return s.awaitReady(ctx, want.Ports, ended)
}

// awaitReady waits until the operator can work, or has ended.
func (d *demo) awaitReady(ctx context.Context, p ports, ended <-chan error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d.timeout, fmt.Errorf("not ready after %s", d.timeout))
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		last := ready(ctx, p)
		if last == nil {
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("the process ended: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		case <-ticker.C:
		}
	}
}

// operatorHealth is nil when the operator runs and can work.
func (d *demo) operatorHealth(ctx context.Context) error {
	pids, err := d.operatorPIDs()
	if err != nil {
		return err
	}
	last, err := d.readStarted()
	if len(pids) == 0 || errors.Is(err, fs.ErrNotExist) {
		return errors.New("not running")
	}
	return errors.Join(err, ready(ctx, last.Ports))
}

// ready asks the operator whether it can work.
func ready(ctx context.Context, p ports) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	address := "http://" + net.JoinHostPort(loopback, strconv.Itoa(p.Probes)) + "/readyz?verbose"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("it does not answer: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it is not ready: %s", bytes.Join(bytes.Fields(body), []byte(" ")))
	}
	return nil
}
