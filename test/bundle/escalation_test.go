// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// escalating has the rules by which the operator could give rights that it does not have, to anybody: escalate, bind and
// impersonate without the names of what they are for.
func escalating(rules []rbacv1.PolicyRule) []string {
	var wrong []string
	for _, rule := range rules {
		all := slices.ContainsFunc(rule.Verbs, func(v string) bool { return slices.Contains([]string{"bind", "escalate", "impersonate", "*"}, v) })
		if all && (len(rule.ResourceNames) == 0 || slices.ContainsFunc(rule.ResourceNames, func(n string) bool { return n != "namespace-admin" })) {
			wrong = append(wrong, fmt.Sprintf("%+v", rule))
		}
	}
	return wrong
}

// TestEscalation checks config/rbac, and what OLM gives: the operator escalates and binds by the Role of a namespace's
// administrator only.
func TestEscalation(t *testing.T) {
	seen := 0
	check := func(where string, rules []rbacv1.PolicyRule) {
		seen += len(rules)
		for _, wrong := range escalating(rules) {
			t.Errorf("%s: this gives any right away: %s", where, wrong)
		}
	}
	for _, file := range glob(t, "config", "rbac", "*.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			if kind := kindOf(t, document); kind == "ClusterRole" || kind == "Role" {
				var role rbacv1.ClusterRole // a Role has the same fields
				decode(t, document, &role)
				check(file, role.Rules)
			}
		}
	}
	for _, p := range load(t).CSV.Spec.InstallStrategy.StrategySpec.ClusterPermissions {
		check("the ClusterServiceVersion", p.Rules)
	}
	if seen < 10 {
		t.Errorf("only %d rules were found", seen)
	}
}

// TestEscalating shows that the check above sees what it speaks of.
func TestEscalating(t *testing.T) {
	for _, tc := range []struct {
		verbs, names []string
		wrong        bool
	}{
		{[]string{"get", "patch"}, nil, false},
		{[]string{"bind", "escalate"}, []string{"namespace-admin"}, false},
		{[]string{"get", "bind"}, nil, true},
		{[]string{"escalate"}, nil, true},
		{[]string{"impersonate"}, nil, true},
		{[]string{"*"}, nil, true},
		{[]string{"escalate"}, []string{"namespace-admin", "cluster-admin"}, true},
	} {
		rule := rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}, Verbs: tc.verbs, ResourceNames: tc.names}
		if wrong := escalating([]rbacv1.PolicyRule{rule}); (len(wrong) > 0) != tc.wrong {
			t.Errorf("%v of %v: %v, want wrong: %v", tc.verbs, tc.names, wrong, tc.wrong)
		}
	}
}
