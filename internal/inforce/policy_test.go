// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inforce

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/acme/platform-operator/config/policy"
)

func TestParse(t *testing.T) {
	const rails, bounds = "platform-operator-guard-rails", "platform-operator-database-bounds"
	for _, c := range []struct {
		text     []byte
		name     string
		bindings []string
	}{
		{policy.GuardRails, rails, []string{rails, rails + "-ingresses", rails + "-managed", rails + "-namespaces", rails + "-services", rails + "-subjects"}},
		{policy.DatabaseBounds, bounds, []string{bounds}},
	} {
		shipped, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if shipped.Name != c.name {
			t.Errorf("the name is %s, not %s", shipped.Name, c.name)
		}
		if diff := cmp.Diff(c.bindings, slices.Sorted(maps.Keys(shipped.bindings))); diff != "" {
			t.Errorf("bindings of %s (-want +got):\n%s", c.name, diff)
		}
		for name, b := range shipped.bindings {
			if b.PolicyName != c.name || !slices.Contains(b.ValidationActions, admissionregistrationv1.Deny) {
				t.Errorf("the binding %s: %+v", name, b)
			}
		}
		if len(shipped.spec.Validations) < 3 || len(shipped.spec.MatchConditions) == 0 {
			t.Errorf("the policy %s: %+v", c.name, shipped.spec)
		}
	}
	if _, err := Parse([]byte("kind: [")); err == nil {
		t.Error("what is no YAML is no policy")
	}
}

func TestSamePolicyWhateverTheLines(t *testing.T) {
	of := func(expression string) admissionregistrationv1.ValidatingAdmissionPolicySpec {
		return admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: []admissionregistrationv1.Validation{{Expression: expression}}}
	}
	if !samePolicy(of("a || (\n  b &&\n  c)"), of("a || (\n\n  b &&\n  c)")) {
		t.Error("a line that kustomize adds makes another policy")
	}
	for _, other := range []string{"a || (\n  b ||\n  c)", "a", "true"} {
		if samePolicy(of("a || (\n  b &&\n  c)"), of(other)) {
			t.Errorf("it is the same as %q", other)
		}
	}
}

func TestInstallCommand(t *testing.T) {
	const address = "kubectl apply --server-side -k 'https://github.com/acme/platform-operator//config/tenancy/policy"
	for version, want := range map[string]string{"v0.2.0": address + "?ref=v0.2.0'", "unknown": address + "'", "": address + "'"} {
		if got := InstallCommand(version); got != want {
			t.Errorf("of %q: %s", version, got)
		}
	}
}
