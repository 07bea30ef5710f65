// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tutorials runs the tutorials: every command of a page against a control plane on which the operator runs, with
// simulated nodes, and compares what it prints with what the page shows.
package tutorials

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/kindtest"
)

// moreControllers are those that make pods of what the operator makes; testenv runs what tenancy relies on.
const moreControllers = "deployment-controller,replicaset-controller,job-controller,disruption-controller,node-lifecycle-controller"

// startCluster runs a control plane, a simulated node and the operator with its webhooks until the test ends, and returns
// the path of an administrator's kubeconfig.
func startCluster(t *testing.T) string {
	t.Helper()
	plane, err := testenv.Start(testenv.Options{WithControllers: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := testenv.InstallConfig(plane); err != nil {
		t.Fatal(err)
	}
	kubeconfig := writeKubeconfig(t, plane.Config)
	log.SetLogger(logr.Discard())
	startProgram(t, "kube-controller-manager", "--kubeconfig="+kubeconfig, "--controllers="+moreControllers,
		"--leader-elect=false", "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=400")
	startProgram(t, "kube-scheduler", "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0")
	startProgram(t, "kwok", "--kubeconfig="+kubeconfig, "--config="+testenv.RepoFile("hack", "cluster", "localcluster", "stages.yaml"),
		"--manage-all-nodes", "--node-ip=127.0.0.1", "--cidr=10.240.0.0/16",
		"--node-lease-duration-seconds=40", "--v=WARN")
	createNode(t, plane.Config)
	kindtest.Start(t, plane, func(o *operator.Options) { o.WebhookPort = 0 })
	return kubeconfig
}

// startProgram runs a program of the cluster until the test ends, and shows what it said when the test has failed.
func startProgram(t *testing.T, name string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(testenv.RepoFile("bin", name), args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Errorf("%s ended early: %v", name, err)
		}
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			text := out.Bytes()
			t.Logf("%s said: %s", name, text[max(0, len(text)-2000):])
		}
	})
}

// createNode makes a node that kwok simulates.
func createNode(t *testing.T, config *rest.Config) {
	t.Helper()
	admin, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("110"),
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity}}
	if err := admin.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
}

// writeKubeconfig writes the access of an administrator to a file.
func writeKubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"test": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"admin": {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "admin"}},
		CurrentContext: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
