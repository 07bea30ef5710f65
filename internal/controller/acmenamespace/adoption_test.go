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
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

func bound(namespace, name, role string, who ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role},
		Subjects:   who,
	}
}

var _ = Describe("What an AcmeNamespace finds and leaves alone", Ordered, ContinueOnFailure, func() {
	var op *Operator
	BeforeAll(func() { op = StartOperator() })

	furnished := func(name string) *corev1.Namespace {
		GinkgoHelper()
		ns := bareNamespace("app-" + name)
		ns.Labels["pod-security.kubernetes.io/enforce-version"] = "v1.20"
		Create(ns)
		at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns.Name, Name: name} }
		for _, o := range []client.Object{
			bound(ns.Name, "backdoor", "admin", person("mallory")),
			bound(ns.Name, "namespace-admin", "admin", person("mallory")),
			&networkingv1.NetworkPolicy{ObjectMeta: at("open"), Spec: networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{}}}},
			&networkingv1.NetworkPolicy{ObjectMeta: at("closed")},
			&corev1.ResourceQuota{ObjectMeta: at("theirs")},
			&corev1.LimitRange{ObjectMeta: at("theirs")},
		} {
			Create(o)
		}
		return ns
	}
	const items = `RoleBinding "backdoor" gives ClusterRole "admin" to User "mallory"; NetworkPolicy "open" lets traffic in from anywhere; ` +
		`the Namespace's label pod-security.kubernetes.io/enforce-version is "v1.20"; ResourceQuota "theirs" limits the namespace as well; ` +
		`LimitRange "theirs" sets defaults and limits as well`
	report := func(n *v1alpha1.AcmeNamespace) *v1alpha1.Findings {
		GinkgoHelper()
		Expect(Reload(n)).To(Succeed())
		return n.Status.Adopted
	}
	want := &v1alpha1.Findings{Count: 5, Items: []string{
		`RoleBinding "backdoor" gives ClusterRole "admin" to User "mallory"`,
		`NetworkPolicy "open" lets traffic in from anywhere`,
		`the Namespace's label pod-security.kubernetes.io/enforce-version is "v1.20"`,
		`ResourceQuota "theirs" limits the namespace as well`,
		`LimitRange "theirs" sets defaults and limits as well`,
	}}

	It("is in its status and an event when it adopts", func() {
		ns := furnished("found")
		n := created(team("found", adopting))
		Expect(report(n)).To(Equal(want))
		Eventually(EventsOf(n)).Should(ContainElement(`Warning Adopted: the adopted Namespace "app-found" contains 5 objects and labels that guardrails do not cover; ` +
			"they were left alone, review them: " + items))

		By("the namespace being created again")
		Remove(ns)
		Eventually(func(g Gomega) {
			now := &corev1.Namespace{}
			g.Expect(Admin.Get(ctx, client.ObjectKeyFromObject(ns), now)).To(Succeed())
			g.Expect(now.UID).NotTo(Equal(ns.UID))
		}).Should(Succeed())
		AwaitReady(n)
		Expect(report(n)).To(BeNil())
	})

	It("is nothing in a namespace of its own", func() {
		n := created(team("found-nothing"))
		Expect(report(n)).To(BeNil())
		Expect(n.Status.Administrators).To(Equal([]string{"User sam"}))
		Expect(EventsOf(n)()).NotTo(ContainElement(ContainSubstring("Adopted")))
	})

	It("is reported whenever the operator is killed meanwhile", func() {
		const most = 20
		var all []*v1alpha1.AcmeNamespace
		var faults []*testenv.Injected
		for i := range most {
			furnished(fmt.Sprintf("found-%d", i))
			n := team(fmt.Sprintf("found-%d", i), adopting)
			faults = append(faults, op.Wire.Inject(testenv.Fault{First: i + 1, Match: func(w testenv.Write) bool {
				return w.For(n.Name) || w.For(n.Spec.NamespaceName)
			}}))
			Create(n)
			all = append(all, n)
		}
		for i, n := range all {
			Eventually(func() bool { return faults[i].Tripped() > 0 || Ready(n)() == "True Ready" }).Should(BeTrue())
		}
		Expect(faults[most-1].Tripped()).To(BeZero(), "there are more writes than faults")
		op.Stop()
		op.Wire.Heal()
		op.Start()
		for _, n := range all {
			AwaitReady(n)
			Expect(report(n)).To(Equal(want), n.Name)
		}
	})

	It("is bounded, however much there is", func() {
		ns := Create(bareNamespace("app-found-many"))
		for i := range 45 {
			Create(bound(ns.Name, fmt.Sprintf("b-%02d", i), "view", person("kim")))
		}
		n := created(team("found-many", adopting))
		Expect(report(n).Count).To(BeEquivalentTo(45))
		Expect(n.Status.Adopted.Items).To(HaveLen(10))
		Eventually(EventsOf(n)).Should(ContainElement(HaveSuffix("; and 35 more")))
	})

	It("includes, when administrators change, what names the former ones", func() {
		n := created(team("former", func(s *v1alpha1.AcmeNamespaceSpec) { s.AdminGroups = []string{"ops"} }))
		ns := n.Spec.NamespaceName
		Create(bound(ns, "a-robot", "edit", rbacv1.Subject{Kind: "ServiceAccount", Namespace: ns, Name: "robot"}))
		Create(bound(ns, "his", "admin", person("sam")))
		Expect(n.Status.Administrators).To(Equal([]string{"User sam", "Group ops"}))
		Expect(n.Status.FormerAdministrators).To(BeNil())

		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.AdminUsername = "kim" })
		AwaitReady(n)
		Expect(n.Status.Administrators).To(Equal([]string{"User kim", "Group ops"}))
		Expect(n.Status.FormerAdministrators).To(Equal(&v1alpha1.Findings{Count: 2, Items: []string{
			`RoleBinding "his" gives ClusterRole "admin" to User "sam", a former administrator among them`,
			`RoleBinding "a-robot" gives ClusterRole "edit" to ServiceAccount "app-former/robot"`,
		}}))
		Eventually(EventsOf(n)).Should(ContainElement(HavePrefix("Warning AdministratorsChanged: 2 RoleBindings other than namespace-admin were left alone, " +
			`1 of them name a former administrator; delete those that should go: RoleBinding "his" gives`)))

		By("the operator being down while they change again, and killed when it has changed the binding")
		op.Stop()
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.AdminUsername = "lee" })
		Create(bound(ns, "hers", "admin", person("kim")))
		fault := op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool { return w.For("former") }})
		op.Start()
		Eventually(func() []rbacv1.Subject { return bindingOf(n).Subjects }).Should(ContainElement(person("lee")))
		Eventually(fault.Tripped).Should(BeNumerically(">", 0))
		op.Stop()
		op.Wire.Heal()
		op.Start()
		AwaitReady(n)
		Expect(n.Status.FormerAdministrators.Items[0]).To(HavePrefix(`RoleBinding "hers"`))

		By("a group that joins them: none is former")
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.AdminGroups = append(n.Spec.AdminGroups, "more") })
		AwaitReady(n)
		Expect(n.Status.Administrators).To(Equal([]string{"User lee", "Group ops", "Group more"}))
	})

	It("does not include the annotation with the last owner: it is obsolete once the namespace is owned again", func() {
		n := created(team("noted", retained))
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		Expect(namespaceOf(n).Annotations).To(HaveKeyWithValue(annotationReleased, "noted"))
		heir := created(team("noted-heir", adopting, inNamespace(n.Spec.NamespaceName)))
		Eventually(func() map[string]string { return namespaceOf(heir).Annotations }).ShouldNot(HaveKey(annotationReleased))

		By("the loss of the new owner: the one before it has no claim")
		op.Stop()
		lose(heir)
		again := team("noted", retained)
		Create(again)
		op.Start()
		Eventually(Ready(again)).Should(Equal("False NameTaken"))
	})
})
