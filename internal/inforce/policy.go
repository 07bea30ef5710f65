// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inforce

import (
	"bytes"
	"errors"
	"io"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/acme/platform-operator/config/policy"
	"github.com/acme/platform-operator/internal/names"
)

// Policy is an admission policy with its bindings, by name, as this version of the operator ships it.
type Policy struct {
	// Name is the name that it has in every installation.
	Name string

	spec     admissionregistrationv1.ValidatingAdmissionPolicySpec
	bindings map[string]admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec
}

// Parse reads one policy with its bindings from YAML. It has the names that policies have before kustomize adds the operator's to
// them.
func Parse(text []byte) (Policy, error) {
	const prefix = names.Operator + "-"
	p := Policy{bindings: map[string]admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{}}
	for d := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var u map[string]any
		err := d.Decode(&u)
		switch {
		case errors.Is(err, io.EOF):
			return p, nil
		case err != nil:
			return p, err
		}
		if u["kind"] == "ValidatingAdmissionPolicy" {
			v := &admissionregistrationv1.ValidatingAdmissionPolicy{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u, v); err != nil {
				return p, err
			}
			p.Name, p.spec = prefix+v.Name, v.Spec
			continue
		}
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u, binding); err != nil {
			return p, err
		}
		binding.Spec.PolicyName = prefix + binding.Spec.PolicyName
		p.bindings[prefix+binding.Name] = binding.Spec
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
		unfold(out)
		return out
	}
	return equality.Semantic.DeepEqual(defaulted(a), defaulted(b))
}

// unfold puts each expression on one line.
func unfold(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
	line := func(text *string) { *text = policy.OneLine(*text) }
	for i := range s.Validations {
		line(&s.Validations[i].Expression)
		line(&s.Validations[i].MessageExpression)
	}
	for i := range s.Variables {
		line(&s.Variables[i].Expression)
	}
	for i := range s.MatchConditions {
		line(&s.MatchConditions[i].Expression)
	}
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
