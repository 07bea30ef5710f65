// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"sync"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var overrulings int

// Overrule has admission change, for the rest of the spec, the objects of a resource for which a condition holds. Condition
// and change are expressions in CEL, the latter a list of JSONPatch. It returns once the API server does so with the probe,
// which is not stored; the function that it gives ends it, and returns once the API server has stopped.
func Overrule(group, resource, condition, change string, probe client.Object) (end func()) {
	ginkgo.GinkgoHelper()
	overrulings++
	name := fmt.Sprintf("overrule-%d", overrulings)
	policy := Create(&admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}},
				},
			}}},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "these", Expression: condition}},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: change},
			}, {
				PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{
					Expression: fmt.Sprintf("Object{metadata: Object.metadata{annotations: {'overruled-by': '%s'}}}", name),
				},
			}},
		},
	})
	binding := Create(&admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	})
	inForce := func() bool {
		stored := probe.DeepCopyObject().(client.Object)
		return Admin.Create(ctx, stored, client.DryRunAll) == nil && stored.GetAnnotations()["overruled-by"] == name
	}
	end = sync.OnceFunc(func() {
		Remove(binding)
		Remove(policy)
		gomega.Eventually(inForce).Should(gomega.BeFalse())
	})
	ginkgo.DeferCleanup(func() { end() })
	gomega.Eventually(inForce).Should(gomega.BeTrue())
	return end
}
