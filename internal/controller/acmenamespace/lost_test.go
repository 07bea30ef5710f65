// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const annotationUnreported = "tenancy.acme.com/unreported-releases"

func prod(s *v1alpha1.AcmeNamespaceSpec) { s.DeploymentTier = "prod" }

// lose has an AcmeNamespace disappear without its finalizer. The operator must not run, or it would put that back.
func lose(n *v1alpha1.AcmeNamespace) {
	GinkgoHelper()
	Patch(n, `{"metadata":{"finalizers":null}}`)
	Remove(n)
	Eventually(Gone(n)).Should(Succeed())
}

// ids are the ids of releases, each once.
func ids(releases []billing.Release) []string {
	var all []string
	seen := map[string]bool{}
	for _, r := range releases {
		if !seen[r.ID] {
			all = append(all, r.ID)
		}
		seen[r.ID] = true
	}
	return all
}

var _ = Describe("An AcmeNamespace that has lost its finalizer", Ordered, ContinueOnFailure, func() {
	var (
		op     *Operator
		billed *ledger
	)
	BeforeAll(func() {
		billed = &ledger{}
		op = StartOperator(Configured("acmeNamespace: {billing: {retryMax: 1s}}"), func(o *operator.Options) { o.Ledger = billed })
	})

	// lost is an AcmeNamespace that is gone without its finalizer, with the operator stopped.
	lost := func(name string, with ...func(*v1alpha1.AcmeNamespaceSpec)) (*v1alpha1.AcmeNamespace, *corev1.Namespace) {
		GinkgoHelper()
		n := created(team(name, with...))
		ns := namespaceOf(n)
		op.Stop()
		lose(n)
		return n, ns
	}
	stays := func(ns *corev1.Namespace, owner types.UID) {
		GinkgoHelper()
		Consistently(func(g Gomega) {
			g.Expect(Reload(ns)).To(Succeed())
			g.Expect(ns.DeletionTimestamp).To(BeNil())
			g.Expect(ns.Labels).To(HaveKeyWithValue(labelOwnerUID, string(owner)))
		}).Should(Succeed())
	}

	It("has it set again at once", func() {
		n := created(team("lost-back"))
		Patch(n, `{"metadata":{"finalizers":null}}`)
		Eventually(func() []string { _ = Reload(n); return n.Finalizers }).Should(Equal([]string{finalizer}))
	})

	It("is not considered gone by one that finds its own mark overwritten", func() {
		n := created(team("lost-mark"))
		ns := namespaceOf(n)
		for range 3 {
			Patch(ns, `{"metadata":{"labels":{"`+labelOwnerUID+`":"22222222-2222-2222-2222-222222222222"}}}`)
			Eventually(func() map[string]string { _ = Reload(ns); return ns.Labels }).Should(HaveKeyWithValue(labelOwnerUID, string(n.UID)))
			Poke(n)
			AwaitRun(n)
		}
		Consistently(billed.Of(n)).Should(BeEmpty())
		Expect(namespaceOf(n).Annotations).NotTo(HaveKey(annotationUnreported))
	})

	It("leaves its namespace with everything in it, also when one of its name requests another namespace", func() {
		n, ns := lost("lost", prod)
		precious := Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "precious"}})
		again := team("lost", prod, inNamespace("app-lost-new"))
		Create(again)
		op.Start()
		AwaitReady(again)
		stays(ns, n.UID)
		Expect(Reload(precious)).To(Succeed())
		for _, o := range guardrails(ns.Name)[1:] {
			Expect(Reload(o)).To(Succeed())
			Expect(o.GetDeletionTimestamp()).To(BeNil())
			Expect(o.GetLabels()).To(HaveKeyWithValue(labelOwnerUID, string(n.UID)))
		}
		Expect(billed.Of(n)()).To(BeEmpty(), "its namespace is not adopted")

		By("another one that adopts what it has left: its release is reported to billing")
		heir := created(team("lost-heir", adopting, inNamespace(ns.Name)))
		Expect(namespaceOf(heir).UID).To(Equal(ns.UID))
		Eventually(billed.Of(n)).ShouldNot(BeEmpty())
		first := billed.Of(n)()[0]
		Expect(first.At).To(BeTemporally("~", time.Now(), time.Minute))
		first.At = time.Time{}
		Expect(first).To(Equal(billing.Release{ID: string(n.UID), Name: "lost", Namespace: ns.Name, Tier: "prod", Admin: "sam"}))
		Eventually(func() map[string]string { return namespaceOf(heir).Annotations }).ShouldNot(HaveKey(annotationUnreported))
		Expect(billed.Of(heir)()).To(BeEmpty())

		By("the deletion of the one with its name: that does not touch what belongs to the new owner")
		Change(again, func(n *v1alpha1.AcmeNamespace) { n.Spec.DeletionPolicy = v1alpha1.DeletionDelete })
		Remove(again)
		Eventually(Gone(again)).Should(Succeed())
		stays(ns, heir.UID)
		Expect(ids(billed.Of(n)())).To(ConsistOf(string(n.UID), string(again.UID)))
	})

	It("and is created again for the same namespace, has it again; the release of the former one is reported", func() {
		n, ns := lost("lost-same")
		again := team("lost-same")
		Create(again)
		op.Start()
		AwaitReady(again)
		stays(ns, again.UID)
		Eventually(func() []string { return ids(billed.Of(n)()) }).Should(ConsistOf(string(n.UID)))
		Eventually(func() map[string]string { return namespaceOf(again).Annotations }).ShouldNot(HaveKey(annotationUnreported))
		Eventually(Ready(again)).Should(Equal("True Ready"))
		Expect(again.Status.DeletionPolicy).To(Equal(v1alpha1.DeletionRetain), "it has not made it")
	})

	It("and is created again only to be deleted, deletes nothing that it never had", func() {
		n, ns := lost("lost-brief")
		brief := team("lost-brief")
		brief.Finalizers = []string{finalizer}
		Create(brief)
		Remove(brief)
		op.Start()
		Eventually(Gone(brief)).Should(Succeed())
		stays(ns, n.UID)
		Expect(billed.Of(n)()).To(BeEmpty())
	})

	It("is recorded while billing is down, over restarts and the loss of the next owner", func() {
		billed.answer(errBilling)
		DeferCleanup(func() { billed.answer(nil) })
		n, ns := lost("lost-deaf")
		heir := team("lost-deaf-heir", adopting, inNamespace(ns.Name))
		Create(heir)
		op.Start()
		Eventually(Ready(heir)).Should(Equal("True ReleaseUnreported"))
		Eventually(func() string { _ = Reload(heir); return Message(heir, "Composed") }).Should(Equal(fmt.Sprintf(
			`the Namespace "app-lost-deaf" has all guardrails, with the Pod Security level baseline, which all pods meet. The release of the former AcmeNamespace lost-deaf (UID %s) is not reported to billing yet: `+
				`its configuration does not work; the operator's log has the details. This is retried at least every 1s; `+
				`to skip the report, set the annotation tenancy.acme.com/skip-billing: "true"`, n.UID)))

		By("the loss of the next owner as well")
		op.Stop()
		lose(heir)
		last := team("lost-deaf-last", adopting, inNamespace(ns.Name), retained)
		Create(last)
		op.Start()
		Eventually(Ready(last)).Should(Equal("True ReleaseUnreported"))
		Eventually(func() int { return len(billed.Of(n)()) }).Should(BeNumerically(">", 3))
		Expect(billed.Of(last)()).To(BeEmpty())

		By("billing that is up again")
		billed.answer(nil)
		Eventually(Ready(last)).Should(Equal("True Ready"))
		Expect(ids(billed.Of(heir)())).To(ConsistOf(string(heir.UID)))
		Expect(billed.Of(n)()).To(HaveEach(billed.Of(n)()[0]), "every try is the same")
		Expect(namespaceOf(last).Annotations).NotTo(HaveKey(annotationUnreported))
	})

	It("is reported with the deletion of the next one at the latest, and before it", func() {
		billed.answer(errBilling)
		DeferCleanup(func() { billed.answer(nil) })
		n, ns := lost("lost-end")
		heir := team("lost-end-heir", adopting, inNamespace(ns.Name), retained)
		Create(heir)
		op.Start()
		Eventually(Ready(heir)).Should(Equal("True ReleaseUnreported"))
		Remove(heir)
		Eventually(Condition(heir, "BillingReleased")).Should(Equal("False BillingFailed"))
		billed.answer(nil)
		Eventually(Gone(heir)).Should(Succeed())
		Expect(ids(billed.Of(n)())).To(ConsistOf(string(n.UID)))
		Expect(ids(billed.Of(heir)())).To(ConsistOf(string(heir.UID)))
	})

	It("is not reported as gone by those who forge its marks on a namespace that is adopted", func() {
		victim := created(team("lost-not", retained))
		forged := bareNamespace("app-lost-forged")
		forged.Labels[labelOwnerUID] = string(victim.UID)
		forged.Annotations = map[string]string{
			annotationOwner:      "acmenamespace/elsewhere",
			annotationUnreported: fmt.Sprintf(`[{"uid":%q,"name":"lost-not","at":"2026-01-05T09:00:00Z"},{"uid":""}]`, victim.UID),
		}
		Create(forged)
		n := created(team("lost-forger", adopting, inNamespace(forged.Name), retained))
		Eventually(func() map[string]string { return namespaceOf(n).Annotations }).ShouldNot(HaveKey(annotationUnreported))
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		Expect(billed.Of(victim)()).To(BeEmpty())
	})

	It("is dropped from the record when no billing is configured", func() {
		billed.answer(errBilling)
		DeferCleanup(func() { billed.answer(nil) })
		_, ns := lost("lost-skip")
		heir := team("lost-skip-heir", adopting, inNamespace(ns.Name), retained)
		Create(heir)
		op.Start()
		Eventually(Ready(heir)).Should(Equal("True ReleaseUnreported"))
		Change(heir, skipBilling)
		Eventually(Ready(heir)).Should(Equal("True Ready"))
		Expect(namespaceOf(heir).Annotations).NotTo(HaveKey(annotationUnreported))
	})

	// The n-th of the objects loses the operator at its n-th write, and with it the answer of billing if there was one.
	It("is reported once more at most, whenever the operator is killed", func() {
		const most = 18
		var former, heirs []*v1alpha1.AcmeNamespace
		for i := range most {
			former = append(former, created(team(fmt.Sprintf("lost-kill-%d", i))))
		}
		op.Stop()
		var faults []*testenv.Injected
		for i, n := range former {
			lose(n)
			heir := team(fmt.Sprintf("lost-kill-heir-%d", i), adopting, inNamespace(n.Spec.NamespaceName))
			Create(heir)
			heirs = append(heirs, heir)
			faults = append(faults, op.Wire.Inject(testenv.Fault{First: i + 1, Match: func(w testenv.Write) bool {
				return w.For(heir.Name) || w.For(heir.Spec.NamespaceName)
			}}))
		}
		op.Start()
		for i, heir := range heirs {
			Eventually(func(g Gomega) {
				g.Expect(faults[i].Tripped() > 0 || Ready(heir)() == "True Ready").To(BeTrue())
			}).Should(Succeed())
		}
		Expect(faults[most-1].Tripped()).To(BeZero(), "there are more writes than faults")
		op.Stop()
		op.Wire.Heal()
		op.Start()
		for i, heir := range heirs {
			Eventually(Ready(heir)).Should(Equal("True Ready"))
			Eventually(billed.Of(former[i])).ShouldNot(BeEmpty())
			Expect(billed.Of(former[i])()).To(HaveEach(billed.Of(former[i])()[0]))
			Expect(billed.Of(former[i])()[0].ID).To(BeEquivalentTo(former[i].UID))
			ns := namespaceOf(heir)
			Expect(ns.Labels).To(HaveKeyWithValue(labelOwnerUID, string(heir.UID)))
			Expect(heir.Status.DeletionPolicy).To(Equal(v1alpha1.DeletionRetain), "whenever the operator was killed")
			Eventually(func() map[string]string { return namespaceOf(heir).Annotations }).ShouldNot(HaveKey(annotationUnreported))
		}
	})
})
