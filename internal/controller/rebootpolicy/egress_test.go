// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

const isolated = "podSelector: {}\npolicyTypes: [Ingress, Egress]\n"

func TestReaches(t *testing.T) {
	address := func(s string) destination { return destination{address: netip.MustParseAddrPort(s)} }
	behind := func(b backend) destination { return destination{netip.MustParseAddrPort("10.96.0.7:5432"), &b} }
	mine := backend{namespace: "mine", namespaceLabels: map[string]string{"team": "a"}, labels: map[string]string{"app": "db"}, port: 15432, portName: "sql"}
	theirs := mine
	theirs.namespace, theirs.namespaceLabels = "theirs", map[string]string{"team": "b", "shared": "yes"}
	service := mine
	service.selected = true
	for _, c := range []struct {
		reason   string
		policies []string
		to       destination
		want     bool
	}{
		{"no policy", nil, address("192.0.2.1:5432"), true},
		{"ingress only", []string{"podSelector: {}\npolicyTypes: [Ingress]"}, address("192.0.2.1:5432"), true},
		{"some pods are isolated only", []string{"podSelector: {matchLabels: {app: x}}\npolicyTypes: [Egress]"}, address("192.0.2.1:5432"), true},
		{"some pods, by an expression", []string{"podSelector: {matchExpressions: [{key: a, operator: Exists}]}\npolicyTypes: [Egress]"}, address("192.0.2.1:5432"), true},
		{"nothing is allowed", []string{isolated}, address("192.0.2.1:5432"), false},
		{"what only some pods may reach", []string{isolated, "podSelector: {matchLabels: {app: proxy}}\npolicyTypes: [Egress]\negress: [{}]"}, address("192.0.2.1:5432"), false},
		{"everything is allowed", []string{isolated + "egress: [{}]"}, address("192.0.2.1:5432"), true},
		{"DNS is no database", []string{isolated + "egress: [{ports: [{protocol: UDP, port: 53}, {protocol: TCP, port: 53}]}]"}, address("192.0.2.1:5432"), false},
		{"the port of DNS", []string{isolated + "egress: [{ports: [{protocol: TCP, port: 53}]}]"}, address("192.0.2.1:53"), true},
		{"another protocol", []string{isolated + "egress: [{ports: [{protocol: UDP, port: 5432}]}]"}, address("192.0.2.1:5432"), false},
		{"every port of a protocol", []string{isolated + "egress: [{ports: [{protocol: TCP}]}]"}, address("192.0.2.1:5432"), true},
		{"TCP by default", []string{isolated + "egress: [{ports: [{port: 5432}]}]"}, address("192.0.2.1:5432"), true},
		{"in a range of ports", []string{isolated + "egress: [{ports: [{port: 5000, endPort: 5432}]}]"}, address("192.0.2.1:5432"), true},
		{"behind a range of ports", []string{isolated + "egress: [{ports: [{port: 5000, endPort: 5431}]}]"}, address("192.0.2.1:5432"), false},
		{"before a range of ports", []string{isolated + "egress: [{ports: [{port: 5433, endPort: 6000}]}]"}, address("192.0.2.1:5432"), false},
		{"a port's name outside", []string{isolated + "egress: [{ports: [{port: sql}]}]"}, address("192.0.2.1:5432"), false},
		{"in a network", []string{isolated + "egress: [{to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]"}, address("192.0.2.1:5432"), true},
		{"in a network, by the second rule", []string{isolated + "egress: [{to: [{podSelector: {}}]}, {to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]"}, address("192.0.2.1:5432"), true},
		{"in a network, by the second policy", []string{isolated, isolated + "egress: [{to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]"}, address("192.0.2.1:5432"), true},
		{"in a network, at another port", []string{isolated + "egress: [{to: [{ipBlock: {cidr: 192.0.2.0/24}}], ports: [{port: 3306}]}]"}, address("192.0.2.1:5432"), false},
		{"out of a network", []string{isolated + "egress: [{to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]"}, address("192.0.3.1:5432"), false},
		{"taken out of a network", []string{isolated + "egress: [{to: [{ipBlock: {cidr: 192.0.2.0/24, except: [192.0.2.0/30]}}]}]"}, address("192.0.2.1:5432"), false},
		{"not a network", []string{isolated + "egress: [{to: [{ipBlock: {cidr: x}}]}]"}, address("192.0.2.1:5432"), false},
		{"a network of the other family", []string{isolated + "egress: [{to: [{ipBlock: {cidr: '0.0.0.0/0'}}]}]"}, address("[2001:db8::1]:5432"), false},
		{"pods, but nothing of the cluster's", []string{isolated + "egress: [{to: [{podSelector: {}}]}]"}, address("192.0.2.1:5432"), false},
		{"all namespaces, but nothing of the cluster's", []string{isolated + "egress: [{to: [{namespaceSelector: {}}]}]"}, address("192.0.2.1:5432"), false},
		{"a pod of the namespace", []string{isolated + "egress: [{to: [{podSelector: {}}]}]"}, behind(mine), true},
		{"a pod of another namespace", []string{isolated + "egress: [{to: [{podSelector: {}}]}]"}, behind(theirs), false},
		{"a pod of all namespaces", []string{isolated + "egress: [{to: [{namespaceSelector: {}}]}]"}, behind(theirs), true},
		{"a pod of a selected namespace", []string{isolated + "egress: [{to: [{namespaceSelector: {matchLabels: {shared: 'yes'}}}]}]"}, behind(theirs), true},
		{"a pod of a namespace that is not selected", []string{isolated + "egress: [{to: [{namespaceSelector: {matchLabels: {shared: 'no'}}}]}]"}, behind(theirs), false},
		{"a selected pod", []string{isolated + "egress: [{to: [{podSelector: {matchLabels: {app: db}}}]}]"}, behind(mine), true},
		{"a pod that is not selected", []string{isolated + "egress: [{to: [{podSelector: {matchLabels: {app: web}}}]}]"}, behind(mine), false},
		{"a selected pod of another namespace", []string{isolated + "egress: [{to: [{namespaceSelector: {}, podSelector: {matchLabels: {app: web}}}]}]"}, behind(theirs), false},
		{"a broken selector", []string{isolated + "egress: [{to: [{podSelector: {matchExpressions: [{key: a, operator: X}]}}]}]"}, behind(mine), false},
		{"a pod's own port", []string{isolated + "egress: [{to: [{podSelector: {}}], ports: [{port: 15432}]}]"}, behind(mine), true},
		{"the Service's port", []string{isolated + "egress: [{to: [{podSelector: {}}], ports: [{port: 5432}]}]"}, behind(mine), false},
		{"a port's name", []string{isolated + "egress: [{to: [{podSelector: {}}], ports: [{port: sql}]}]"}, behind(mine), true},
		{"another port's name", []string{isolated + "egress: [{to: [{podSelector: {}}], ports: [{port: http}]}]"}, behind(mine), false},
		{"what a Service selects", []string{isolated + "egress: [{to: [{podSelector: {matchLabels: {app: db}}}]}]"}, behind(service), true},
		{"what pods of a Service may have", []string{isolated + "egress: [{to: [{podSelector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}}]}]"}, behind(service), false},
	} {
		var policies []networkingv1.NetworkPolicy
		for _, text := range c.policies {
			p := networkingv1.NetworkPolicy{}
			if err := yaml.UnmarshalStrict([]byte(text), &p.Spec); err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			policies = append(policies, p)
		}
		if got := reaches(policies, "mine", c.to); got != c.want {
			t.Errorf("%s: %v, want %v", c.reason, got, c.want)
		}
	}
}

func TestServed(t *testing.T) {
	service := func(change func(*corev1.ServiceSpec)) corev1.Service {
		s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "mine"}, Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "db"},
			Ports: []corev1.ServicePort{
				{Port: 53, Protocol: corev1.ProtocolUDP},
				{Port: 5432, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(15432)},
				{Port: 5433, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("sql")},
				{Port: 5434, Protocol: corev1.ProtocolTCP},
			},
		}}
		change(&s.Spec)
		return s
	}
	same := func(*corev1.ServiceSpec) {}
	for _, c := range []struct {
		reason  string
		service corev1.Service
		number  uint16
		want    *backend
	}{
		{"another port", service(same), 5432, &backend{port: 15432}},
		{"a port by name", service(same), 5433, &backend{portName: "sql"}},
		{"the same port", service(same), 5434, &backend{port: 5434}},
		{"no port of TCP", service(same), 53, nil},
		{"no port", service(same), 1, nil},
		{"no selector: it may lead anywhere", service(func(s *corev1.ServiceSpec) { s.Selector = nil }), 5432, nil},
	} {
		got := served(c.service, c.number)
		if (got == nil) != (c.want == nil) {
			t.Errorf("%s: %+v", c.reason, got)
			continue
		}
		if got != nil && (got.port != c.want.port || got.portName != c.want.portName || !got.selected || got.namespace != "mine" || got.labels["app"] != "db") {
			t.Errorf("%s: %+v, want %+v", c.reason, got, c.want)
		}
	}
}

func TestAgree(t *testing.T) {
	pod := func(ports ...corev1.ContainerPort) corev1.Pod {
		return corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{}, {Ports: ports}}}}
	}
	port := func(name string, number int32) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP}
	}
	over := pod(port("sql", 1))
	over.Status.Phase = corev1.PodSucceeded
	for _, c := range []struct {
		reason      string
		asked, want backend
		pods        []corev1.Pod
	}{
		{"a name", backend{portName: "sql"}, backend{portName: "sql", port: 15432}, []corev1.Pod{pod(port("http", 80), port("sql", 15432))}},
		{"a number", backend{port: 15432}, backend{portName: "sql", port: 15432}, []corev1.Pod{pod(port("http", 80), port("sql", 15432))}},
		{"several pods", backend{portName: "sql"}, backend{portName: "sql", port: 5}, []corev1.Pod{pod(port("sql", 5)), pod(port("sql", 5))}},
		{"pods that serve nothing", backend{portName: "sql"}, backend{portName: "sql", port: 5}, []corev1.Pod{over, pod(), pod(port("sql", 5)), pod(port("x", 6))}},
		{"numbers that differ", backend{portName: "sql"}, backend{portName: "sql"}, []corev1.Pod{pod(port("sql", 5)), pod(port("sql", 6))}},
		{"names that differ", backend{port: 5}, backend{port: 5}, []corev1.Pod{pod(port("sql", 5)), pod(port("db", 5))}},
		{"one without a name", backend{port: 5}, backend{port: 5}, []corev1.Pod{pod(port("sql", 5)), pod()}},
		{"another protocol", backend{portName: "sql"}, backend{portName: "sql"}, []corev1.Pod{pod(corev1.ContainerPort{Name: "sql", ContainerPort: 5, Protocol: corev1.ProtocolUDP})}},
		{"no pods", backend{portName: "sql"}, backend{portName: "sql"}, nil},
	} {
		got := c.asked
		if agree(&got, c.pods); got.port != c.want.port || got.portName != c.want.portName {
			t.Errorf("%s: %d %q, want %d %q", c.reason, got.port, got.portName, c.want.port, c.want.portName)
		}
	}
}
