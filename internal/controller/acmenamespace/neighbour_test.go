// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const fieldManager = "platform-operator-acmenamespace"

var _ = Describe("Tenants", Ordered, ContinueOnFailure, func() {
	BeforeAll(func() { StartOperator() })

	// forged is an object that looks in every way as if the operator had made it for an AcmeNamespace.
	forged := func(n *v1alpha1.AcmeNamespace, namespace string, o client.Object, name string) client.Object {
		GinkgoHelper()
		o.SetNamespace(namespace)
		o.SetName(name)
		o.SetLabels(map[string]string{labelManagedBy: "platform-operator", labelOwnerUID: string(n.UID)})
		o.SetAnnotations(map[string]string{annotationOwner: "acmenamespace/" + n.Name})
		gvk, err := Admin.GroupVersionKindFor(o)
		Expect(err).NotTo(HaveOccurred())
		o.GetObjectKind().SetGroupVersionKind(gvk)
		//nolint:staticcheck // A plain object is what a tenant applies.
		Expect(Admin.Patch(ctx, o, client.Apply, client.FieldOwner(fieldManager))).To(Succeed())
		return o
	}

	DescribeTable("who forge marks in their own namespace harm no other and lose nothing", func(name string, with func(*v1alpha1.AcmeNamespaceSpec)) {
		theirs := Namespace()
		n := created(team(name, with))
		var traps []client.Object
		for _, o := range []client.Object{&rbacv1.Role{}, &corev1.ResourceQuota{}, &corev1.LimitRange{}, &networkingv1.NetworkPolicy{}} {
			traps = append(traps, forged(n, theirs, o, "trap-"+name))
		}
		traps = append(traps, forged(n, theirs, &rbacv1.Role{}, "namespace-admin"))
		Poke(n)
		Consistently(Ready(n)).Should(Equal("True Ready"))
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		for _, o := range traps {
			was := o.GetResourceVersion()
			Expect(Reload(o)).To(Succeed())
			Expect(o.GetResourceVersion()).To(Equal(was), "%T %s", o, o.GetName())
		}
	},
		Entry("whose namespace is retained", "forged-retain", retained),
		Entry("whose namespace is deleted", "forged-delete", func(*v1alpha1.AcmeNamespaceSpec) {}),
	)

	It("who forge marks in the namespace that they administer cause no removal of their own objects, nor of guardrails", func() {
		n := created(team("forged-inside", retained))
		o := forged(n, n.Spec.NamespaceName, &rbacv1.Role{}, "mine")
		Poke(n)
		Consistently(Ready(n)).Should(Equal("True Ready"))
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		Expect(Reload(o)).To(Succeed())
	})

	// held deletes a guardrail that a finalizer keeps.
	held := func(o client.Object) {
		GinkgoHelper()
		Expect(Reload(o)).To(Succeed())
		Patch(o, `{"metadata":{"finalizers":["tenant.example.com/mine"]}}`)
		DeferCleanup(func() {
			_ = Admin.Patch(ctx, o, client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"finalizers":null}}`)))
		})
		Remove(o)
		Expect(Reload(o)).To(Succeed())
		Expect(o.GetDeletionTimestamp()).NotTo(BeNil())
	}

	DescribeTable("who keep a deleted guardrail by a finalizer gain no right by it", func(name string, rails ...int) {
		n := created(team(name))
		ns := n.Spec.NamespaceName
		var kept []client.Object
		for _, i := range rails {
			kept = append(kept, guardrails(ns)[i])
			held(kept[len(kept)-1])
		}
		Eventually(Condition(n, "Composed")).Should(Equal("False ChildTerminating"))
		Change(n, func(n *v1alpha1.AcmeNamespace) {
			n.Spec.AdminUsername, n.Spec.DeploymentTier, n.Spec.DeletionPolicy = "kim", "stg", v1alpha1.DeletionRetain
		})
		Eventually(func(g Gomega) {
			g.Expect(bindingOf(n).Subjects).To(ConsistOf(person("kim")))
			g.Expect(in(ns, "tenant-isolation", &networkingv1.NetworkPolicy{}).Spec.PolicyTypes).To(ContainElement(networkingv1.PolicyTypeEgress))
			stg := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "stg"}}
			g.Expect(Reload(stg)).To(Succeed())
			g.Expect(stg.Spec.Hard).To(holdAmounts("cpu", "50", "memory", "50Gi", "pods", "50"))
			g.Expect(namespaceOf(n).Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
		}).Should(Succeed())
		Eventually(Ready(n)).Should(Equal("False ChildTerminating"))

		Remove(n)
		Eventually(Gone(n)).Should(Succeed(), "they do not hold up its end either")
		Expect(namespaceOf(n).Annotations).To(HaveKeyWithValue(annotationReleased, name))
	},
		Entry("a Role", "held-role", 2),
		Entry("a RoleBinding", "held-binding", 3),
		Entry("a NetworkPolicy", "held-policy", 4),
		Entry("a LimitRange", "held-limits", 1),
		Entry("all of them", "held-all", 1, 2, 3, 4),
	)

	It("who keep the quota of their former tier by a finalizer have the new one's as well", func() {
		n := created(team("held-quota"))
		ns := n.Spec.NamespaceName
		held(guardrails(ns)[0])
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.AdminUsername, n.Spec.DeploymentTier = "kim", "prod" })
		Eventually(func(g Gomega) {
			g.Expect(bindingOf(n).Subjects).To(ConsistOf(person("kim")))
			g.Expect(quotas(ns)).To(ConsistOf("dev", "prod"))
		}).Should(Succeed())
	})

	It("who keep the Role by a finalizer get the rules that are wanted now", func() {
		n := created(team("held-rules"))
		role := in(n.Spec.NamespaceName, "namespace-admin", &rbacv1.Role{})
		held(role)
		Change(role, func(r *rbacv1.Role) {
			r.Rules = []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
		})
		Eventually(func() int { _ = Reload(role); return len(role.Rules) }).Should(BeNumerically(">", 10))
		Eventually(Condition(n, "Composed")).Should(Equal("False ChildTerminating"))
		Expect(Message(n, "Composed")).To(ContainSubstring(fmt.Sprintf("Role %s/namespace-admin is being deleted", n.Spec.NamespaceName)))
	})
})
