// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/acme/platform-operator/internal/tenancy"
)

var reading = []string{"get", "list", "watch"}

// grants reports whether the built-in rules allow a verb on a resource.
func grants(verb, group, resource string) bool {
	return slices.ContainsFunc(tenancy.AdminRules(), func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Verbs, verb) && slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource)
	})
}

func TestAdminRulesHoldNoKeyToTheGuardRails(t *testing.T) {
	for _, r := range tenancy.AdminRules() {
		for _, s := range slices.Concat(r.Verbs, r.APIGroups, r.Resources) {
			if strings.Contains(s, "*") {
				t.Errorf("wildcard in %v", r)
			}
		}
		for _, v := range r.Verbs {
			if slices.Contains([]string{"approve", "bind", "escalate", "impersonate", "sign", "use"}, v) {
				t.Errorf("the verb %s in %v", v, r)
			}
		}
		if len(r.ResourceNames) > 0 || len(r.NonResourceURLs) > 0 {
			t.Errorf("a rule with names or paths: %v", r)
		}
		for _, res := range r.Resources {
			base, _, _ := strings.Cut(res, "/")
			readOnly := []string{"namespaces", "resourcequotas", "limitranges", "networkpolicies", "endpoints", "endpointslices", "events"}
			if slices.Contains(readOnly, base) && slices.ContainsFunc(r.Verbs, func(v string) bool { return !slices.Contains(reading, v) }) {
				t.Errorf("a write on %s in %v", res, r)
			}
			never := []string{
				"nodes", "persistentvolumes", "clusterroles", "clusterrolebindings", "storageclasses", "acmenamespaces", "deploymenttiers",
				"pods/binding", "pods/proxy", "services/proxy", "nodes/proxy", "serviceaccounts/token", "namespaces/status", "namespaces/finalize",
				"customresourcedefinitions", "validatingwebhookconfigurations", "mutatingwebhookconfigurations", "certificatesigningrequests",
				"priorityclasses", "users", "groups",
			}
			if slices.Contains(never, res) {
				t.Errorf("%s in %v", res, r)
			}
		}
	}
}

func TestAdminRulesLetATeamWork(t *testing.T) {
	full := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	for _, tc := range []struct {
		group     string
		resources []string
		verbs     []string
	}{
		{"", []string{"pods", "services", "configmaps", "secrets", "persistentvolumeclaims", "serviceaccounts"}, full},
		{"apps", []string{"deployments", "statefulsets", "daemonsets", "replicasets"}, full},
		{"batch", []string{"jobs", "cronjobs"}, full},
		{"autoreboot.acme.com", []string{"configwatchers", "rebootpolicies"}, full},
		{"batch.acme.com", []string{"crontabs"}, full},
		{"batch.acme.com", []string{"crontabs/scale"}, []string{"get", "patch", "update"}},
		{"networking.k8s.io", []string{"ingresses"}, full},
		{"autoscaling", []string{"horizontalpodautoscalers"}, full},
		{"policy", []string{"poddisruptionbudgets"}, full},
		{"rbac.authorization.k8s.io", []string{"roles", "rolebindings"}, full},
		{"", []string{"pods/exec", "pods/attach", "pods/portforward", "pods/eviction"}, []string{"create"}},
		{"", []string{"pods/log", "events", "namespaces", "resourcequotas", "limitranges"}, []string{"get"}},
		{"networking.k8s.io", []string{"networkpolicies"}, reading},
	} {
		for _, res := range tc.resources {
			for _, v := range tc.verbs {
				if !grants(v, tc.group, res) {
					t.Errorf("%s %s is not allowed", v, res)
				}
			}
		}
	}
}

func TestAdminRulesAreSortedAndFresh(t *testing.T) {
	first := tenancy.AdminRules()
	for _, r := range first {
		if !slices.IsSorted(r.Verbs) || !slices.IsSorted(r.Resources) {
			t.Errorf("not sorted: %v", r)
		}
	}
	first[0].Resources[0] = "changed"
	if tenancy.AdminRules()[0].Resources[0] == "changed" {
		t.Error("callers share one list")
	}
}
