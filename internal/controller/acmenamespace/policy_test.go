// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/acme/platform-operator/config/policy"
)

func TestShippedPolicy(t *testing.T) {
	shipped, err := readPolicy(policy.GuardRails)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		policyName, policyName + "-ingresses", policyName + "-managed", policyName + "-namespaces", policyName + "-services", policyName + "-subjects",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(shipped.bindings))); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
	for name, b := range shipped.bindings {
		if b.PolicyName != policyName || !slices.Contains(b.ValidationActions, admissionregistrationv1.Deny) {
			t.Errorf("the binding %s: %+v", name, b)
		}
	}
	if len(shipped.policy.Validations) < 3 || len(shipped.policy.MatchConditions) == 0 {
		t.Errorf("the policy: %+v", shipped.policy)
	}
	if _, err := readPolicy([]byte("kind: [")); err == nil {
		t.Error("what is no YAML is no policy")
	}
}

func TestInstallPolicy(t *testing.T) {
	const address = "kubectl apply --server-side -k 'https://github.com/acme/platform-operator//config/tenancy/policy"
	for version, want := range map[string]string{"v0.2.0": address + "?ref=v0.2.0'", "unknown": address + "'", "": address + "'"} {
		if got := installPolicy(version); got != want {
			t.Errorf("of %q: %s", version, got)
		}
	}
}
