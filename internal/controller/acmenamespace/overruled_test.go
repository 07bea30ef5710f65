// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A guardrail that admission of the cluster changes", func() {
	It("is named, with the field, and the namespace is not ready", func() {
		release := Overrule("", "namespaces", "object.metadata.name in ['app-overruled', 'overruled-probe']",
			`[JSONPatch{op: "add", path: "/metadata/labels/pod-security.kubernetes.io~1enforce", value: "privileged"}]`,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "overruled-probe", Labels: map[string]string{"a": "b"}}})
		StartOperator()
		n := Create(team("overruled"))
		Eventually(Ready(n)).Should(Equal("False ChildOverruled"))
		Expect(Condition(n, engine.Stalled)()).To(Equal("True ChildOverruled"))
		Expect(Message(n, "Composed")).To(ContainSubstring("Namespace app-overruled differs from what was sent"))
		Expect(Message(n, "Composed")).To(ContainSubstring("changes metadata.labels[pod-security.kubernetes.io/enforce]. "))
		Expect(bindingOf(n).Subjects).To(HaveLen(1), "the others are made")

		release()
		Annotate(namespaceOf(n), "by", "somebody else")
		AwaitReady(n)
		Expect(namespaceOf(n).Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "baseline"))
	})

	It("is named when it is a rule of the Role", func() {
		Overrule("rbac.authorization.k8s.io", "roles", "object.metadata.name == 'namespace-admin' && object.metadata.namespace in ['app-extended', 'default']",
			`[JSONPatch{op: "replace", path: "/rules/0/verbs/0", value: "*"}]`,
			&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "namespace-admin"}, Rules: []rbacv1.PolicyRule{allow("", "pods", "get")}})
		StartOperator()
		n := Create(team("extended"))
		Eventually(Ready(n)).Should(Equal("False ChildOverruled"))
		Expect(Message(n, "Composed")).To(And(ContainSubstring("Role app-extended/namespace-admin differs from what was sent"), ContainSubstring("changes rules[0].verbs[0]. ")))
	})

	It("is not one whose amounts the API server rounds, or derives from each other", func() {
		StartOperator()
		tier := Create(tierObject("stg", v1alpha1.DeploymentTierSpec{
			Quota: amounts("requests.nvidia.com/gpu", "1", "cpu", "10.0005"),
			LimitRange: &v1alpha1.ContainerLimits{
				Default: amounts("cpu", "2", "memory", "0.0001"), Max: amounts("ephemeral-storage", "1Gi", "cpu", "4"),
			},
		}))
		DeferCleanup(func() { Remove(tier) })
		n := created(team("derived", func(s *v1alpha1.AcmeNamespaceSpec) { s.DeploymentTier = "stg" }))
		limits := in(n.Spec.NamespaceName, "defaults", &corev1.LimitRange{}).Spec.Limits[0]
		Expect(limits.Default).To(HaveLen(3), "%v", limits)
		Expect(limits.DefaultRequest).To(HaveLen(3), "%v", limits)
	})
})
