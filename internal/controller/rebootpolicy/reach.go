// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"math"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/fair"
	"github.com/acme/platform-operator/internal/tenancy"
)

// Reach tells which addresses policies of a namespace may have the operator connect to: those that the NetworkPolicies of
// the namespace let all of its pods connect to. The operator stands outside of the namespace, where they do not bind it.
type Reach struct {
	// Live reads from the API server. It is asked for each new connection, and there are few.
	Live client.Reader
}

// Allowed reports whether policies of a namespace may connect to an address.
func (r Reach) Allowed(ctx context.Context, namespace string, to netip.AddrPort) (bool, error) {
	ctx = fair.For(ctx, namespace) // whatever namespaces are read for it
	list := &networkingv1.NetworkPolicyList{}
	if err := r.Live.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return false, fmt.Errorf("listing NetworkPolicies: %w", err)
	}
	if reaches(list.Items, namespace, destination{address: to}) {
		return true, nil
	}
	pods, err := r.behind(ctx, to)
	if err != nil || pods == nil {
		return false, err
	}
	ns := &corev1.Namespace{}
	if err := r.Live.Get(ctx, client.ObjectKey{Name: pods.namespace}, ns); err != nil {
		return false, fmt.Errorf("reading the Namespace: %w", err)
	}
	pods.namespaceLabels = ns.Labels
	return reaches(list.Items, namespace, destination{to, pods}), nil
}

// behind finds the pods behind an address, which is a pod's or a Service's own, nil when there are none.
func (r Reach) behind(ctx context.Context, to netip.AddrPort) (*backend, error) {
	var found *backend
	err := r.eachPod(ctx, "", func(p *corev1.Pod) {
		// The address of a pod in its node's network is the node's, and that of one that has ended is another's.
		if found == nil && !p.Spec.HostNetwork && !ended(*p) {
			found = &backend{namespace: p.Namespace, labels: p.Labels, port: int32(to.Port()), portName: portName(p.Spec, int32(to.Port()))}
		}
	}, client.MatchingFields{"status.podIP": to.Addr().String()})
	if err != nil || found != nil {
		return found, err
	}
	services := &corev1.ServiceList{}
	if err := r.Live.List(ctx, services, client.MatchingFields{"spec.clusterIP": to.Addr().String()}); err != nil {
		return nil, fmt.Errorf("listing Services: %w", err)
	}
	for _, s := range services.Items {
		if b := served(s, to.Port()); b != nil {
			return r.named(ctx, b)
		}
	}
	return nil, nil
}

// named completes the port of a Service's pods, which the Service gives by number or by name and a NetworkPolicy by either.
func (r Reach) named(ctx context.Context, b *backend) (*backend, error) {
	var pods []corev1.Pod
	err := r.eachPod(ctx, b.namespace, func(p *corev1.Pod) { pods = append(pods, withPorts(p)) }, client.MatchingLabels(b.labels))
	if err != nil {
		return nil, err
	}
	agree(b, pods)
	return b, nil
}

// eachPod reads pods of a namespace, or of all, a few at a time: tenants may make them many and large.
func (r Reach) eachPod(ctx context.Context, namespace string, do func(*corev1.Pod), opts ...client.ListOption) error {
	if _, err := tenancy.Each(ctx, r.Live, namespace, &corev1.PodList{}, math.MaxInt, do, opts...); err != nil {
		return fmt.Errorf("listing Pods: %w", err)
	}
	return nil
}

// withPorts is what agree needs of a pod.
func withPorts(p *corev1.Pod) corev1.Pod {
	slim := corev1.Pod{Status: corev1.PodStatus{Phase: p.Status.Phase}}
	for _, c := range p.Spec.Containers {
		slim.Spec.Containers = append(slim.Spec.Containers, corev1.Container{Ports: c.Ports})
	}
	return slim
}

// served are the pods behind a port of a Service. One without a selector may lead anywhere.
func served(s corev1.Service, number uint16) *backend {
	if len(s.Spec.Selector) == 0 {
		return nil
	}
	for _, p := range s.Spec.Ports {
		if p.Port != int32(number) || p.Protocol != corev1.ProtocolTCP {
			continue
		}
		b := &backend{namespace: s.Namespace, labels: s.Spec.Selector, selected: true}
		switch {
		case p.TargetPort.Type == intstr.String:
			b.portName = p.TargetPort.StrVal
		case p.TargetPort.IntVal != 0:
			b.port = p.TargetPort.IntVal
		default:
			b.port = p.Port
		}
		return b
	}
	return nil
}
