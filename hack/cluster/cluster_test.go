// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/acme/platform-operator/hack/cluster/localcluster"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

// mustRun runs a command line that has to succeed and returns what it printed.
func mustRun(t *testing.T, words ...string) string {
	t.Helper()
	out, errOut, code := execute(t, words...)
	if code != exitOK {
		t.Fatalf("%s: exit code %d\n%s%s", words, code, out, errOut)
	}
	return out
}

// checkNoProcess expects that no command line mentions dir.
func checkNoProcess(t *testing.T, dir string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(paths) == 0 {
		t.Fatalf("listing processes: %v, %v", paths, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), dir) { // others may end meanwhile
			t.Errorf("left: %s", strings.ReplaceAll(string(data), "\x00", " "))
		}
	}
}

func checkNoFile(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

func pids(t *testing.T, stateDir string) map[string]int {
	t.Helper()
	c, err := localcluster.Open(stateDir, "real")
	if err != nil {
		t.Fatal(err)
	}
	running := map[string]int{}
	for _, s := range c.Status(t.Context()) {
		running[s.Name] = s.PID
	}
	return running
}

// TestLifeOfACluster runs a real control plane; it builds it when it has to, which takes minutes the
// first time.
func TestLifeOfACluster(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	mustRun(t, "build")
	stateDir := t.TempDir()
	state := []string{"--state-dir", stateDir, "--name", "real"}
	with := func(words ...string) []string { return append(words, state...) }
	t.Cleanup(func() {
		if _, errOut, code := execute(t, with("down")...); code != exitOK {
			t.Error(errOut)
		}
	})

	mustRun(t, with("up", "--node-count", "2")...)
	before := pids(t, stateDir)

	if out := mustRun(t, with("up")...); !strings.Contains(out, "already running") {
		t.Errorf("a second up says:\n%s", out)
	}
	if status := mustRun(t, with("status")...); strings.Count(status, " healthy ") != 5 || !strings.Contains(status, "2 of 2 simulated nodes are ready") {
		t.Errorf("status says:\n%s", status)
	}

	kubeconfig := strings.TrimSpace(mustRun(t, with("kubeconfig")...))
	client := clientFor(t, kubeconfig)
	checkWorkloads(t, client)
	checkUser(t, mustRun(t, with("user", "--user", "sam", "--groups", "devs")...))
	checkMending(t, with, before, stateDir)

	mustRun(t, with("down")...)
	checkNoProcess(t, stateDir)
	checkNoFile(t, stateDir)
}

// checkMending ends one component and expects up to start that one, and no other.
func checkMending(t *testing.T, with func(...string) []string, before map[string]int, stateDir string) {
	t.Helper()
	const victim = "kube-scheduler"
	if err := syscall.Kill(before[victim], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "status tells that a component is gone", func(context.Context) (bool, error) {
		out, errOut, code := execute(t, with("status")...)
		return code == exitFailed && strings.Contains(out, "not running") && strings.Contains(errOut, victim), nil
	})
	mustRun(t, with("up")...)
	after := pids(t, stateDir)
	for name, pid := range before {
		if kept := after[name] == pid; kept == (name == victim) {
			t.Errorf("%s: process %d before, %d after", name, pid, after[name])
		}
	}
	mustRun(t, with("status")...)
}

func clientFor(t *testing.T, kubeconfig string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(config)
}

// checkWorkloads expects that pods go through their phases.
func checkWorkloads(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "any"}}},
	}
	replicas := int32(2)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
	}}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "once"}, Spec: batchv1.JobSpec{Template: *template.DeepCopy()}}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever

	deployments, jobs := client.AppsV1().Deployments("default"), client.BatchV1().Jobs("default")
	_, errDeployment := deployments.Create(t.Context(), deployment, metav1.CreateOptions{})
	_, errJob := jobs.Create(t.Context(), job, metav1.CreateOptions{})
	if err := errors.Join(errDeployment, errJob); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Deployment is available", func(ctx context.Context) (bool, error) {
		d, err := deployments.Get(ctx, "web", metav1.GetOptions{})
		return err == nil && d.Status.AvailableReplicas == replicas, err
	})
	eventually(t, "the Job is complete", func(ctx context.Context) (bool, error) {
		j, err := jobs.Get(ctx, "once", metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		}), err
	})
}

// checkUser expects that the API server takes the kubeconfig for user sam of group devs.
func checkUser(t *testing.T, kubeconfig string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sam")
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	review, err := clientFor(t, path).AuthenticationV1().SelfSubjectReviews().Create(
		t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if who := review.Status.UserInfo; who.Username != "sam" || !slices.Contains(who.Groups, "devs") {
		t.Errorf("the API server sees %s of %v", who.Username, who.Groups)
	}
}

func eventually(t *testing.T, what string, condition wait.ConditionWithContextFunc) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, condition)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// TestUpThatFailsEndsWhatItStarted has a real etcd and an API server that fails at once.
func TestUpThatFailsEndsWhatItStarted(t *testing.T) {
	stateDir, binDir := t.TempDir(), brokenPrograms(t)
	_, err := localcluster.Up(t.Context(), localcluster.UpOptions{
		Name: "broken", StateDir: stateDir, BinDir: binDir, Version: "v1.36.3",
		NodeCount: localcluster.KeepNodeCount, Timeout: 5 * time.Minute, Out: io.Discard,
	})
	var failed *localcluster.ComponentError
	if !errors.As(err, &failed) || failed.Component != "kube-apiserver" || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatalf("got %v, want the API server's exit status", err)
	}
	if want := lines(11, 30); failed.Tail != want {
		t.Errorf("the log ends with:\n%s\nwant:\n%s", failed.Tail, want)
	}
	if _, err := os.Stat(failed.Log); err != nil {
		t.Errorf("the log is not kept: %v", err)
	}
	checkNoProcess(t, stateDir)
	mustRun(t, "down", "--name", "broken", "--state-dir", stateDir)
	checkNoFile(t, stateDir)
}

// brokenPrograms makes a folder with a real etcd and an API server that fails.
func brokenPrograms(t *testing.T) string {
	t.Helper()
	mustRun(t, "build", "--only", "etcd")
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "#!/bin/sh\nfor i in $(seq 1 30); do echo line $i; done\nexit 3\n"
	err = errors.Join(
		os.Symlink(filepath.Join(root, "bin", "etcd"), filepath.Join(dir, "etcd")),
		os.WriteFile(filepath.Join(dir, "kube-apiserver"), []byte(script), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func lines(from, to int) string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, fmt.Sprintf("line %d", i))
	}
	return strings.Join(list, "\n")
}
