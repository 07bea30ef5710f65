// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/acme/platform-operator/hack/cluster/localcluster"
	"github.com/acme/platform-operator/hack/cluster/machine"
)

// realNodeVariable, when it is 1, lets root run the tests of a real node. They take a few minutes, and a machine has
// one such node at most.
const realNodeVariable = "PLATFORM_REAL_NODE"

func needRealNode(t *testing.T) {
	t.Helper()
	if os.Getenv(realNodeVariable) != "1" || os.Geteuid() != 0 {
		t.Skipf("runs as root with %s=1: make test-real-node", realNodeVariable)
	}
	if err := machine.EnsurePrograms(t.Context(), t.Output()); err != nil { // before up does: the tests use them too
		t.Fatal(err)
	}
	mustRun(t, "build", "--only", "real")
}

// realNode is a cluster with a real node under test.
type realNode struct {
	*testing.T
	stateDir string
	kubectl  string
	cluster  *localcluster.Cluster
}

func (n *realNode) with(words ...string) []string {
	return append(words, "--state-dir", n.stateDir, "--name", "real")
}

// run runs kubectl and returns what it printed.
func (n *realNode) run(words ...string) (string, error) {
	cmd := exec.CommandContext(n.Context(), n.kubectl, words...)
	cmd.Env = []string{"KUBECONFIG=" + n.cluster.KubeconfigPath(), "HOME=" + filepath.Dir(n.stateDir)}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(words, " "), err, out)
	}
	return string(out), nil
}

// says expects that kubectl prints want, within two minutes.
func (n *realNode) says(want string, words ...string) {
	n.Helper()
	var last string
	err := wait.PollUntilContextTimeout(n.Context(), 250*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		out, err := n.run(words...)
		last = fmt.Sprint(strings.TrimSpace(out), err)
		return err == nil && strings.Contains(out, want), nil
	})
	if err != nil {
		pods, _ := n.run("get", "pods", "--all-namespaces")
		events, _ := n.run("get", "events", "--all-namespaces", "--sort-by=.lastTimestamp")
		n.Fatalf("kubectl %s: want %q, got %s\n%s\n%s", strings.Join(words, " "), want, last, pods, events)
	}
}

// TestLifeOfARealNode runs containers on this machine and expects that nothing is left of them.
func TestLifeOfARealNode(t *testing.T) {
	needRealNode(t)
	before := machineState(t)
	before["links"] = lineOfOurs.ReplaceAllString(before["links"], "")
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	n := &realNode{T: t, stateDir: t.TempDir(), kubectl: filepath.Join(root, "bin", "kubectl")}
	t.Cleanup(func() {
		if _, errOut, code := execute(t, n.with("down")...); code != exitOK {
			t.Error(errOut)
		}
	})
	t.Log(mustRun(t, n.with("up", "--nodes", "real")...))
	if n.cluster, err = localcluster.Open(n.stateDir, "real"); err != nil {
		t.Fatal(err)
	}
	if out := mustRun(t, n.with("up")...); !strings.Contains(out, "already running") {
		t.Errorf("a second up says:\n%s", out)
	}
	if status := mustRun(t, n.with("status")...); strings.Count(status, " healthy ") != 10 || !strings.Contains(status, "1 of 1 real nodes are ready") {
		t.Errorf("status says:\n%s", status)
	}
	n.checkRefusals()
	n.checkWorkloads()
	n.checkPush()
	n.checkMending()

	start := time.Now()
	mustRun(t, n.with("down")...)
	t.Logf("down after %s", time.Since(start))
	checkNoFile(t, n.stateDir)
	checkNoProcess(t, n.stateDir)
	if diff := cmp.Diff(before, machineState(t)); diff != "" {
		t.Errorf("the machine is not what it was (-before +after):\n%s", diff)
	}
}

// checkRefusals expects that a machine has one real node, and a cluster keeps its kind of nodes.
func (n *realNode) checkRefusals() {
	n.Helper()
	_, errOut, code := execute(n.T, "up", "--nodes", "real", "--name", "second", "--state-dir", n.TempDir())
	if code != exitFailed || !strings.Contains(errOut, n.stateDir) {
		n.Errorf("a second real node: exit code %d; want it to name %s and it says:\n%s", code, n.stateDir, errOut)
	}
	_, errOut, code = execute(n.T, n.with("up", "--nodes", "simulated")...)
	if code != exitFailed || !strings.Contains(errOut, "has real nodes") {
		n.Errorf("simulated nodes in the same cluster: exit code %d, says:\n%s", code, errOut)
	}
}

// checkWorkloads expects what a cluster is for: pods under the strictest rules, Services by name, Jobs,
// storage that a pod of any user can write, logs and exec.
func (n *realNode) checkWorkloads() {
	n.Helper()
	image, err := n.cluster.PushProgram(n.Context(), buildApp(n.T), "app:v1")
	if err != nil {
		n.Fatal(err)
	}
	template, err := os.ReadFile(filepath.Join("testdata", "workloads.yaml"))
	if err != nil {
		n.Fatal(err)
	}
	manifest := filepath.Join(n.TempDir(), "workloads.yaml")
	content := strings.ReplaceAll(string(template), "image: IMAGE", "image: "+image.Tag)
	if err := os.WriteFile(manifest, []byte(content), 0o600); err != nil {
		n.Fatal(err)
	}
	n.says("serverside-applied", "apply", "--server-side", "-f", manifest)
	n.says("2", "get", "deployment", "web", "-n", "strict", "-o", "jsonpath={.status.availableReplicas}")
	n.says("True", "get", "job", "get", "-n", "strict", "-o", `jsonpath={.status.conditions[?(@.type=="Complete")].status}`)
	n.says("hello", "logs", "job/get", "-n", "strict")
	n.says("True", "get", "job", "write", "-n", "strict", "-o", `jsonpath={.status.conditions[?(@.type=="Complete")].status}`)
	n.says("Bound", "get", "pvc", "data", "-n", "strict", "-o", "jsonpath={.status.phase}")
	n.says("serving", "logs", "deployment/web", "-n", "strict")
	n.says("hello", "exec", "deployment/web", "-n", "strict", "--", "/app", "get", "http://web/")
	n.says("hello", "get", "--raw", "/api/v1/namespaces/strict/services/web:80/proxy/")
	n.checkServiceAddress()
	if out, err := n.run("run", "lax", "-n", "strict", "--image", image.Tag); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
		n.Errorf("a pod that breaks the rules of its namespace: %s, %v", out, err)
	}
	volumes := filepath.Join(n.stateDir, "real", "volumes")
	if files, err := filepath.Glob(filepath.Join(volumes, "*", "file")); err != nil || len(files) != 1 {
		n.Errorf("files in volumes: %v, %v; want the one that was written", files, err)
	}
	n.says("deleted", "delete", "job", "write", "-n", "strict")
	n.says("deleted", "delete", "pvc", "data", "-n", "strict")
	eventually(n.T, "the volume is gone", func(context.Context) (bool, error) {
		left, err := os.ReadDir(volumes)
		return len(left) == 0, err
	})
}

// checkServiceAddress reaches a Service from this machine, as the API server reaches webhooks.
func (n *realNode) checkServiceAddress() {
	n.Helper()
	address, err := n.run("get", "service", "web", "-n", "strict", "-o", "jsonpath={.spec.clusterIP}")
	if err != nil {
		n.Fatal(err)
	}
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + "/")
	if err != nil {
		n.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil || string(body) != "hello\n" {
		n.Errorf("the Service says %q, %v", body, err)
	}
}

// checkPush pushes a layout by the command, and runs what was pushed under the name of a registry that
// is elsewhere.
func (n *realNode) checkPush() {
	n.Helper()
	layout := writeLayout(n.T, buildApp(n.T))
	out := strings.Fields(mustRun(n.T, append(n.with("push"), layout, "tools/app:v2")...))
	if len(out) != 2 || out[0] != n.cluster.RegistryAddress()+"/tools/app:v2" || !strings.Contains(out[1], "/tools/app@sha256:") {
		n.Fatalf("push says %q", out)
	}
	for name, image := range map[string]string{
		"by-digest": out[1], "from-elsewhere": "registry.example.com/tools/app:v2", "by-its-bare-name": "app:v1",
	} {
		_, err := n.run("run", name, "--image", image, "--restart=Never", "--command", "--", "/app", "get", "http://web.strict/")
		if err != nil {
			n.Fatal(err)
		}
		n.says("Succeeded", "get", "pod", name, "-o", "jsonpath={.status.phase}")
	}
}

// checkMending ends single components, then the whole node, and expects up to start what is missing, and
// the workloads to continue.
func (n *realNode) checkMending() {
	n.Helper()
	restarts := []string{"get", "pods", "-n", "strict", "-l", "app=web", "-o", "jsonpath={.items[*].status.containerStatuses[0].restartCount}"}
	for _, test := range []struct{ victim, restarts string }{
		{"containerd", "0 0"}, // containers do not need it to run
		{"kubelet", "0 0"},
		{"image-registry", "0 0"}, // images that run are there
		{"node-init", "1 1"},      // everything on the node ends with it
	} {
		if err := syscall.Kill(pids(n.T, n.stateDir)[test.victim], syscall.SIGKILL); err != nil {
			n.Fatal(err)
		}
		eventually(n.T, "status tells that a component is gone", func(context.Context) (bool, error) {
			_, errOut, code := execute(n.T, n.with("status")...)
			return code == exitFailed && strings.Contains(errOut, test.victim), nil
		})
		mustRun(n.T, n.with("up")...)
		n.says(test.restarts, restarts...)
		n.says("2", "get", "deployment", "web", "-n", "strict", "-o", "jsonpath={.status.availableReplicas}")
		n.says("hello", "exec", "deployment/web", "-n", "strict", "--", "/app", "get", "http://web/")
	}
	if _, err := n.cluster.PushProgram(n.Context(), buildApp(n.T), "app:v3"); err != nil {
		n.Errorf("the registry that was started again takes no image: %v", err)
	}
}

// TestDownAfterAFailedUpLeavesNothing has a kubelet that cannot start, when everything else runs. The node of one cluster that did
// not come up does not hinder that of another.
func TestDownAfterAFailedUpLeavesNothing(t *testing.T) {
	needRealNode(t)
	before, binDir := machineState(t), programsWithBrokenKubelet(t)
	var downs [][]string
	for range 2 {
		stateDir := t.TempDir()
		down := []string{"down", "--name", "broken", "--state-dir", stateDir}
		t.Cleanup(func() { execute(t, down...) })
		_, err := localcluster.Up(t.Context(), localcluster.UpOptions{
			Name: "broken", StateDir: stateDir, BinDir: binDir, Version: "v1.36.3", Nodes: localcluster.RealNode,
			NodeCount: localcluster.KeepNodeCount, Timeout: time.Minute, Out: io.Discard,
		})
		var failed *localcluster.ComponentError
		if !errors.As(err, &failed) || failed.Component != "kubelet" || failed.Tail != "cannot work like this" {
			t.Fatalf("got %v, want the kubelet's exit status", err)
		}
		checkNoProcess(t, stateDir)
		downs = append(downs, down)
	}
	for _, down := range downs {
		mustRun(t, down...)
		checkNoFile(t, down[len(down)-1])
	}
	if diff := cmp.Diff(before, machineState(t)); diff != "" {
		t.Errorf("the machine is not what it was (-before +after):\n%s", diff)
	}
}

func programsWithBrokenKubelet(t *testing.T) string {
	t.Helper()
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob(filepath.Join(root, "bin", "*"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, program := range programs {
		if filepath.Base(program) != "kubelet" {
			err = errors.Join(err, os.Symlink(program, filepath.Join(dir, filepath.Base(program))))
		}
	}
	script := "#!/bin/sh\necho cannot work like this\nexit 3\n"
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "kubelet"), []byte(script), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// lineOfOurs is a line about a link of a real node. One that is there before the test is what a killed run left: `up`
// takes it over, and `down` removes it.
var lineOfOurs = regexp.MustCompile(`(?m)^.*\bacme-(node|cable)\b.*\n`)

// machineState is what a node could leave behind: links, routes, packet filter rules, mounts, settings,
// control groups, processes and files outside the cluster's folder.
func machineState(t *testing.T) map[string]string {
	t.Helper()
	counters := regexp.MustCompile(`\[\d+:\d+\]|(?m)^#.*$`)
	state := map[string]string{}
	for name, script := range map[string]string{
		"links":    "ip -oneline link; ip route; ip -oneline address | cut -d' ' -f2-8",
		"filters":  "iptables-save; ip6tables-save",
		"mounts":   "cut -d' ' -f2,3 /proc/mounts | sort",
		"groups":   "find /sys/fs/cgroup -type d -name 'acme-*' | sort",
		"settings": "cd /proc/sys; head -n1 net/ipv4/ip_forward vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops",
		"files":    "ls -d /run/* /var/lib/* /var/log/* /opt/* /etc/cni /usr/libexec/kubernetes 2>/dev/null || true",
		"programs": "cat /proc/[0-9]*/comm 2>/dev/null | grep -E '^(containerd|kubelet|kube-proxy|coredns|node-init|app$)' | sort || true",
	} {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-euc", script)
		cmd.Env = []string{"PATH=/usr/sbin:/sbin:/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		state[name] = counters.ReplaceAllString(string(out), "")
	}
	return state
}
