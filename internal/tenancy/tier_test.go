// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/tenancy"
)

// amounts makes a list of resources from pairs of a name and a quantity.
func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func builtIn(t *testing.T, name common.TierName) tenancy.Tier {
	t.Helper()
	tier, err := tenancy.BuiltIn(name)
	if err != nil {
		t.Fatal(err)
	}
	return tier
}

func TestBuiltInTiers(t *testing.T) {
	reaching := []metav1.LabelSelector{{MatchLabels: map[string]string{"tenancy.acme.com/reaches-tenants": "true"}}}
	small := v1alpha1.ContainerLimits{
		DefaultRequest: amounts("cpu", "100m", "memory", "128Mi", "ephemeral-storage", "256Mi"),
		Default:        amounts("cpu", "500m", "memory", "512Mi", "ephemeral-storage", "1Gi"),
	}
	dev := tenancy.Tier{
		Name: "dev", Quota: amounts("cpu", "5", "memory", "10Gi", "pods", "10"), Limits: small, PodSecurity: "baseline",
		Network: v1alpha1.NetworkRules{Isolation: "Ingress", FromNamespaces: reaching}, AdminRules: tenancy.AdminRules(),
	}
	for _, tc := range []struct {
		name common.TierName
		want tenancy.Tier
	}{
		{"dev", dev},
		{"", dev},
		{"stg", tenancy.Tier{
			Name: "stg", Quota: amounts("cpu", "50", "memory", "50Gi", "pods", "50"), Limits: small, PodSecurity: "restricted",
			Network: v1alpha1.NetworkRules{Isolation: "IngressAndEgress", FromNamespaces: reaching}, AdminRules: tenancy.AdminRules(),
		}},
		{"prod", tenancy.Tier{
			Name: "prod", Quota: amounts("cpu", "500", "memory", "200Gi", "pods", "100"),
			Limits: v1alpha1.ContainerLimits{
				DefaultRequest: amounts("cpu", "250m", "memory", "256Mi", "ephemeral-storage", "256Mi"),
				Default:        amounts("cpu", "1", "memory", "1Gi", "ephemeral-storage", "1Gi"),
			},
			PodSecurity: "restricted",
			Network:     v1alpha1.NetworkRules{Isolation: "IngressAndEgress", FromNamespaces: reaching}, AdminRules: tenancy.AdminRules(),
		}},
	} {
		t.Run("tier "+string(tc.name), func(t *testing.T) {
			got := builtIn(t, tc.name)
			basic := got
			basic.Quota = corev1.ResourceList{"cpu": got.Quota["cpu"], "memory": got.Quota["memory"], "pods": got.Quota["pods"]}
			if diff := cmp.Diff(tc.want, basic); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestUnknownTier(t *testing.T) {
	_, err := tenancy.BuiltIn("qa")
	if err == nil || err.Error() != `deploymentTier "qa" is invalid: it must be dev, stg or prod` {
		t.Errorf("BuiltIn(qa) = %v", err)
	}
}

func TestBuiltInTiersPassTheirOwnRules(t *testing.T) {
	for _, name := range []common.TierName{"dev", "stg", "prod"} {
		if _, err := builtIn(t, name).With(v1alpha1.DeploymentTierSpec{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOverrideReplacesWhatItStates(t *testing.T) {
	limits := v1alpha1.ContainerLimits{Default: amounts("cpu", "2"), Max: amounts("cpu", "4")}
	network := v1alpha1.NetworkRules{Isolation: v1alpha1.IsolationNone}
	rule := v1alpha1.AdminRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}
	for _, tc := range []struct {
		reason string
		give   v1alpha1.DeploymentTierSpec
		change func(*tenancy.Tier)
	}{
		{"nothing stated, nothing changed", v1alpha1.DeploymentTierSpec{}, func(*tenancy.Tier) {}},
		{
			"the quota, resource by resource",
			v1alpha1.DeploymentTierSpec{Quota: amounts("pods", "3", "count/secrets", "7")},
			func(t *tenancy.Tier) {
				t.Quota["pods"], t.Quota["count/secrets"] = resource.MustParse("3"), resource.MustParse("7")
			},
		},
		{
			"the limit range, but for ephemeral storage",
			v1alpha1.DeploymentTierSpec{LimitRange: &limits},
			func(t *tenancy.Tier) {
				t.Limits = v1alpha1.ContainerLimits{
					Default:        amounts("cpu", "2", "ephemeral-storage", "1Gi"),
					DefaultRequest: amounts("ephemeral-storage", "256Mi"), Max: amounts("cpu", "4"),
				}
			},
		},
		{
			"the limit range with ephemeral storage",
			v1alpha1.DeploymentTierSpec{LimitRange: &v1alpha1.ContainerLimits{Max: amounts("ephemeral-storage", "100Mi")}},
			func(t *tenancy.Tier) { t.Limits = v1alpha1.ContainerLimits{Max: amounts("ephemeral-storage", "100Mi")} },
		},
		{
			"an empty limit range",
			v1alpha1.DeploymentTierSpec{LimitRange: &v1alpha1.ContainerLimits{}},
			func(t *tenancy.Tier) {
				t.Limits = v1alpha1.ContainerLimits{
					Default: amounts("ephemeral-storage", "1Gi"), DefaultRequest: amounts("ephemeral-storage", "256Mi"),
				}
			},
		},
		{
			"the priority classes",
			v1alpha1.DeploymentTierSpec{PriorityClasses: &[]string{"batch"}},
			func(t *tenancy.Tier) { t.PriorityClasses = []string{"batch"} },
		},
		{
			"no priority class",
			v1alpha1.DeploymentTierSpec{PriorityClasses: &[]string{}},
			func(t *tenancy.Tier) { t.PriorityClasses = []string{} },
		},
		{
			"the host names and annotations",
			v1alpha1.DeploymentTierSpec{Hostnames: &[]string{"*.a.com"}, IngressAnnotations: &[]string{"cert-manager.io/*"}},
			func(t *tenancy.Tier) {
				t.Hostnames, t.IngressAnnotations = []string{"*.a.com"}, []string{"cert-manager.io/*"}
			},
		},
		{
			"no host name and no annotation",
			v1alpha1.DeploymentTierSpec{Hostnames: new([]string), IngressAnnotations: new([]string)},
			func(t *tenancy.Tier) { t.Hostnames, t.IngressAnnotations = []string{}, []string{} },
		},
		{
			"the pod security level",
			v1alpha1.DeploymentTierSpec{PodSecurity: v1alpha1.PodSecurityPrivileged},
			func(t *tenancy.Tier) { t.PodSecurity = "privileged" },
		},
		{
			"the network rules as a whole",
			v1alpha1.DeploymentTierSpec{Network: &network},
			func(t *tenancy.Tier) { t.Network = network },
		},
		{
			"the admin rules as a whole",
			v1alpha1.DeploymentTierSpec{AdminRules: []v1alpha1.AdminRule{rule}},
			func(t *tenancy.Tier) {
				t.AdminRules = t.AdminRules[:0:0]
				t.AdminRules = append(t.AdminRules, rule.PolicyRule())
			},
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			want := builtIn(t, "stg")
			tc.change(&want)
			got, err := builtIn(t, "stg").With(tc.give)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(builtIn(t, "stg").AdminRules, tenancy.AdminRules()); diff != "" {
				t.Errorf("the override changed the built-in tier:\n%s", diff)
			}
		})
	}
}

func TestMalformedOverrides(t *testing.T) {
	rule := func(group, resource, verb string) v1alpha1.DeploymentTierSpec {
		return v1alpha1.DeploymentTierSpec{AdminRules: []v1alpha1.AdminRule{
			{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}},
		}}
	}
	limits := func(l v1alpha1.ContainerLimits) v1alpha1.DeploymentTierSpec {
		return v1alpha1.DeploymentTierSpec{LimitRange: &l}
	}
	badSelector := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}}
	for _, tc := range []struct {
		reason string
		give   v1alpha1.DeploymentTierSpec
		want   string
	}{
		{"a negative quota", v1alpha1.DeploymentTierSpec{Quota: amounts("cpu", "-1")}, "quota[cpu] is -1; it must not be negative"},
		{"half a pod", v1alpha1.DeploymentTierSpec{Quota: amounts("pods", "1500m")}, "quota[pods] is 1500m; it must be a whole number"},
		{"an unknown resource", v1alpha1.DeploymentTierSpec{Quota: amounts("cpus", "1")}, "quota[cpus]: unknown resource: it must be one of cpu, memory,"},
		{"a resource that is no name", v1alpha1.DeploymentTierSpec{Quota: amounts("count/a b", "1")}, "quota[count/a b]: name part must consist of"},
		{"a negative default", limits(v1alpha1.ContainerLimits{Default: amounts("cpu", "-1")}), "limitRange.default[cpu] is -1"},
		{"a negative request", limits(v1alpha1.ContainerLimits{DefaultRequest: amounts("cpu", "-1")}), "limitRange.defaultRequest[cpu] is -1"},
		{"a negative maximum", limits(v1alpha1.ContainerLimits{Max: amounts("memory", "-1Gi")}), "limitRange.max[memory] is -1Gi"},
		{"an unknown resource in a default", limits(v1alpha1.ContainerLimits{Default: amounts("cpus", "1")}), "limitRange.default[cpus]: unknown resource"},
		{"a counted resource in a default", limits(v1alpha1.ContainerLimits{Default: amounts("pods", "1")}), "limitRange.default[pods]: no container has that"},
		{
			"a quota's resource in a request", limits(v1alpha1.ContainerLimits{DefaultRequest: amounts("requests.hugepages-2Mi", "2Mi")}),
			"limitRange.defaultRequest[requests.hugepages-2Mi]: no container has that",
		},
		{"a count in a maximum", limits(v1alpha1.ContainerLimits{Max: amounts("count/secrets", "1")}), "limitRange.max[count/secrets]: no container has that"},
		{
			"a request above the limit", limits(v1alpha1.ContainerLimits{DefaultRequest: amounts("cpu", "2"), Default: amounts("cpu", "1")}),
			"limitRange.defaultRequest[cpu] is 2, more than limitRange.default[cpu], 1",
		},
		{
			"a default above the maximum", limits(v1alpha1.ContainerLimits{Default: amounts("cpu", "2"), Max: amounts("cpu", "1")}),
			"limitRange.max[cpu] is 1, less than a default of 2",
		},
		{
			"a request above the maximum", limits(v1alpha1.ContainerLimits{DefaultRequest: amounts("cpu", "2"), Max: amounts("cpu", "1")}),
			"limitRange.max[cpu] is 1, less than a default of 2",
		},
		{"any verb", rule("", "pods", "*"), "adminRules: wildcards are rejected, in the rule on [pods]"},
		{"any group", rule("*", "pods", "get"), "adminRules: wildcards are rejected, in the rule on [pods]"},
		{"any resource", rule("", "*", "get"), "adminRules: wildcards are rejected, in the rule on [*]"},
		{"any subresource", rule("", "pods/*", "get"), "adminRules: wildcards are rejected, in the rule on [pods/*]"},
		{"a subresource of anything", rule("", "*/scale", "get"), "adminRules: wildcards are rejected, in the rule on [*/scale]"},
		{"bind", rule("rbac.authorization.k8s.io", "roles", "bind"), "adminRules: the verb bind is rejected, in the rule on [roles]"},
		{"escalate", rule("rbac.authorization.k8s.io", "roles", "escalate"), "adminRules: the verb escalate is rejected, in the rule on [roles]"},
		{"impersonate", rule("", "serviceaccounts", "impersonate"), "adminRules: the verb impersonate is rejected, in the rule on [serviceaccounts]"},
		{"a write on the Namespace", rule("", "namespaces", "patch"), "adminRules: the verb patch on namespaces is rejected: it is a guardrail"},
		{"a write on its status", rule("", "namespaces/status", "update"), "adminRules: the verb update on namespaces/status is rejected: it is a guardrail"},
		{"a write on its finalizers", rule("", "namespaces/finalize", "update"), "adminRules: the verb update on namespaces/finalize is rejected: it is a guardrail"},
		{"a write on quotas", rule("", "resourcequotas", "create"), "adminRules: the verb create on resourcequotas is rejected: it is a guardrail"},
		{"a write on a quota's status", rule("", "resourcequotas/status", "patch"), "adminRules: the verb patch on resourcequotas/status is rejected: it is a guardrail"},
		{"a write on limit ranges", rule("", "limitranges", "delete"), "adminRules: the verb delete on limitranges is rejected: it is a guardrail"},
		{
			"a write on network policies", rule("networking.k8s.io", "networkpolicies", "deletecollection"),
			"adminRules: the verb deletecollection on networkpolicies is rejected: it is a guardrail",
		},
		{
			"an address within a range",
			v1alpha1.DeploymentTierSpec{Network: &v1alpha1.NetworkRules{Isolation: "Ingress", ToCIDRs: []string{"10.0.0.1/8"}}},
			`network.toCIDRs: "10.0.0.1/8" names an address within a range, which NetworkPolicies refuse; write 10.0.0.0/8`,
		},
		{
			"an address that is no range",
			v1alpha1.DeploymentTierSpec{Network: &v1alpha1.NetworkRules{Isolation: "Ingress", ToCIDRs: []string{"10.0.0.1"}}},
			`network.toCIDRs: "10.0.0.1" is not an address range such as 10.20.0.0/16`,
		},
		{"a malformed selector of sources", v1alpha1.DeploymentTierSpec{Network: &v1alpha1.NetworkRules{
			Isolation: "Ingress", FromNamespaces: []metav1.LabelSelector{badSelector},
		}}, `network: a namespace selector is malformed: "Is" is not a valid label selector operator`},
		{"a malformed selector of targets", v1alpha1.DeploymentTierSpec{Network: &v1alpha1.NetworkRules{
			Isolation: "Ingress", ToNamespaces: []metav1.LabelSelector{badSelector},
		}}, `network: a namespace selector is malformed: "Is" is not a valid label selector operator`},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if _, err := builtIn(t, "dev").With(tc.give); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("With = %v, want %s", err, tc.want)
			}
		})
	}
}
