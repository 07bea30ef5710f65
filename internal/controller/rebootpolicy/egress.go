// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// destination is what is to be connected to.
type destination struct {
	address netip.AddrPort
	// pods are the pods that are behind the address, nil when it is none of the cluster's.
	pods *backend
}

// backend is one pod, or the pods that a Service selects.
type backend struct {
	namespace       string
	namespaceLabels labels.Set
	// labels are those of the pod, or what the Service selects: then its pods have these among others.
	labels labels.Set
	// selected tells that it is a Service.
	selected bool
	// port is the pods' own, by number, by name, or both.
	port     int32
	portName string
}

// isolating are the NetworkPolicies that bind every pod of a namespace on its way out.
func isolating(policies []networkingv1.NetworkPolicy) []networkingv1.NetworkPolicy {
	var all []networkingv1.NetworkPolicy
	for _, p := range policies {
		everyPod := len(p.Spec.PodSelector.MatchLabels)+len(p.Spec.PodSelector.MatchExpressions) == 0
		if everyPod && slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
			all = append(all, p)
		}
	}
	return all
}

// reaches reports whether NetworkPolicies let every pod of a namespace connect to a destination.
func reaches(policies []networkingv1.NetworkPolicy, namespace string, to destination) bool {
	bound := isolating(policies)
	for _, p := range bound {
		if slices.ContainsFunc(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool { return ruleAllows(r, namespace, to) }) {
			return true
		}
	}
	return len(bound) == 0
}

func ruleAllows(rule networkingv1.NetworkPolicyEgressRule, namespace string, to destination) bool {
	outside := portAllowed(rule.Ports, int32(to.address.Port()), "")
	if len(rule.To) == 0 {
		return outside
	}
	inside := to.pods != nil && portAllowed(rule.Ports, to.pods.port, to.pods.portName)
	return slices.ContainsFunc(rule.To, func(peer networkingv1.NetworkPolicyPeer) bool {
		if peer.IPBlock != nil {
			return outside && blockHolds(peer.IPBlock, to.address.Addr())
		}
		return inside && peerHolds(peer, namespace, to.pods)
	})
}

func portAllowed(ports []networkingv1.NetworkPolicyPort, number int32, name string) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		switch {
		case p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP:
			return false
		case p.Port == nil:
			return true
		case p.Port.Type == intstr.String:
			return name != "" && p.Port.StrVal == name
		case p.EndPort != nil:
			return number >= p.Port.IntVal && number <= *p.EndPort
		default:
			return number == p.Port.IntVal
		}
	})
}

func blockHolds(block *networkingv1.IPBlock, ip netip.Addr) bool {
	holds := func(text string) bool {
		n, err := netip.ParsePrefix(text)
		return err == nil && n.Contains(ip)
	}
	return holds(block.CIDR) && !slices.ContainsFunc(block.Except, holds)
}

func peerHolds(peer networkingv1.NetworkPolicyPeer, namespace string, b *backend) bool {
	if peer.NamespaceSelector == nil && b.namespace != namespace || !selects(peer.NamespaceSelector, b.namespaceLabels) {
		return false
	}
	// Of a Service's pods some labels are known only, so nothing can be concluded from one that is missing.
	if peer.PodSelector != nil && b.selected && len(peer.PodSelector.MatchExpressions) > 0 {
		return false
	}
	return selects(peer.PodSelector, b.labels)
}

func ended(p corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// agree completes the port of a Service's pods as all of these have it. Where they differ, nothing can be concluded.
func agree(b *backend, pods []corev1.Pod) {
	asked, found := *b, false
	for _, p := range pods {
		port, name := asked.port, asked.portName
		if port == 0 {
			port = portNumber(p.Spec, name)
		} else {
			name = portName(p.Spec, port)
		}
		switch {
		case ended(p), port == 0: // a pod without a port of that name serves nothing
		case !found:
			b.port, b.portName, found = port, name, true
		case b.port != port || b.portName != name:
			b.port, b.portName = asked.port, asked.portName
			return
		}
	}
}

func portName(spec corev1.PodSpec, number int32) string {
	return portWhere(spec, func(p corev1.ContainerPort) bool { return p.ContainerPort == number }).Name
}

func portNumber(spec corev1.PodSpec, name string) int32 {
	return portWhere(spec, func(p corev1.ContainerPort) bool { return p.Name == name }).ContainerPort
}

// portWhere is a pod's first port of TCP that is meant, a zero one when there is none.
func portWhere(spec corev1.PodSpec, meant func(corev1.ContainerPort) bool) corev1.ContainerPort {
	for _, c := range spec.Containers {
		for _, p := range c.Ports {
			if meant(p) && (p.Protocol == corev1.ProtocolTCP || p.Protocol == "") {
				return p
			}
		}
	}
	return corev1.ContainerPort{}
}

// selects reports whether a selector, which selects everything when it is nil, selects labels.
func selects(s *metav1.LabelSelector, set labels.Set) bool {
	if s == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(set)
}
