// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// simulatedLabel marks the nodes that this package makes; "type=kwok" is what kwok's own tools use.
const simulatedLabel, simulatedValue = "type", "kwok"

// zones spread the nodes, so that topology constraints have something to act on.
const zones = 3

func (c *Cluster) client() (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.KubeconfigPath())
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	config.ContentType = runtime.ContentTypeProtobuf
	config.QPS = -1 // a thousand nodes are made in seconds, not minutes
	return kubernetes.NewForConfig(config)
}

// nodesInWords says how many nodes the cluster has, and of what kind.
func (c *Cluster) nodesInWords() string {
	if c.real() {
		return "a real node"
	}
	return fmt.Sprintf("%d simulated nodes", c.NodeCount)
}

// Nodes counts the cluster's nodes and those of them that take pods.
func (c *Cluster) Nodes(ctx context.Context) (ready, total int, err error) {
	client, err := c.client()
	if err != nil {
		return 0, 0, err
	}
	nodes, err := c.listNodes(ctx, client)
	return countReady(nodes), len(nodes), err
}

// ensureNodes makes the simulated nodes node-1 … node-<count> that are missing and deletes those beyond.
func (c *Cluster) ensureNodes(ctx context.Context, client kubernetes.Interface) error {
	present, err := c.listNodes(ctx, client)
	if err != nil {
		return err
	}
	surplus := map[string]bool{}
	for _, node := range present {
		surplus[node.Name] = true
	}
	for i := 1; i <= c.NodeCount; i++ {
		node := newNode(i, c.Version)
		if surplus[node.Name] {
			delete(surplus, node.Name)
			continue
		}
		_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making node %s: %w", node.Name, err)
		}
	}
	for name := range surplus {
		err := client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting node %s: %w", name, err)
		}
	}
	return nil
}

// usable reports whether a pod that is made now would be scheduled: all nodes are ready and the default
// service account exists; on a real node, names are resolved as well. The error says what is missing.
func (c *Cluster) usable(ctx context.Context, client kubernetes.Interface) error {
	nodes, err := c.listNodes(ctx, client)
	if err != nil {
		return err
	}
	if ready := countReady(nodes); ready != c.NodeCount || len(nodes) != c.NodeCount {
		return fmt.Errorf("%d of %d nodes are ready", ready, c.NodeCount)
	}
	_, err = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return errors.New("the default service account does not exist yet")
	}
	if err == nil && c.real() {
		return addonsReady(ctx, client)
	}
	return err
}

// listNodes lists the nodes that are the cluster's own; somebody may have made others.
func (c *Cluster) listNodes(ctx context.Context, client kubernetes.Interface) ([]corev1.Node, error) {
	own := simulatedLabel + "=" + simulatedValue
	if c.real() {
		own = corev1.LabelHostname + "=" + realNodeName
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: own, ResourceVersion: "0"}) // the API server's cache will do
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	return list.Items, nil
}

// countReady counts the nodes that take pods.
func countReady(nodes []corev1.Node) int {
	count := 0
	for _, node := range nodes {
		ready := false
		for _, condition := range node.Status.Conditions {
			ready = ready || condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		}
		for _, taint := range node.Spec.Taints {
			ready = ready && taint.Key != corev1.TaintNodeNotReady && taint.Key != corev1.TaintNodeUnreachable
		}
		if ready {
			count++
		}
	}
	return count
}

func newNode(number int, version string) *corev1.Node {
	name := "node-" + strconv.Itoa(number)
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("32"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				simulatedLabel:                 simulatedValue,
				corev1.LabelHostname:           name,
				corev1.LabelOSStable:           "linux",
				corev1.LabelArchStable:         "amd64",
				corev1.LabelTopologyRegion:     "local",
				corev1.LabelTopologyZone:       fmt.Sprintf("local-%c", 'a'+rune((number-1)%zones)),
				"kubernetes.io/role":           "agent",
				corev1.LabelInstanceTypeStable: "simulated",
			},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: version, OperatingSystem: "linux", Architecture: "amd64",
				OSImage: "simulated", KernelVersion: "simulated", ContainerRuntimeVersion: "simulated://1",
			},
		},
	}
}
