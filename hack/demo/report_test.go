/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestPage compares a whole report with a golden file, without colors and with.
func TestPage(t *testing.T) {
	samples, err := parseSamples("config/samples/n.yaml", []byte(`# A namespace for team-z.
apiVersion: tenancy.acme.com/v1alpha1
kind: AcmeNamespace
metadata:
  name: team-z
spec:
  namespaceName: app-z
  adminUsername: sam
  labels:
    cost-center: "4711"
`))
	if err != nil {
		t.Fatal(err)
	}
	paths := tools{
		kubectl: "bin/kubectl", admin: ".cluster/demo/kubeconfig",
		person: func(user string) string { return ".cluster/demo/" + user + ".kubeconfig" },
		sample: func(file string) string { return file },
	}
	guide, err := acmeNamespaceTour(samples[0], paths)
	if err != nil {
		t.Fatal(err)
	}
	for i := range guide.commands {
		if guide.commands[i].refused != nil {
			guide.commands[i].answer = `admission webhook "v.acme.com" denied the request: "team-z-too" is invalid: ` +
				`spec.namespaceName: Forbidden: belongs to the AcmeNamespace team-z; choose another name`
		}
	}
	for file, color := range map[string]bool{"page.txt": false, "page-color.txt": true} {
		p := page{console: console{color: color}}
		p.sample(samples[0], samples[0].file, []fact{
			{"Namespace", "app-z, labels admin=sam"},
			{"ResourceQuota", "dev, used of hard: " + together([]string{
				"cpu 0 of 5", "memory 0 of 10Gi", "pods 0 of 10", "requests.storage 0 of 20Gi",
			})},
			{"AnExceptionallyLongName", "stays apart from what is said about it"},
		})
		p.tour(guide, paths.person("sam"), []answer{{true, "create deployments in app-z"}, {false, "patch namespaces/app-z"}})
		p.end([]fact{{"again", "make demo"}, {"remove all", "make demo-down"}})
		compare(t, file, p.String())
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); -update writes it anew:\n%s", file, diff)
	}
}

// TestCommandCanBePasted checks that a shell reads a broken command as the one that was meant.
func TestCommandCanBePasted(t *testing.T) {
	parts := []string{"bin/kubectl", "--kubeconfig " + strings.Repeat("x", 60), "patch acmenamespace team-z", "--type=merge", `-p '{"a":"b"}'`}
	p := page{}
	p.command("1. ", command{why: "Why.", parts: parts})
	_, typed, found := strings.Cut(p.String(), "Why.\n")
	if !found || !strings.Contains(typed, " \\\n") {
		t.Fatalf("the command is not broken:\n%s", p.String())
	}
	for line := range strings.Lines(typed) {
		if len(line) > textWidth+1 {
			t.Errorf("too long: %s", line)
		}
	}
	joined := strings.Join(strings.Fields(strings.ReplaceAll(typed, "\\\n", " ")), " ")
	if want := strings.Join(parts, " "); joined != want {
		t.Errorf("a shell reads\n%s, want\n%s", joined, want)
	}
}

func TestAskedFor(t *testing.T) {
	for reason, test := range map[string]struct {
		text string
		want []string
	}{
		"the spec":             {"kind: A\nspec:\n  a: 1\n  b:\n  - c", []string{"a: 1", "b:", "- c"}},
		"what follows is left": {"spec:\n  a: 1\nother: 2", []string{"a: 1"}},
		"no spec":              {"kind: A\ndata: 1", []string{"kind: A", "data: 1"}},
	} {
		if diff := cmp.Diff(test.want, askedFor(test.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
}

// TestLongSample checks that a long sample is cut, and that the reader is told.
func TestLongSample(t *testing.T) {
	s := &sample{text: "spec:\n  " + strings.TrimSpace(strings.Repeat("  a: 1\n", askedLines+5)), object: &unstructured.Unstructured{Object: map[string]any{}}}
	p := page{}
	p.sample(s, "f.yaml", nil)
	if got := strings.Count(p.String(), "a: 1\n"); got != askedLines || !strings.Contains(p.String(), "… and 5 more lines") {
		t.Errorf("%d lines of the sample, want %d and a note:\n%s", got, askedLines, p.String())
	}
}

func TestTraffic(t *testing.T) {
	inside := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}
	labeled := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
	block := networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}
	port := func(p corev1.Protocol) networkingv1.NetworkPolicyPort {
		number := intstr.FromInt32(53)
		return networkingv1.NetworkPolicyPort{Protocol: &p, Port: &number}
	}
	for reason, test := range map[string]struct {
		spec networkingv1.NetworkPolicySpec
		want string
	}{
		"ingress": {
			networkingv1.NetworkPolicySpec{
				PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
				Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{inside, labeled}}},
			},
			"the pods are reached by their own namespace and namespaces with a=b; they may reach anything",
		},
		"both": {
			networkingv1.NetworkPolicySpec{
				PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
				Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{inside}}},
				Egress: []networkingv1.NetworkPolicyEgressRule{
					{To: []networkingv1.NetworkPolicyPeer{inside, block}},
					{Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolUDP), port(corev1.ProtocolTCP)}},
				},
			},
			"the pods are reached by their own namespace; they may reach their own namespace and 10.0.0.0/8, " +
				"and anything on 53/UDP and 53/TCP",
		},
		"all closed": {
			networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}},
			"the pods are reached by nothing; they may reach nothing",
		},
		"an open rule": {
			networkingv1.NetworkPolicySpec{
				PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
				Ingress:     []networkingv1.NetworkPolicyIngressRule{{}},
			},
			"the pods are reached by anything; they may reach anything",
		},
		"egress only": {
			networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}},
			"the pods are reached by anything; they may reach nothing",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			if diff := cmp.Diff(test.want, traffic(test.spec)); diff != "" {
				t.Errorf("words (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWords(t *testing.T) {
	list := func(pairs ...string) corev1.ResourceList {
		l := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return l
	}
	for reason, test := range map[string]struct{ got, want string }{
		"usage": {
			usage(corev1.ResourceQuotaStatus{Hard: list("pods", "10", "cpu", "5"), Used: list("cpu", "300m")}),
			"cpu 300m of 5, pods 0 of 10",
		},
		"defaults": {
			defaults([]corev1.LimitRangeItem{
				{Type: corev1.LimitTypePod, Max: list("cpu", "9")},
				{Type: corev1.LimitTypeContainer, DefaultRequest: list("cpu", "100m"), Max: list("cpu", "2")},
			}),
			"a container that states nothing requests cpu 100m and is limited to nothing; none gets more than cpu 2",
		},
		"subjects": {
			subjects([]rbacv1.Subject{{Kind: "User", Name: "sam"}, {Kind: "Group", Name: "team-z"}}),
			"the user sam and the group team-z",
		},
		"labels": {
			tenantLabels(map[string]string{
				"b": "2", "a": "1", "kubernetes.io/metadata.name": "n", "platform.acme.com/owner-uid": "u",
				"app.kubernetes.io/managed-by": "platform-operator", "pod-security.kubernetes.io/enforce": "baseline",
			}),
			"a=1, b=2",
		},
		"what a person does anywhere": {
			ability(authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods", Namespace: "n"}), "create pods in n",
		},
		"what a person does to one": {
			ability(authorizationv1.ResourceAttributes{Verb: "patch", Resource: "namespaces", Name: "n", Namespace: "n"}), "patch namespaces/n",
		},
	} {
		if got := strings.ReplaceAll(test.got, nbsp, " "); got != test.want {
			t.Errorf("%s: %q, want %q", reason, got, test.want)
		}
	}
}

// TestConditionFacts checks what is said about kinds of which nothing else is known.
func TestConditionFacts(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "True", "reason": "Ready", "message": "all is well"},
	}}}}
	got, err := conditionFacts(t.Context(), nil, o)
	if diff := cmp.Diff([]fact{{"Ready", "True (Ready): all is well"}}, got, cmp.AllowUnexported(fact{})); err != nil || diff != "" {
		t.Errorf("facts (-want +got), error %v:\n%s", err, diff)
	}
	if got, err := conditionFacts(t.Context(), nil, &unstructured.Unstructured{Object: map[string]any{}}); err != nil || len(got) != 0 {
		t.Errorf("without a status: %v, %v", got, err)
	}
}
