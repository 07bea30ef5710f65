// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/acme/platform-operator/hack/cluster/machine"
)

// Components of a real node, by the names of their programs.
const (
	imageRegistry      = "image-registry"
	nodeInit           = "node-init" // the first process of the node
	containerd         = "containerd"
	kubelet            = "kubelet"
	kubeProxy          = "kube-proxy"
	storageProvisioner = "storage-provisioner"
)

const (
	realNodeName = "node-1"
	realPodCIDR  = "10.240.0.0/24"
	dnsServiceIP = "10.96.0.10"
	// nodeFolder holds the node's /var/lib and /var/log.
	nodeFolder = "node"
	// setUpMark is a file on the node that says that it is set up. It is in the node's own /run.
	setUpMark = "/run/acme-node"
)

// Ports on the node, which has a network of its own.
const (
	kubeletPort       = 10250
	kubeletHealthPort = 10248
	proxyHealthPort   = 10256
	proxyMetricsPort  = 10249
	containerdPort    = 1338
)

const (
	kubeletServingCert = "kubelet-serving"
	kubeletClientCert  = "kubelet-client" // the API server's, for kubelets
)

// hidden are folders of the machine that the node has its own of. A cluster cannot live in one.
var hidden = []string{"/run", "/var/run", "/var/lib", "/var/log", "/proc"}

// realStages: containerd starts with the API server, which takes longer.
func (c *Cluster) realStages(l *launch) []stage {
	return []stage{
		{prepare: l.prepareMachine, components: []component{c.etcd(), c.imageRegistry(), {
			name: nodeInit, args: []string{flag("node", c.path(nodeFolder))}, place: asNode,
		}}},
		{prepare: l.setUpNode, components: []component{c.apiServer(), c.containerd()}},
		{prepare: l.pushImages, components: []component{
			c.controller(controllerManager, "/healthz", c.controllerManagerArgs()),
			c.controller(scheduler, "/readyz", nil),
			c.storageProvisioner(), c.kubelet(), c.kubeProxy(), // which waits for the kubelet's node
		}},
	}
}

func (c *Cluster) realAPIServerArgs() []string {
	return []string{
		"--kubelet-preferred-address-types=InternalIP", flag("kubelet-certificate-authority", c.cert(clusterCA)),
		flag("kubelet-client-certificate", c.cert(kubeletClientCert)), flag("kubelet-client-key", c.key(kubeletClientCert)),
		"--enable-admission-plugins=NodeRestriction",
	}
}

// RegistryAddress is the host:port of the cluster's image registry on loopback, over plain HTTP. Only a
// cluster with a real node has one; else it is empty.
func (c *Cluster) RegistryAddress() string {
	if !c.real() {
		return ""
	}
	return loopback(c.Ports[imageRegistry])
}

// RegistryFromPods is the same registry for programs in pods: they have a loopback of their own. Images that
// pods run need no such care; the node asks this registry for all of them, whatever their names say.
func (c *Cluster) RegistryFromPods() string {
	if !c.real() {
		return ""
	}
	return machine.HostAddress + ":" + strconv.Itoa(c.Ports[imageRegistry])
}

func (c *Cluster) imageRegistry() component {
	return component{
		name: imageRegistry, address: c.RegistryAddress(), health: c.url("http", imageRegistry, "/v2/"),
		args: []string{flag("folder", c.path("images")), flag("addresses", c.RegistryAddress()+","+c.RegistryFromPods())},
	}
}

func (c *Cluster) storageProvisioner() component {
	address := loopback(c.Ports[storageProvisioner])
	return component{
		name: storageProvisioner, address: address, health: "http://" + address + "/healthz",
		args: []string{
			flag("kubeconfig", c.kubeconfigOf(storageProvisioner)), flag("name", provisionerName),
			flag("folder", c.path("volumes")), flag("node", realNodeName), flag("address", address),
		},
	}
}

func onNodeAt(port int) string { return machine.NodeAddress + ":" + strconv.Itoa(port) }

func (c *Cluster) containerd() component {
	return component{
		name: containerd, system: true, place: onNode,
		address: onNodeAt(containerdPort), health: "http://" + onNodeAt(containerdPort) + "/v1/metrics",
		args: []string{flag("config", c.path("containerd.toml"))},
	}
}

func (c *Cluster) kubelet() component {
	return component{
		name: kubelet, place: onNode, address: onNodeAt(kubeletPort), health: "http://" + onNodeAt(kubeletHealthPort) + "/healthz",
		args: []string{
			flag("config", c.path("kubelet.yaml")), flag("kubeconfig", c.kubeconfigOf(kubelet)),
			flag("hostname-override", realNodeName), flag("node-ip", machine.NodeAddress),
			"--node-labels=topology.kubernetes.io/region=local,topology.kubernetes.io/zone=local-a",
		},
	}
}

// kubeProxy: the limits on tracked connections are the machine's, and stay what they are.
func (c *Cluster) kubeProxy() component {
	health := onNodeAt(proxyHealthPort)
	return component{
		name: kubeProxy, place: onNode, address: health, health: "http://" + health + "/healthz",
		args: []string{
			flag("kubeconfig", c.kubeconfigOf(kubeProxy)), flag("hostname-override", realNodeName),
			"--proxy-mode=iptables", flag("cluster-cidr", realPodCIDR),
			"--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0",
			flag("healthz-bind-address", health), flag("metrics-bind-address", onNodeAt(proxyMetricsPort)),
		},
	}
}

// checkFolder refuses a cluster whose folder the node would not see.
func (c *Cluster) checkFolder() error {
	for _, dir := range []string{c.dir, c.BinDir} {
		path, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return fmt.Errorf("finding %s: %w", dir, err)
		}
		for _, top := range hidden {
			if strings.HasPrefix(path+"/", top+"/") {
				return fmt.Errorf("a real node has a %s of its own and cannot see %s: choose another folder", top, path)
			}
		}
	}
	return nil
}

// isReal reports whether the cluster in this folder has, or was to have, a real node, without its record.
func (c *Cluster) isReal() bool {
	_, err := os.Stat(c.path(nodeFolder))
	return !errors.Is(err, fs.ErrNotExist) || machine.Owns(c.dir)
}

// releaseMachine gives back what the node took; its processes have ended.
func (c *Cluster) releaseMachine(ctx context.Context) error {
	return errors.Join(machine.Release(ctx, c.dir), machine.RemoveControlGroups(c.controlGroup()))
}

// controlGroup is the name of the group that holds those of all pods.
func (c *Cluster) controlGroup() string { return "acme-" + c.record.Name }
