// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/hack/cluster/files"
	"github.com/acme/platform-operator/hack/cluster/process"
)

// asHost is the command that runs a program under a host name.
const asHost = "as-host"

// extraScheduler is the kube-scheduler of a SchedulerProfile. Simulated nodes run no program, so the demo runs it, as the first pod of
// its Deployment: with its arguments and its configuration, under its account and its host name, by which it holds the Lease.
type extraScheduler struct {
	*demo
	process.Process
	child string // the name of its Deployment
}

func (d *demo) extraScheduler(s *scene) extraScheduler {
	return extraScheduler{d, process.Process{Name: "scheduler-" + s.name, Dir: d.path()}, s.name + "-schedulerprofile"}
}

func (x extraScheduler) file(name string) string {
	return filepath.Join(x.Dir, "schedulers", x.Name+"."+name)
}

// startScheduler leaves the scheduler of a sample running as its pods are now.
func (d *demo) startScheduler(ctx context.Context, s *scene) error {
	x := d.extraScheduler(s)
	script := `kubectl wait deployment "$1" -n "$2" --for=create --timeout=1m && kubectl rollout status deployment "$1" -n "$2" --timeout=1m`
	if _, err := d.sh(ctx, "", script, x.child, namespace); err != nil {
		return err
	}
	pods, err := x.ask(ctx, "pods -l scheduling.acme.com/profile="+x.child+" --field-selector=status.phase=Running", "{.items[*].metadata.name}")
	if err != nil || len(pods) == 0 {
		return fmt.Errorf("the scheduler has no pods: %w", err)
	}
	args, config, err := x.configure(ctx)
	if err != nil {
		return err
	}
	if x.current(args, config, pods) {
		return nil
	}
	if err := x.Stop(stopGrace); err != nil {
		return err
	}
	kubeconfig, err := d.kubeconfigAs("system:serviceaccount:" + namespace + ":platform-operator-scheduler")
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"config": config, "kubeconfig": kubeconfig, "pod": []byte(pods[0])} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(x.file(name)), 0o700), files.Write(x.file(name), data, 0o600)); err != nil {
			return err
		}
	}
	return x.run(s, pods[0], args)
}

// ask reads a field of objects in the operator's namespace, as words.
func (x extraScheduler) ask(ctx context.Context, what, field string) ([]string, error) {
	out, err := x.sh(ctx, "", `kubectl get `+what+` -n "$1" -o jsonpath="$2"`, namespace, field)
	return strings.Fields(out), err
}

// configure returns the arguments of the container and its configuration, with files of the demo in place of those of the container.
func (x extraScheduler) configure(ctx context.Context) (args []string, config []byte, err error) {
	args, err = x.ask(ctx, "deployment "+x.child, "{.spec.template.spec.containers[0].args[*]}")
	if err != nil {
		return nil, nil, err
	}
	for i, arg := range args {
		switch flag, _, _ := strings.Cut(arg, "="); flag {
		case "--config":
			args[i] = flag + "=" + x.file("config")
		case "--cert-dir":
			args[i] = flag + "=" + x.file("certificates")
		}
	}
	text, err := x.sh(ctx, "", `kubectl get configmap -n "$1" -o jsonpath='{.data.config\.yaml}' \
		"$(kubectl get deployment "$2" -n "$1" -o jsonpath='{.spec.template.spec.volumes[?(@.name=="config")].configMap.name}')"`, namespace, x.child)
	if err != nil {
		return nil, nil, err
	}
	var all map[string]any
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		return nil, nil, fmt.Errorf("reading the configuration of the scheduler: %w", err)
	}
	all["clientConnection"] = map[string]any{"kubeconfig": x.file("kubeconfig")}
	config, err = yaml.Marshal(all)
	return append(args, "--secure-port=0"), config, err // 0: no port, because nothing probes it here
}

// current reports whether it runs as one of its present pods.
func (x extraScheduler) current(args []string, config []byte, pods []string) bool {
	running := x.Args()
	last, errLast := os.ReadFile(x.file("config"))
	pod, errPod := os.ReadFile(x.file("pod"))
	return len(running) > 0 && slices.Equal(running[1:], args) && errors.Join(errLast, errPod) == nil && bytes.Equal(last, config) &&
		slices.Contains(pods, string(pod))
}

// run starts it. Where the demo may have no namespaces, it runs under the name of the machine: it places pods then, and the
// SchedulerProfile says that none of its pods is active.
func (x extraScheduler) run(s *scene, pod string, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program := filepath.Join(x.binDir(), "kube-scheduler")
	cmd := &exec.Cmd{Path: self, Args: append([]string{x.Name, asHost, pod, program}, args...), Env: []string{"HOME=" + x.Dir}}
	own := func() error {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUTS
		if os.Geteuid() != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
		}
		return cmd.Start()
	}
	if _, err = x.Start(cmd, own); err == nil {
		return nil
	}
	s.Needs = "namespaces for users"
	cmd = &exec.Cmd{Path: program, Args: append([]string{x.Name}, args...), Env: cmd.Env}
	if _, again := x.Start(cmd, nil); again != nil {
		return errors.Join(err, again)
	}
	return nil
}

// runAsHost replaces this program by another one, under a host name. It returns only an error.
func runAsHost(words []string) error {
	if len(words) < 2 {
		return errors.New("usage: as-host NAME PROGRAM [ARGUMENT]")
	}
	if err := syscall.Sethostname([]byte(words[0])); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	return syscall.Exec(words[1], slices.Concat(os.Args[:1], words[2:]), os.Environ())
}

// kubeconfigAs is the administrator's kubeconfig, with which a program acts as somebody else: it may do what a deployment would give it, and
// no more.
func (d *demo) kubeconfigAs(user string) ([]byte, error) {
	config, err := clientcmd.LoadFromFile(d.kubeconfig())
	if err != nil {
		return nil, err
	}
	for _, access := range config.AuthInfos {
		access.Impersonate = user
	}
	return clientcmd.Write(*config)
}

// schedulerImage is the variable that names the image of kube-scheduler for the version of the demo's cluster.
func schedulerImage(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return fmt.Sprintf("RELATED_IMAGE_KUBE_SCHEDULER_%s_%s=registry.acme.com/kubernetes/kube-scheduler:%s", parts[0], parts[1], version)
}
