// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func binding(name, role string, who ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: named(name), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role}, Subjects: who}
}

func user(name string) rbacv1.Subject { return rbacv1.Subject{Kind: "User", Name: name} }

func TestBindings(t *testing.T) {
	robot := rbacv1.Subject{Kind: "ServiceAccount", Namespace: "ci", Name: "deployer"}
	group := rbacv1.Subject{Kind: "Group", Name: "sam"}
	found := bindings{former: []string{"User sam", "Group ops"}}
	for _, rb := range []*rbacv1.RoleBinding{
		binding("namespace-admin", "admin", user("sam")),
		binding("ci", "edit", robot),
		binding("none", "view"),
		binding("many", "view", user("a"), user("b"), group, user("c"), user("sam")),
		binding("empty-name", "view", user("evil\n; and nothing else")),
		binding("his", "admin", user("sam")),
	} {
		found.add(rb)
	}
	want := &v1alpha1.Findings{Count: 5, Items: []string{
		`RoleBinding "many" gives ClusterRole "view" to User "sam", User "a", User "b", 2 more, a former administrator among them`,
		`RoleBinding "his" gives ClusterRole "admin" to User "sam", a former administrator among them`,
		`RoleBinding "ci" gives ClusterRole "edit" to ServiceAccount "ci/deployer"`,
		`RoleBinding "none" gives ClusterRole "view" to nobody`,
		`RoleBinding "empty-name" gives ClusterRole "view" to User "evil\n; and nothing else"`,
	}}
	all := found.all()
	if diff := cmp.Diff(want, all.status()); diff != "" {
		t.Error(diff)
	}
}

// However many there are and however long their names: the status describes ten, shortly, and counts all.
func TestFindingsAreBounded(t *testing.T) {
	found := bindings{former: []string{"User sam"}}
	long := strings.Repeat("山", 10_000)
	for i := range 1000 {
		found.add(binding(fmt.Sprintf("b-%d", i), long, user(long), user(long), user(long)))
	}
	found.add(binding("his", long, user("sam")))
	all := found.all()
	s := all.status()
	if s.Count != 1001 || len(s.Items) != 10 || !strings.HasPrefix(s.Items[0], `RoleBinding "his"`) {
		t.Errorf("%d findings, described %q", s.Count, s.Items)
	}
	for _, item := range s.Items {
		if len(item) > maxFinding+len("…") || !utf8.ValidString(item) {
			t.Errorf("%d bytes: %q", len(item), item)
		}
	}
	if text := describe(s); !strings.HasSuffix(text, "; and 991 more") {
		t.Error(text)
	}
	nothing := findings{}
	if nothing.status() != nil {
		t.Error("no findings are shown as some")
	}
}

func TestPoliciesOpenToAll(t *testing.T) {
	all, some := &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	in := func(peers ...networkingv1.NetworkPolicyPeer) networkingv1.NetworkPolicySpec {
		return networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: peers}}}
	}
	out := func(peers ...networkingv1.NetworkPolicyPeer) networkingv1.NetworkPolicySpec {
		return networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{To: peers}}}
	}
	block := func(cidr string) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr}}
	}
	both := in()
	both.Egress = out().Egress
	for _, tc := range []struct {
		reason, name string
		spec         networkingv1.NetworkPolicySpec
		want         string
	}{
		{"denies all", "x", networkingv1.NetworkPolicySpec{}, ""},
		{"the operator's own", "tenant-isolation", in(), ""},
		{"from anywhere", "x", in(), `NetworkPolicy "x" lets traffic in from anywhere`},
		{"to anywhere", "x", out(), `NetworkPolicy "x" lets traffic out to anywhere`},
		{"both", "x", both, `NetworkPolicy "x" lets traffic in from anywhere, and out to anywhere`},
		{"every address", "x", in(block("0.0.0.0/0")), `NetworkPolicy "x" lets traffic in from anywhere`},
		{"every address, after another", "x", in(block("10.0.0.0/8"), block("::/0")), `NetworkPolicy "x" lets traffic in from anywhere`},
		{"some addresses", "x", in(block("10.0.0.0/8")), ""},
		{"every namespace", "x", out(networkingv1.NetworkPolicyPeer{NamespaceSelector: all}), `NetworkPolicy "x" lets traffic out to anywhere`},
		{"every pod", "x", in(networkingv1.NetworkPolicyPeer{NamespaceSelector: all, PodSelector: all}), `NetworkPolicy "x" lets traffic in from anywhere`},
		{"some pods of every namespace", "x", in(networkingv1.NetworkPolicyPeer{NamespaceSelector: all, PodSelector: some}), ""},
		{"some namespaces", "x", in(networkingv1.NetworkPolicyPeer{NamespaceSelector: some}), ""},
		{"its own pods", "x", in(networkingv1.NetworkPolicyPeer{PodSelector: all}), ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			f := findings{}
			f.addPolicy(&networkingv1.NetworkPolicy{ObjectMeta: named(tc.name), Spec: tc.spec})
			if got := strings.Join(f.items, "|"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestOtherFindings(t *testing.T) {
	f := findings{}
	f.addQuota(&corev1.ResourceQuota{ObjectMeta: named("dev")}, "dev")
	f.addQuota(&corev1.ResourceQuota{ObjectMeta: named("priority-classes-not-allowed")}, "dev")
	f.addQuota(&corev1.ResourceQuota{ObjectMeta: named("prod")}, "dev")
	f.addLimitRange(&corev1.LimitRange{ObjectMeta: named("defaults")})
	f.addLimitRange(&corev1.LimitRange{ObjectMeta: named("theirs")})
	f.addLabels(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": "v1.20",
		"pod-security.kubernetes.io/audit": "privileged", "tenancy.acme.com/reaches-tenants": "true", "team": "a",
	}}})
	want := []string{
		`ResourceQuota "prod" limits the namespace as well`,
		`LimitRange "theirs" sets defaults and limits as well`,
		`the Namespace's label pod-security.kubernetes.io/audit is "privileged"`,
		`the Namespace's label pod-security.kubernetes.io/enforce-version is "v1.20"`,
		`the Namespace's label tenancy.acme.com/reaches-tenants is "true"`,
	}
	if diff := cmp.Diff(want, f.items); diff != "" {
		t.Error(diff)
	}
}

func TestAdministrators(t *testing.T) {
	spec := v1alpha1.AcmeNamespaceSpec{AdminUsername: "kim", AdminGroups: []string{"ops"}}
	now := administrators(spec)
	if diff := cmp.Diff([]string{"User kim", "Group ops"}, now); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"User sam", "User ops"}, removed([]string{"User sam", "User kim", "User ops"}, now)); diff != "" {
		t.Error(diff)
	}
}
