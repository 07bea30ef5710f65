// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/tenancy"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

func retained(s *v1alpha1.AcmeNamespaceSpec) { s.DeletionPolicy = v1alpha1.DeletionRetain }

// guardrails are the objects that are made in the namespace of an AcmeNamespace of the tier dev.
func guardrails(namespace string) []client.Object {
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	return []client.Object{
		&corev1.ResourceQuota{ObjectMeta: at("dev")}, &corev1.LimitRange{ObjectMeta: at("defaults")},
		&rbacv1.Role{ObjectMeta: at("namespace-admin")}, &rbacv1.RoleBinding{ObjectMeta: at("namespace-admin")},
		&networkingv1.NetworkPolicy{ObjectMeta: at("tenant-isolation")},
	}
}

// quotas lists the names of the ResourceQuotas of a namespace, but for the one that bounds priority classes.
func quotas(namespace string) []string {
	list := &corev1.ResourceQuotaList{}
	Expect(Admin.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	var all []string
	for _, q := range list.Items {
		if q.Name != tenancy.PriorityQuotaName {
			all = append(all, q.Name)
		}
	}
	return all
}

var _ = Describe("The end of an AcmeNamespace", Ordered, ContinueOnFailure, func() {
	var op *Operator
	BeforeAll(func() { op = StartOperator() })

	It("with the policy Delete deletes the namespace, however much of it was created", func() {
		none := op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool { return w.For("app-end-none") }})
		half := op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool { return w.For("app-end-half") && w.Path != "namespaces/app-end-half" }})
		all := []*v1alpha1.AcmeNamespace{created(team("end-delete")), team("end-none"), team("end-half")}
		for _, n := range all[1:] {
			Create(n)
			Eventually(Condition(n, "Composed")).Should(HavePrefix("False"))
		}
		for _, n := range all {
			Remove(n)
		}
		for _, n := range all {
			Eventually(Gone(n)).Should(Succeed())
			Expect(Gone(bareNamespace(n.Spec.NamespaceName))()).To(Succeed())
		}
		Expect(half.Tripped()).To(BeNumerically(">", 0))
		none.Heal()
		half.Heal()
	})

	It("with the policy Retain leaves the namespace with all in it, without our marks", func() {
		n := created(team("end-retain", retained))
		ns := namespaceOf(n)
		precious := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "precious"}}
		Create(precious)
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		Expect(Reload(precious)).To(Succeed())
		for _, o := range append(guardrails(ns.Name), ns) {
			Expect(Reload(o)).To(Succeed())
			Expect(o.GetDeletionTimestamp()).To(BeNil())
			Expect(o.GetLabels()).NotTo(Or(HaveKey(labelOwnerUID), HaveKey(labelManagedBy)))
			Expect(o.GetAnnotations()).NotTo(HaveKey(annotationOwner))
		}
		Expect(ns.Annotations).To(HaveKeyWithValue(annotationReleased, "end-retain"))
		Expect(ns.Labels).To(HaveKeyWithValue("admin", "sam"))

		By("being created again: the same namespace is reclaimed, without spec.adopt")
		again := created(team("end-retain", retained))
		Expect(again.UID).NotTo(Equal(n.UID))
		Expect(namespaceOf(again).UID).To(Equal(ns.UID))
		for _, o := range append(guardrails(ns.Name), ns) {
			Expect(Reload(o)).To(Succeed())
			Expect(o.GetLabels()).To(HaveKeyWithValue(labelOwnerUID, string(again.UID)))
		}
	})

	It("deletes no namespace that existed before it, unless its policy is Delete", func() {
		staysAfter := func(n *v1alpha1.AcmeNamespace, ns *corev1.Namespace) {
			GinkgoHelper()
			Expect(n.Spec.DeletionPolicy).To(BeEmpty())
			Expect(n.Status.DeletionPolicy).To(Equal(v1alpha1.DeletionRetain))
			Remove(n)
			Eventually(Gone(n)).Should(Succeed())
			Expect(Reload(ns)).To(Succeed())
			Expect(ns.DeletionTimestamp).To(BeNil())
		}
		n := created(team("end-found", prod))
		ns := namespaceOf(n)
		staysAfter(n, ns)

		By("one of the same name in dev, which owns again what was retained")
		again := created(team("end-found"))
		Eventually(EventsOf(again)).Should(ContainElement(HavePrefix("Normal Adopting: ")))
		op.Restart()
		staysAfter(again, ns)

		By("one that adopts it")
		staysAfter(created(team("end-finder", adopting, inNamespace(ns.Name))), ns)

		By("one with the policy Delete")
		last := created(team("end-last", adopting, inNamespace(ns.Name)))
		Change(last, func(n *v1alpha1.AcmeNamespace) { n.Spec.DeletionPolicy = v1alpha1.DeletionDelete })
		Remove(last)
		Eventually(Gone(last)).Should(Succeed())
		Eventually(Gone(ns)).Should(Succeed())

		By("one that creates it: that is its own")
		own := created(team("end-found"))
		Expect(own.Status.DeletionPolicy).To(Equal(v1alpha1.DeletionDelete))
		Expect(EventsOf(own)()).NotTo(ContainElement(HavePrefix("Normal Adopting: ")))
	})

	It("leaves guardrails that do not bind an AcmeNamespace of the same name and another tier", func() {
		tier := tierObject("stg", v1alpha1.DeploymentTierSpec{Network: &v1alpha1.NetworkRules{Isolation: v1alpha1.IsolationNone}})
		Create(tier)
		DeferCleanup(func() { Remove(tier) })
		n := created(team("end-tier", retained))
		ns := n.Spec.NamespaceName
		theirs := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "theirs"}}
		Create(theirs)
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		created(team("end-tier", func(s *v1alpha1.AcmeNamespaceSpec) { s.DeploymentTier = "stg" }))
		Eventually(quotas).WithArguments(ns).Should(ConsistOf("stg", "theirs"))
		Eventually(Gone(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tenant-isolation"}})).Should(Succeed())
		Consistently(quotas).WithArguments(ns).Should(ConsistOf("stg", "theirs"))
	})

	It("lets no other AcmeNamespace have a retained namespace without spec.adopt", func() {
		n := created(team("end-other", retained))
		ns := namespaceOf(n)
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		heir := team("end-heir", inNamespace(ns.Name))
		Create(heir)
		Eventually(Ready(heir)).Should(Equal("False NameTaken"))
		Change(heir, func(n *v1alpha1.AcmeNamespace) { n.Spec.Adopt = true })
		AwaitReady(heir)
		Expect(namespaceOf(heir).UID).To(Equal(ns.UID))
		Expect(namespaceOf(heir).Annotations).To(HaveKeyWithValue(annotationOwner, "acmenamespace/end-heir"))

		By("the first one being created again")
		back := team("end-other", inNamespace(ns.Name))
		Create(back)
		Eventually(Ready(back)).Should(Equal("False NameTaken"))
	})

	It("follows the policy of the moment of its deletion", func() {
		n := created(team("end-late"))
		ns := namespaceOf(n)
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.DeploymentTier = "prod" })
		AwaitReady(n)
		Expect(n.Status.DeletionPolicy).To(Equal(v1alpha1.DeletionRetain))
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		Consistently(func(g Gomega) {
			g.Expect(Reload(ns)).To(Succeed())
			g.Expect(ns.DeletionTimestamp).To(BeNil())
		}).Should(Succeed())
	})

	It("keeps a recorded Retain when the tier changes, also while the webhook is down", func() {
		n := created(team("end-demoted", prod))
		Expect(n.Status.DeletionPolicy).To(Equal(v1alpha1.DeletionRetain))
		Expect(n.Spec.DeletionPolicy).To(BeEmpty(), "there is no webhook to write it down")
		ns := namespaceOf(n)
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.DeploymentTier = "dev" })
		AwaitReady(n)
		Expect(n.Status.DeletionPolicy).To(Equal(v1alpha1.DeletionRetain))
		op.Restart()
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		Consistently(func(g Gomega) {
			g.Expect(Reload(ns)).To(Succeed())
			g.Expect(ns.DeletionTimestamp).To(BeNil())
		}).Should(Succeed())
	})

	It("reports what keeps the namespace, and blocks no other object", func() {
		n := created(team("end-stuck"))
		stuck := Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: n.Spec.NamespaceName, Name: "stuck", Finalizers: []string{"tenant.example.com/stuck"},
		}})
		Remove(n)
		Eventually(func(g Gomega) {
			g.Expect(Condition(n, "NamespaceReleased")()).To(Equal("False NamespaceTerminating"))
			g.Expect(Message(n, "NamespaceReleased")).To(And(
				HavePrefix(`the Namespace "app-end-stuck" is being deleted with everything in it. `),
				ContainSubstring("NamespaceContentRemaining: Some resources are remaining: configmaps. has 1 resource instances"),
				ContainSubstring("NamespaceFinalizersRemaining: Some content in the namespace has finalizers remaining: tenant.example.com/stuck in 1 resource instances"),
				HaveSuffix(". A finalizer is removed by the controller that set it; if that is gone, remove it from the object by hand")))
		}).Should(Succeed())
		Expect(Message(n, "Ready")).To(ContainSubstring("tenant.example.com/stuck"))

		By("another one's deletion, and one that requests the name")
		other := created(team("end-free"))
		Remove(other)
		Eventually(Gone(other)).Should(Succeed())
		next := team("end-stuck-next", inNamespace(n.Spec.NamespaceName), adopting)
		Create(next)
		Eventually(Ready(next)).Should(HavePrefix("False Name"))

		Patch(stuck, `{"metadata":{"finalizers":null}}`)
		Eventually(Gone(n)).Should(Succeed())
		AwaitReady(next)
	})

	It("reports what keeps the namespace when that is a finalizer of its own", func() {
		n := created(team("end-held"))
		ns := namespaceOf(n)
		Patch(ns, `{"metadata":{"finalizers":["tenant.example.com/hold"]}}`)
		Remove(n)
		Eventually(func() string {
			_ = Condition(n, "NamespaceReleased")()
			return Message(n, "Ready")
		}).Should(ContainSubstring("The Namespace itself has the finalizers tenant.example.com/hold"))
		Patch(ns, `{"metadata":{"finalizers":null}}`)
		Eventually(Gone(n)).Should(Succeed())
	})

	It("removes the marks when one of them is missing", func() {
		n := created(team("end-drift", retained))
		op.Stop()
		Change(namespaceOf(n), func(ns *corev1.Namespace) { delete(ns.Labels, labelOwnerUID) })
		Remove(n)
		op.Start()
		Eventually(Gone(n)).Should(Succeed())
		ns := bareNamespace(n.Spec.NamespaceName)
		Expect(Reload(ns)).To(Succeed())
		Expect(ns.Annotations).NotTo(HaveKey(annotationOwner))
		Expect(ns.Annotations).To(HaveKeyWithValue(annotationReleased, "end-drift"))
		Expect(ns.Labels).NotTo(HaveKey(labelManagedBy))
	})
})

var _ = Describe("The loss of the CustomResourceDefinition", Ordered, ContinueOnFailure, func() {
	var op *Operator
	BeforeAll(func() { op = StartOperator() })

	crds := func() envtest.CRDInstallOptions {
		return envtest.CRDInstallOptions{Paths: []string{testenv.RepoFile("config", "crd", "bases", "tenancy.acme.com_acmenamespaces.yaml")}}
	}

	// forget takes the finalizers off by force, as a desperate person does.
	forget := func() {
		list := &v1alpha1.AcmeNamespaceList{}
		if err := Admin.List(ctx, list); err != nil {
			return // the kind is gone, with all of its objects
		}
		for _, n := range list.Items {
			_ = Admin.Patch(ctx, &n, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		}
	}

	It("loses no namespace, whatever its policy, when the finalizers are removed by force", func() {
		kept := map[string]types.UID{}
		promoted := created(team("crd-promoted"))
		for _, n := range []*v1alpha1.AcmeNamespace{team("crd-keep", retained), team("crd-delete")} {
			kept[n.Name] = namespaceOf(created(n)).UID
		}
		op.Stop()
		Expect(envtest.UninstallCRDs(Plane.Config, crds())).To(Succeed())
		Eventually(func() error {
			forget()
			return Admin.List(ctx, &v1alpha1.AcmeNamespaceList{})
		}).Should(MatchError(ContainSubstring("the server could not find the requested resource")))

		_, err := envtest.InstallCRDs(Plane.Config, crds())
		Expect(err).NotTo(HaveOccurred())
		op.Start()
		for name, uid := range kept {
			n := team(name)
			Eventually(func() error { n.ResourceVersion = ""; return Admin.Create(ctx, n) }).Should(Succeed())
			AwaitReady(n)
			ns := namespaceOf(n)
			Expect(ns.UID).To(Equal(uid))
			Expect(ns.Labels).To(HaveKeyWithValue(labelOwnerUID, string(n.UID)))
			for _, o := range guardrails(ns.Name) {
				Expect(Reload(o)).To(Succeed())
				Expect(o.GetLabels()).To(HaveKeyWithValue(labelOwnerUID, string(n.UID)))
			}
		}

		By("an AcmeNamespace that is created again with another tier: the quota of the former one is deleted")
		again := team(promoted.Name, func(s *v1alpha1.AcmeNamespaceSpec) { s.DeploymentTier = "prod" })
		created(again)
		Eventually(quotas).WithArguments(again.Spec.NamespaceName).Should(ConsistOf("prod"))
	})

	It("with the operator running is the end of each AcmeNamespace: what is to be retained remains, and is reclaimed", func() {
		keep, lose := created(team("crd-live-keep", retained)), created(team("crd-live-delete"))
		ns, lost := namespaceOf(keep), namespaceOf(lose)
		Expect(envtest.UninstallCRDs(Plane.Config, crds())).To(Succeed())
		Eventually(func() error { return Admin.List(ctx, &v1alpha1.AcmeNamespaceList{}) }).
			Should(MatchError(ContainSubstring("the server could not find the requested resource")))
		Expect(Reload(ns)).To(Succeed())
		Expect(ns.DeletionTimestamp).To(BeNil())
		Eventually(Gone(lost)).Should(Succeed())

		_, err := envtest.InstallCRDs(Plane.Config, crds())
		Expect(err).NotTo(HaveOccurred())
		again := team("crd-live-keep", retained)
		Eventually(func() error { return Admin.Create(ctx, again) }).Should(Succeed())
		AwaitReady(again)
		Expect(namespaceOf(again).UID).To(Equal(ns.UID))
	})
})
