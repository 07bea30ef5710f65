// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"strings"
	"testing"

	"github.com/acme/platform-operator/internal/testenv/schematest"
)

// tier is a DeploymentTier of that name with further lines in its spec.
func tier(name string, lines ...string) string {
	spec := "spec: {}\n"
	if len(lines) > 0 {
		spec = "spec:\n  " + strings.Join(lines, "\n  ") + "\n"
	}
	return "apiVersion: tenancy.acme.com/v1alpha1\nkind: DeploymentTier\nmetadata: {name: " + name + "}\n" + spec
}

const (
	noTier    = "metadata.name must be dev, stg or prod: a DeploymentTier overrides the built-in tier of that name"
	wildcard  = "wildcards are rejected: name the verbs, API groups and resources"
	escape    = "the verbs bind, escalate and impersonate are rejected: they would let the administrator undo the guardrails"
	guardRail = "namespaces, resourcequotas, limitranges and networkpolicies are guardrails: only get, list and watch may be allowed on them"
)

func TestTierName(t *testing.T) {
	for _, name := range []string{"dev", "stg", "prod"} {
		schematest.WantCauses(t, schematest.Create(t, tier(name)))
	}
	for _, name := range []string{"qa", "production", "dev-2"} {
		got := schematest.Create(t, tier(name))
		if len(got) != 1 || !strings.HasSuffix(got[0], noTier) {
			t.Errorf("the name %s is rejected with %q", name, got)
		}
	}
}

func TestFullTier(t *testing.T) {
	schematest.WantCauses(t, schematest.Create(t, tier("prod",
		`quota: {cpu: 1000, memory: 1Ti, "count/jobs.batch": 50}`,
		`limitRange: {default: {cpu: 1}, defaultRequest: {cpu: 100m}, max: {cpu: 4}}`,
		`podSecurity: restricted`,
		`priorityClasses: [batch, web.high-1]`, `hostnames: ["*.apps.acme.com", shop.acme.com]`,
		`ingressAnnotations: ["cert-manager.io/*", nginx.ingress.kubernetes.io/proxy-body-size, plain_Key.1]`,
		`network:`,
		`  isolation: IngressAndEgress`,
		`  fromNamespaces: [{matchLabels: {role: ingress}}]`,
		`  toNamespaces: [{matchExpressions: [{key: role, operator: In, values: [db]}]}]`,
		`  toCIDRs: [10.20.0.0/16, "2001:db8::/32", 0.0.0.0/0]`,
		`adminRules:`,
		`- {apiGroups: ["", apps], resources: [pods, pods/log, deployments], verbs: [get, list, create, delete]}`,
		`- {apiGroups: [""], resources: [namespaces, resourcequotas, limitranges], verbs: [get, list, watch]}`,
		`- {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [get]}`,
	)))
}

func TestTierRules(t *testing.T) {
	const rules = "spec.adminRules"
	rule := func(groups, resources, verbs string) string {
		return "adminRules: [{apiGroups: [" + groups + "], resources: [" + resources + "], verbs: [" + verbs + "]}]"
	}
	const first = rules + "[0]"
	for _, tc := range []struct{ reason, give, field, want string }{
		{"any verb", rule(`""`, "pods", `"*"`), first, wildcard},
		{"any verb among others", rule(`""`, "pods", `get, "*"`), first, wildcard},
		{"any group", rule(`"*"`, "pods", "get"), first, wildcard},
		{"any resource", rule(`""`, `"*"`, "get"), first, wildcard},
		{"any subresource", rule(`""`, `"pods/*"`, "get"), first, wildcard},
		{"a subresource of anything", rule(`""`, `"*/scale"`, "get"), first, wildcard},
		{"bind", rule(`rbac.authorization.k8s.io`, "roles", "get, bind"), first, escape},
		{"escalate", rule(`rbac.authorization.k8s.io`, "roles", "escalate"), first, escape},
		{"impersonate", rule(`""`, "serviceaccounts", "impersonate"), first, escape},
		{"write Namespaces", rule(`""`, "namespaces", "get, update"), first, guardRail},
		{"write their status", rule(`""`, "namespaces/status", "patch"), first, guardRail},
		{"write their finalizers", rule(`""`, "namespaces/finalize", "update"), first, guardRail},
		{"write quotas", rule(`""`, "pods, resourcequotas", "create"), first, guardRail},
		{"write the status of quotas", rule(`""`, "resourcequotas/status", "update"), first, guardRail},
		{"write limit ranges", rule(`""`, "limitranges", "delete"), first, guardRail},
		{"write network policies", rule(`networking.k8s.io`, "networkpolicies", "deletecollection"), first, guardRail},
		{"no group", rule("", "pods", "get"), first + ".apiGroups", "should have at least 1 items"},
		{"no resource", rule(`""`, "", "get"), first + ".resources", "should have at least 1 items"},
		{"no verb", rule(`""`, "pods", ""), first + ".verbs", "should have at least 1 items"},
		{"an empty verb", rule(`""`, "pods", `""`), first + ".verbs[0]", "should be at least 1 chars long"},
		{"an empty resource", rule(`""`, `""`, "get"), first + ".resources[0]", "should be at least 1 chars long"},
		{"no rules", "adminRules: []", rules, "should have at least 1 items"},
		{"no quota", "quota: {}", "spec.quota", "should have at least 1 properties"},
		{"a quota that is no quantity", "quota: {cpu: lots}", "spec.quota.cpu", "should match"},
		{"a limit that is no quantity", "limitRange: {max: {cpu: lots}}", "spec.limitRange.max.cpu", "should match"},
		{"a priority class that is no name", "priorityClasses: [Batch]", "spec.priorityClasses[0]", "should match"},
		{"an empty priority class", `priorityClasses: [""]`, "spec.priorityClasses[0]", "should be at least 1 chars long"},
		{"a host name of upper case", "hostnames: [A.com]", "spec.hostnames[0]", "should match"},
		{"a star in the middle", `hostnames: ["a.*.com"]`, "spec.hostnames[0]", "should match"},
		{"a star alone", `hostnames: ["*"]`, "spec.hostnames[0]", "should match"},
		{"any annotation", `ingressAnnotations: ["*"]`, "spec.ingressAnnotations[0]", "should match"},
		{"the beginning of an annotation", `ingressAnnotations: ["cert-manager.io/c*"]`, "spec.ingressAnnotations[0]", "should match"},
		{"annotations of any prefix", `ingressAnnotations: ["*/proxy-body-size"]`, "spec.ingressAnnotations[0]", "should match"},
		{"an annotation that is no key", `ingressAnnotations: ["a b"]`, "spec.ingressAnnotations[0]", "should match"},
		{"an annotation twice", `ingressAnnotations: [a, a]`, "spec.ingressAnnotations[1]", "Duplicate value"},
		{"a priority class twice", "priorityClasses: [a, a]", "spec.priorityClasses[1]", "Duplicate value"},
		{"an exponent that takes minutes", `quota: {cpu: "1e-100000000"}`, "spec.quota.cpu", "should match"},
		{"the same in a default", `limitRange: {default: {cpu: "1e-100000000"}}`, "spec.limitRange.default.cpu", "should match"},
		{"huge pages without a size", `quota: {hugepages-: 1}`, "spec.quota", noResource},
		{"a selector that is none", `network: {isolation: None, fromNamespaces: [{matchLabels: {"a b": c}}]}`, "spec.network.fromNamespaces[0].matchLabels", noKey},
		{
			"an unknown operator", `network: {isolation: None, toNamespaces: [{matchExpressions: [{key: a, operator: Like}]}]}`,
			"spec.network.toNamespaces[0].matchExpressions[0].operator", `supported values: "In", "NotIn", "Exists", "DoesNotExist"`,
		},
		{"a verb that is none", rule(`""`, "pods", `"get\u009b"`), first + ".verbs[0]", "should match"},
		{"an unknown level", "podSecurity: strict", "spec.podSecurity", `Unsupported value: "strict": supported values: "privileged", "baseline", "restricted"`},
		{
			"an unknown isolation", "network: {isolation: Egress}", "spec.network.isolation",
			`Unsupported value: "Egress": supported values: "None", "Ingress", "IngressAndEgress"`,
		},
		{"no isolation", "network: {toCIDRs: [10.0.0.0/8]}", "spec.network.isolation", "Required value"},
		{
			"an address that is no range", "network: {isolation: None, toCIDRs: [10.0.0.1]}", "spec.network.toCIDRs",
			"every entry must be an address range such as 10.20.0.0/16",
		},
		{
			"a range that is none", "network: {isolation: None, toCIDRs: [10.0.0.0/33]}", "spec.network.toCIDRs",
			"every entry must be an address range such as 10.20.0.0/16",
		},
		{
			"an address within a range", "network: {isolation: None, toCIDRs: [10.0.0.1/8]}", "spec.network.toCIDRs",
			"every entry must be an address range such as 10.20.0.0/16, without bits beyond the prefix length",
		},
		{"17 ranges", "network: {isolation: None, toCIDRs: [" + list("v%d", 17) + "]}", "spec.network.toCIDRs", "must have at most 16 items"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			schematest.WantRefused(t, schematest.Create(t, tier("dev", tc.give)), tc.field, tc.want)
		})
	}
}
