// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
)

func nodeNames(t *testing.T, client kubernetes.Interface) []string {
	t.Helper()
	list, err := client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, node := range list.Items {
		names = append(names, node.Name)
	}
	slices.Sort(names)
	return names
}

func TestEnsureNodesFollowsTheCount(t *testing.T) {
	others := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-9"}} // not made by us: has no label
	client := fake.NewClientset(others)
	c := &Cluster{record: record{Version: "v1.36.3"}}
	for _, step := range []struct {
		count int
		want  []string
	}{
		{3, []string{"node-1", "node-2", "node-3", "node-9"}},
		{3, []string{"node-1", "node-2", "node-3", "node-9"}},
		{1, []string{"node-1", "node-9"}},
		{2, []string{"node-1", "node-2", "node-9"}},
		{0, []string{"node-9"}},
	} {
		c.NodeCount = step.count
		if err := c.ensureNodes(context.Background(), client); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, nodeNames(t, client)); diff != "" {
			t.Errorf("%d nodes (-want +got):\n%s", step.count, diff)
		}
	}
}

func TestUsableNeedsReadyNodesAndTheServiceAccount(t *testing.T) {
	ready := newNode(1, "v1.36.3")
	ready.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	notReady := newNode(1, "v1.36.3")
	tainted := ready.DeepCopy()
	tainted.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}

	c := &Cluster{record: record{NodeCount: 1}}
	if err := c.usable(context.Background(), fake.NewClientset(ready, account)); err != nil {
		t.Errorf("want it to be usable, got %v", err)
	}
	for reason, client := range map[string]kubernetes.Interface{
		"no node":            fake.NewClientset(account),
		"a node not ready":   fake.NewClientset(notReady, account),
		"a taint":            fake.NewClientset(tainted, account),
		"no service account": fake.NewClientset(ready),
	} {
		if err := c.usable(context.Background(), client); err == nil {
			t.Errorf("%s: want an error", reason)
		}
	}
}
