// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/testenv/paging"
)

// paged is an API server with pods of the address 10.0.0.1 and a Service of the address 10.0.1.1. It fails the test when too many
// pods are asked for in one answer.
type paged struct {
	t    *testing.T
	pods []corev1.Pod
}

func (p paged) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetName(key.Name)
	return nil
}

func (p paged) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	asked := client.ListOptions{}
	asked.ApplyOptions(opts)
	switch list := list.(type) {
	case *networkingv1.NetworkPolicyList:
		port := intstr.FromInt32(80)
		peer := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{}}
		list.Items = []networkingv1.NetworkPolicy{{Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress: []networkingv1.NetworkPolicyEgressRule{{
				To: []networkingv1.NetworkPolicyPeer{peer}, Ports: []networkingv1.NetworkPolicyPort{{Port: &port}},
			}},
		}}}
	case *corev1.ServiceList:
		if strings.Contains(asked.FieldSelector.String(), "10.0.1.1") {
			list.Items = []corev1.Service{{Spec: corev1.ServiceSpec{Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{{
				Port: 5432, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("db"),
			}}}}}
		}
	case *corev1.PodList:
		p.page(list, asked)
	}
	return nil
}

func (p paged) page(list *corev1.PodList, asked client.ListOptions) {
	if asked.Limit < 1 || asked.Limit > 100 {
		p.t.Errorf("%d pods in one answer", asked.Limit)
	}
	if asked.FieldSelector != nil && !strings.Contains(asked.FieldSelector.String(), "10.0.0.1") {
		return
	}
	from, to := paging.Cut(list, asked, len(p.pods))
	list.Items = p.pods[from:to]
}

func TestPodsBehindAnAddressAreReadAFewAtATime(t *testing.T) {
	with := func(port int32, change ...func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "db", ContainerPort: port}}}}}}
		for _, c := range change {
			c(&p)
		}
		return p
	}
	onNode := func(p *corev1.Pod) { p.Spec.HostNetwork = true }
	many := func(n int, p corev1.Pod) (all []corev1.Pod) {
		for range n {
			all = append(all, p)
		}
		return all
	}
	for _, tc := range []struct {
		reason string
		to     string
		pods   []corev1.Pod
		want   bool
	}{
		{"a pod after many of its node's network", "10.0.0.1:80", append(many(45, with(80, onNode)), with(80)), true},
		{"none but pods of the node's network", "10.0.0.1:80", many(45, with(80, onNode)), false},
		{"a Service of many pods that agree", "10.0.1.1:5432", many(45, with(80)), true},
		{"a Service of which the last pod differs", "10.0.1.1:5432", append(many(45, with(80)), with(81)), false},
	} {
		got, err := Reach{Live: paged{t, tc.pods}}.Allowed(t.Context(), "ns", netip.MustParseAddrPort(tc.to))
		if err != nil || got != tc.want {
			t.Errorf("%s: got %v, %v", tc.reason, got, err)
		}
	}
}
