// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/acme/platform-operator/internal/names"
)

// guardrailPolicy is the guardrail policy with its bindings, by name, as this version of the operator ships it.
type guardrailPolicy struct {
	policy   admissionregistrationv1.ValidatingAdmissionPolicySpec
	bindings map[string]admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec
}

// installPolicy returns the command that installs the policy of a version of the operator.
func installPolicy(version string) string {
	const address = "https://github.com/acme/platform-operator//config/tenancy/policy"
	if !strings.HasPrefix(version, "v") {
		return fmt.Sprintf("kubectl apply --server-side -k '%s'", address)
	}
	return fmt.Sprintf("kubectl apply --server-side -k '%s?ref=%s'", address, version)
}

// readPolicy parses the policy from YAML, with the names that every installation uses.
func readPolicy(text []byte) (guardrailPolicy, error) {
	const prefix = names.Operator + "-"
	g := guardrailPolicy{bindings: map[string]admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{}}
	for d := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var u map[string]any
		err := d.Decode(&u)
		switch {
		case errors.Is(err, io.EOF):
			return g, nil
		case err != nil:
			return g, err
		}
		if u["kind"] == "ValidatingAdmissionPolicy" {
			policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u, policy); err != nil {
				return g, err
			}
			g.policy = policy.Spec
			continue
		}
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u, binding); err != nil {
			return g, err
		}
		binding.Spec.PolicyName = prefix + binding.Spec.PolicyName
		g.bindings[prefix+binding.Name] = binding.Spec
	}
}

// samePolicy reports whether two specs are equal after the API server's defaulting.
func samePolicy(a, b admissionregistrationv1.ValidatingAdmissionPolicySpec) bool {
	defaulted := func(s admissionregistrationv1.ValidatingAdmissionPolicySpec) *admissionregistrationv1.ValidatingAdmissionPolicySpec {
		out := s.DeepCopy()
		if out.FailurePolicy == nil {
			out.FailurePolicy = new(admissionregistrationv1.Fail)
		}
		defaultMatch(out.MatchConstraints)
		return out
	}
	return equality.Semantic.DeepEqual(defaulted(a), defaulted(b))
}

// sameBinding is samePolicy for bindings. A binding that denies may have further actions.
func sameBinding(a, b admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) bool {
	defaulted := func(s admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec {
		out := s.DeepCopy()
		if slices.Contains(out.ValidationActions, admissionregistrationv1.Deny) {
			out.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
		}
		defaultMatch(out.MatchResources)
		return out
	}
	return equality.Semantic.DeepEqual(defaulted(a), defaulted(b))
}

// defaultMatch sets the API server's defaults.
func defaultMatch(m *admissionregistrationv1.MatchResources) {
	if m == nil {
		return
	}
	if m.MatchPolicy == nil {
		m.MatchPolicy = new(admissionregistrationv1.Equivalent)
	}
	if m.NamespaceSelector == nil {
		m.NamespaceSelector = &metav1.LabelSelector{}
	}
	if m.ObjectSelector == nil {
		m.ObjectSelector = &metav1.LabelSelector{}
	}
	for _, rules := range [][]admissionregistrationv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			if rules[i].Scope == nil {
				rules[i].Scope = new(admissionregistrationv1.AllScopes)
			}
		}
	}
}
