// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// newRealCluster makes a cluster with a real node that does not run.
func newRealCluster(t *testing.T) *Cluster {
	t.Helper()
	c := newCluster(t, t.TempDir(), "demo")
	c.record.Nodes, c.Ports = RealNode, map[string]int{imageRegistry: 20005, apiServer: 20443}
	return c
}

func TestRealConfigurationIsWellFormed(t *testing.T) {
	c := newRealCluster(t)
	for range 2 { // the second time over the first
		if err := c.writeRealConfiguration(); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) []byte {
		t.Helper()
		checkMode(t, c.path(name), 0o600)
		data, err := os.ReadFile(c.path(name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("{{")) || bytes.Contains(data, []byte("<no value>")) {
			t.Errorf("%s is not filled in:\n%s", name, data)
		}
		return data
	}
	var network struct {
		Plugins []struct{ Type string }
	}
	if err := json.Unmarshal(read("network/pods.conflist"), &network); err != nil || len(network.Plugins) != 2 {
		t.Errorf("network: %+v, %v", network, err)
	}
	var kubelet map[string]any
	if err := yaml.Unmarshal(read("kubelet.yaml"), &kubelet); err != nil {
		t.Fatal(err)
	}
	got := []any{kubelet["failCgroupV1"], kubelet["cgroupRoot"], kubelet["enforceNodeAllocatable"], kubelet["resolvConf"]}
	if diff := cmp.Diff([]any{false, "/acme-demo", []any{}, c.path("resolv.conf")}, got); diff != "" {
		t.Errorf("kubelet (-want +got):\n%s", diff)
	}
	// A machine whose disk is nearly full is no reason to evict pods: kind decided the same.
	eviction, _ := kubelet["evictionHard"].(map[string]any)
	for _, what := range []string{"nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree"} {
		if eviction[what] != "0%" {
			t.Errorf("the kubelet evicts at %s %v", what, eviction[what])
		}
	}
	for _, name := range []string{"containerd.toml", "registries/_default/hosts.toml", "resolv.conf", setUpScript} {
		read(name)
	}
	want := []string{
		"StorageClass", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "ConfigMap", "Deployment", "Service",
	}
	if diff := cmp.Diff(want, kindsIn(t, read(addonsFile))); diff != "" {
		t.Errorf("add-ons (-want +got):\n%s", diff)
	}
}

func kindsIn(t *testing.T, manifests []byte) []string {
	t.Helper()
	var kinds []string
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		var object unstructured.Unstructured
		switch err := decoder.Decode(&object); {
		case errors.Is(err, io.EOF):
			return kinds
		case err != nil:
			t.Fatal(err)
		}
		kinds = append(kinds, object.GetKind())
	}
}

func TestRealCredentials(t *testing.T) {
	c := newRealCluster(t)
	if err := c.writeCredentials(); err != nil {
		t.Fatal(err)
	}
	for _, component := range []string{controllerManager, scheduler, kubelet, kubeProxy, storageProvisioner} {
		data, err := os.ReadFile(c.kubeconfigOf(component))
		if err != nil || !bytes.Contains(data, []byte("https://10.239.0.1:20443")) {
			t.Errorf("%s: %v, want the address that the node sees in\n%s", component, err, data)
		}
	}
	for _, cert := range []string{kubeletServingCert, kubeletClientCert} {
		checkMode(t, c.key(cert), 0o600)
	}
}

func TestANodeMustSeeItsFolders(t *testing.T) {
	c := newRealCluster(t)
	c.BinDir = t.TempDir()
	if err := c.checkFolder(); err != nil {
		t.Errorf("%s: %v", c.dir, err)
	}
	for _, dir := range []string{"/var/lib", "/run", "/proc"} {
		c.BinDir = dir
		if err := c.checkFolder(); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: got %v, want an error that names it", dir, err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/var/lib", link); err != nil {
		t.Fatal(err)
	}
	c.BinDir = link
	if err := c.checkFolder(); err == nil {
		t.Error("a link to /var/lib was let through")
	}
}

func TestTheNodeStopsBeforeTheControlPlane(t *testing.T) {
	order := slices.Clone(componentNames)
	slices.Reverse(order)
	want := []string{kubelet, kubeProxy, storageProvisioner, containerd, nodeInit, imageRegistry, kwok}
	if diff := cmp.Diff(want, order[:len(want)]); diff != "" {
		t.Errorf("stopped first (-want +got):\n%s", diff)
	}
}

func TestOnlyARealNodeHasARegistry(t *testing.T) {
	c := newRealCluster(t)
	if got := []string{c.RegistryAddress(), c.RegistryFromPods()}; !cmp.Equal(got, []string{"127.0.0.1:20005", "10.239.0.1:20005"}) {
		t.Errorf("registry at %v", got)
	}
	simulated := newCluster(t, t.TempDir(), "demo")
	if got := simulated.RegistryAddress() + simulated.RegistryFromPods(); got != "" {
		t.Errorf("registry at %s", got)
	}
	if _, err := simulated.PushLayout(t.Context(), t.TempDir(), "app:v1"); err == nil || !strings.Contains(err.Error(), "simulated") {
		t.Errorf("got %v", err)
	}
}

func TestPushSaysWhatPodsCallTheImage(t *testing.T) {
	c := newRealCluster(t)
	c.BinDir = t.TempDir()
	play := func(script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(c.BinDir, "image-push"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	play(`echo "${2#--to=}"; echo "$1"`)
	got, err := c.PushProgram(t.Context(), "/p", "app:v1")
	if want := (PushedImage{Tag: "127.0.0.1:20005/app:v1", Digest: "--binary=/p"}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	play(`echo no such layout >&2; exit 1`)
	if _, err := c.PushLayout(t.Context(), "/l", "app:v1"); err == nil || !strings.Contains(err.Error(), "no such layout") {
		t.Errorf("got %v, want what the program said", err)
	}
	play(`echo one`)
	if _, err := c.PushLayout(t.Context(), "/l", "app:v1"); err == nil {
		t.Error("an answer that makes no sense was taken")
	}
}

func TestAClusterKeepsItsKindOfNodes(t *testing.T) {
	c := newRealCluster(t)
	if err := c.save(); err != nil {
		t.Fatal(err)
	}
	o := UpOptions{Name: "demo", StateDir: filepath.Dir(c.dir), NodeCount: KeepNodeCount}
	if opened, _, err := o.open(); err != nil || opened.NodeKind() != RealNode || opened.NodeCount != 1 {
		t.Errorf("got %+v, %v; want a real node", opened, err)
	}
	o.Nodes = SimulatedNodes
	if _, _, err := o.open(); err == nil || !strings.Contains(err.Error(), "has real nodes") {
		t.Errorf("got %v, want it refused", err)
	}
	o.Name, o.Nodes = "other", ""
	if opened, _, err := o.open(); err != nil || opened.NodeKind() != SimulatedNodes {
		t.Errorf("got %+v, %v; want simulated nodes for a new cluster", opened, err)
	}
}
