// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/tenancy"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

// granted is what an AcmeNamespace would be given.
func granted(t *testing.T, spec v1alpha1.AcmeNamespaceSpec, override v1alpha1.DeploymentTierSpec) *run {
	t.Helper()
	tier, err := tenancy.BuiltIn(spec.DeploymentTier)
	if err != nil {
		t.Fatal(err)
	}
	if tier, err = tier.With(override); err != nil {
		t.Fatal(err)
	}
	hard, refusal := tenancy.Hard(tier, spec.Quota)
	if refusal.Reason != "" {
		t.Fatal(refusal)
	}
	n := &v1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: "team-y"}, Spec: spec}
	c := &configv1alpha1.PlatformOperatorConfig{}
	configv1alpha1.Default(c)
	return &run{Scope: engine.Scope[*v1alpha1.AcmeNamespace]{Obj: n}, kind: kind{Options: Options{DNS: c.AcmeNamespace.DNS}}, grant: tenancy.Grant{Tier: tier, Hard: hard}}
}

// manifests are the children as YAML, without the marks that the engine adds.
func manifests(t *testing.T, r *run) string {
	t.Helper()
	name, tier := r.Obj.Spec.NamespaceName, r.grant.Tier
	all := []any{
		namespace(r.Obj, tier), limitRange(name, tier), resourceQuota(name, tier, r.grant.Hard), priorityQuota(name, tier),
		role(name, tier), roleBinding(name, r.Obj.Spec),
	}
	if tier.Network.Isolation != v1alpha1.IsolationNone {
		all = append(all, networkPolicy(name, tier.Network, r.DNS))
	}
	children, err := r.desired()
	if err != nil || len(children) != len(all) {
		t.Errorf("desired gives %d children, error %v; %d are checked here", len(children), err, len(all))
	}
	var docs []string
	for _, c := range all {
		text, err := yaml.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, string(text))
	}
	return strings.Join(docs, "---\n")
}

func TestChildren(t *testing.T) {
	sam := v1alpha1.AcmeNamespaceSpec{NamespaceName: "app-y", AdminUsername: "sam"}
	tier := func(name common.TierName) v1alpha1.AcmeNamespaceSpec {
		spec := sam
		spec.DeploymentTier = name
		return spec
	}
	everything := v1alpha1.AcmeNamespaceSpec{
		NamespaceName: "app-y", AdminUsername: "CN=sam,OU=x", AdminGroups: []string{"oidc:team-y", "ops"}, DeploymentTier: "prod",
		Quota:  corev1.ResourceList{"cpu": resource.MustParse("8"), "requests.storage": resource.MustParse("100Gi")},
		Labels: map[string]v1alpha1.LabelValue{"cost-center": "4711", "example.org/team": "y", "empty": ""},
	}
	for _, tc := range []struct {
		golden   string
		spec     v1alpha1.AcmeNamespaceSpec
		override v1alpha1.DeploymentTierSpec
	}{
		{"dev", tier("dev"), v1alpha1.DeploymentTierSpec{}},
		{"stg", tier("stg"), v1alpha1.DeploymentTierSpec{}},
		{"prod", tier("prod"), v1alpha1.DeploymentTierSpec{}},
		{"everything", everything, v1alpha1.DeploymentTierSpec{
			LimitRange: &v1alpha1.ContainerLimits{
				Default: corev1.ResourceList{"cpu": resource.MustParse("2")}, Max: corev1.ResourceList{"cpu": resource.MustParse("4")},
			},
			PodSecurity: v1alpha1.PodSecurityBaseline,
			Network: &v1alpha1.NetworkRules{
				Isolation:      v1alpha1.IsolationIngressAndEgress,
				FromNamespaces: []metav1.LabelSelector{{MatchLabels: map[string]string{"role": "ingress"}}, {}},
				ToNamespaces: []metav1.LabelSelector{{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "role", Operator: metav1.LabelSelectorOpIn, Values: []string{"db", "queue"}},
					{Key: "old", Operator: metav1.LabelSelectorOpDoesNotExist},
				}}},
				ToCIDRs: []string{"10.20.0.0/16", "2001:db8::/32"},
			},
			AdminRules: []v1alpha1.AdminRule{{APIGroups: []string{"", "apps"}, Resources: []string{"pods", "deployments"}, Verbs: []string{"get", "list"}}},
		}},
		{"nothing", sam, v1alpha1.DeploymentTierSpec{
			LimitRange: &v1alpha1.ContainerLimits{}, PodSecurity: v1alpha1.PodSecurityPrivileged,
			Network: &v1alpha1.NetworkRules{Isolation: v1alpha1.IsolationNone},
		}},
	} {
		t.Run(tc.golden, func(t *testing.T) {
			got := manifests(t, granted(t, tc.spec, tc.override))
			file := filepath.Join("testdata", "children", tc.golden+".yaml")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("not as in %s (if that is right, go test with -update); -want +got:\n%s", file, diff)
			}
		})
	}
}

func TestAdministratorOnTheNamespace(t *testing.T) {
	for _, tc := range []struct {
		user  string
		label bool
	}{
		{"sam", true},
		{"Sam.Smith_1", true},
		{strings.Repeat("s", 63), true},
		{strings.Repeat("s", 64), false},
		{strings.Repeat("s", 256), false},
		{"oidc:sam", false},
		{"sam@acme.com", false},
		{"CN=sam,OU=x", false},
		{"sam smith", false},
		{"-sam", false},
		{"sam.", false},
		{"sämi", false},
		{strings.Repeat("山", 256), false},
		{"https://idp.acme.com#sam", false},
		{"system:serviceaccount:ci:deployer", false},
	} {
		t.Run(tc.user, func(t *testing.T) {
			r := granted(t, v1alpha1.AcmeNamespaceSpec{NamespaceName: "app-y", AdminUsername: tc.user}, v1alpha1.DeploymentTierSpec{})
			ns := namespace(r.Obj, r.grant.Tier)
			has, hasNot := ns.Labels, ns.Annotations
			if !tc.label {
				has, hasNot = hasNot, has
			}
			if has["admin"] != tc.user {
				t.Errorf("labels %v, annotations %v", ns.Labels, ns.Annotations)
			}
			if _, both := hasNot["admin"]; both {
				t.Errorf("both as label and as annotation: %v, %v", ns.Labels, ns.Annotations)
			}
			if s := roleBinding("app-y", r.Obj.Spec).Subjects; len(s) != 1 || *s[0].Kind != "User" || *s[0].Name != tc.user {
				t.Errorf("bound to %v", s)
			}
		})
	}
}

func TestOwnTrafficAndDNSAlwaysPass(t *testing.T) {
	for _, name := range []common.TierName{"dev", "stg", "prod"} {
		for _, isolation := range []v1alpha1.Isolation{v1alpha1.IsolationIngress, v1alpha1.IsolationIngressAndEgress} {
			t.Run(string(name)+" "+string(isolation), func(t *testing.T) {
				r := granted(t, v1alpha1.AcmeNamespaceSpec{NamespaceName: "app-y", DeploymentTier: name},
					v1alpha1.DeploymentTierSpec{Network: &v1alpha1.NetworkRules{Isolation: isolation}})
				spec := networkPolicy("app-y", r.grant.Tier.Network, r.DNS).Spec
				own := []any{sameNamespace()}
				if diff := cmp.Diff(own, asAny(spec.Ingress[0].From)); diff != "" || len(spec.Ingress) != 1 {
					t.Errorf("ingress from its own namespace only; -want +got:\n%s", diff)
				}
				if isolation == v1alpha1.IsolationIngress {
					if len(spec.PolicyTypes) != 1 || len(spec.Egress) != 0 {
						t.Errorf("egress is restricted: %v %v", spec.PolicyTypes, spec.Egress)
					}
					return
				}
				if diff := cmp.Diff(own, asAny(spec.Egress[0].To)); diff != "" || len(spec.PolicyTypes) != 2 {
					t.Errorf("egress to its own namespace; -want +got:\n%s", diff)
				}
				var dns []string
				for _, rule := range spec.Egress[1:] {
					dns = append(dns, destinations(rule))
				}
				if diff := cmp.Diff([]string{
					"UDP 53, TCP 53 to pods map[k8s-app:kube-dns] of kube-system",
					"UDP 5353, TCP 5353 to pods map[dns.operator.openshift.io/daemonset-dns:default] of openshift-dns",
					"UDP 53, TCP 53 to 169.254.20.10/32",
				}, dns); diff != "" {
					t.Errorf("the cluster's DNS, and no other; -want +got:\n%s", diff)
				}
			})
		}
	}
}

// destinations writes a rule for egress as its ports and the pods or addresses that it lets through to.
func destinations(rule networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration) string {
	var ports, to []string
	for _, p := range rule.Ports {
		ports = append(ports, string(ptr.Deref(p.Protocol, ""))+" "+p.Port.String())
	}
	for _, peer := range rule.To {
		if peer.IPBlock != nil {
			to = append(to, *peer.IPBlock.CIDR)
		} else {
			to = append(to, fmt.Sprintf("pods %v of %s", peer.PodSelector.MatchLabels, peer.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"]))
		}
	}
	return strings.Join(ports, ", ") + " to " + strings.Join(to, ", ")
}

func TestDNSIsConfigurable(t *testing.T) {
	port := int32(1053)
	rules := toDNS(configv1alpha1.DNSConfig{Pods: []configv1alpha1.DNSPods{{Namespace: "dns", Port: &port}}})
	if len(rules) != 1 || destinations(*rules[0]) != "UDP 1053, TCP 1053 to pods map[] of dns" {
		t.Errorf("%v", rules)
	}
	rules = toDNS(configv1alpha1.DNSConfig{CIDRs: []string{"10.96.0.10/32", "fd00::a/128"}})
	if len(rules) != 1 || destinations(*rules[0]) != "UDP 53, TCP 53 to 10.96.0.10/32, fd00::a/128" {
		t.Errorf("%v", rules)
	}
	if rules = toDNS(configv1alpha1.DNSConfig{}); len(rules) != 0 {
		t.Errorf("no DNS is no rule: one without destinations would let everything pass: %v", rules)
	}
}

// asAny makes a list of pointers, or of what they point to, comparable with one of pointers.
func asAny[P any](list []P) []any {
	var out []any
	for i := range list {
		out = append(out, &list[i])
	}
	return out
}
