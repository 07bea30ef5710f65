// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// taken creates a quota of another owner, with one limit.
func taken(ns string, change func(*corev1.ResourceQuota)) *corev1.ResourceQuota {
	GinkgoHelper()
	q := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: ns},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"services": resource.MustParse("1")}},
	}
	change(q)
	Create(q)
	return q
}

// place is a Namespace as a child.
func place(name string, adopt bool) func() engine.Child {
	return func() engine.Child {
		return engine.NewChild(corev1ac.Namespace(name).WithLabels(map[string]string{"x": "y"}), corev1ac.ExtractNamespace).OrAdopt(adopt)
	}
}

var _ = Describe("Ownership", func() {
	cfg := engine.Config[*Widget]{Owns: owned}

	DescribeTable("leaves an object of the wanted name alone that belongs to somebody else",
		func(change func(*corev1.ResourceQuota), options func(*ctrl.Options)) {
			w := widget()
			foreign := taken(w.Namespace, change)
			kind := composing(quota(w.Namespace, "q", "pods", "3"))
			start(widgets(kind, cfg), options)
			Eventually(Ready(w)).Should(Equal("False NameTaken"))
			Expect(meta.IsStatusConditionTrue(w.Status.Conditions, engine.Stalled)).To(BeTrue())
			Expect(conditions(w)()).To(ContainElement(ContainSubstring("ResourceQuota " + w.Namespace + "/q exists")))
			Expect(liveQuota(w.Namespace, "q").ResourceVersion).To(Equal(foreign.ResourceVersion))

			Remove(foreign)
			Poke(w)
			AwaitReady(w)
		},
		Entry("in the cache", func(*corev1.ResourceQuota) {}, func(*ctrl.Options) {}),
		Entry("not in the cache, which selects on our mark", func(*corev1.ResourceQuota) {}, selectMarked),
		Entry("of another owner", func(q *corev1.ResourceQuota) {
			q.Labels = map[string]string{names.LabelManagedBy: names.Operator, names.LabelOwnerUID: "another"}
			q.Annotations = map[string]string{names.AnnotationOwner: "widget/elsewhere/w"}
		}, func(*ctrl.Options) {}),
		Entry("of an earlier owner of the same name, which the garbage collector is about to delete", func(q *corev1.ResourceQuota) {
			q.Labels = map[string]string{names.LabelManagedBy: names.Operator, names.LabelOwnerUID: "earlier"}
			q.Annotations = map[string]string{names.AnnotationOwner: "widget/" + q.Namespace + "/w"}
		}, func(*ctrl.Options) {}),
	)

	DescribeTable("adopts such an object with OrAdopt", func(options func(*ctrl.Options), requests int) {
		w := widget()
		foreign := taken(w.Namespace, func(*corev1.ResourceQuota) {})
		child := quota(w.Namespace, "q", "pods", "3")
		r := start(widgets(composing(func() engine.Child { return child().OrAdopt(true) }), cfg), options)
		AwaitReady(w)
		q := liveQuota(w.Namespace, "q")
		Expect(q.UID).To(Equal(foreign.UID))
		Expect(q.Labels).To(HaveKeyWithValue(names.LabelOwnerUID, string(w.UID)))
		Expect(q.Spec.Hard).To(HaveLen(2), "what was there stays")
		Expect(r.Writing("resourcequotas")).To(HaveLen(requests))
	},
		Entry("that the cache shows", func(*ctrl.Options) {}, 1),
		Entry("that the cache does not show", selectMarked, 2),
	)

	It("recognizes its own child that lost a mark while the operator was down", func() {
		w := widget()
		kind := composing(quota(w.Namespace, "q", "pods", "3"))
		first := start(widgets(kind, cfg), selectMarked)
		AwaitReady(w)
		first.stop()
		uid := liveQuota(w.Namespace, "q").UID
		Patch(liveQuota(w.Namespace, "q"), `{"metadata":{"labels":null}}`)

		second := start(widgets(kind, cfg), selectMarked)
		Eventually(func() map[string]string { return liveQuota(w.Namespace, "q").Labels }).
			Should(HaveKeyWithValue(names.LabelOwnerUID, string(w.UID)))
		Expect(liveQuota(w.Namespace, "q").UID).To(Equal(uid))
		Consistently(second.Writes).Should(Equal([]string{"APPLY resourcequotas/q", "APPLY resourcequotas/q"}),
			"refused as a creation, accepted as a change")
		Expect(Ready(w)()).To(Equal("True Ready"))
	})

	It("survives a child that is created and deleted between two requests", func() {
		w := widget()
		run := start(widgets(composing(quota(w.Namespace, "q", "pods", "3")), engine.Config[*Widget]{Owns: owned, RetryMax: 400 * time.Millisecond}), selectMarked)
		run.refuse(1, http.MethodPatch, "/resourcequotas/q", http.StatusConflict, metav1.StatusReasonConflict)
		AwaitReady(w)
		Expect(hard(w.Namespace, "q", "pods")()).To(Equal("3"))
	})

	It("waits for a namespace that is being deleted", func() {
		w := widget()
		other := Namespace()
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}}
		Remove(ns)
		kind := &recipe[*Gadget]{lever: lever{name: "Counted"}}
		kind.set(quota(other, "q", "pods", "3"))
		g := made(&Gadget{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}, Spec: Spec{Value: other}})
		start(gadgets(kind, engine.Config[*Gadget]{Owns: owned}))
		Eventually(Ready(g)).Should(Equal("False NamespaceTerminating"))
		Expect(meta.FindStatusCondition(g.Status.Conditions, engine.Stalled)).To(BeNil())
	})

	It("by marks needs no owner reference, and outlives the owner", func() {
		ns := Namespace()
		kind := &recipe[*Gadget]{lever: lever{name: "Counted", out: engine.Done()}}
		kind.set(place(ns, true), quota(ns, "q", "pods", "3"))
		r := start(gadgets(kind, engine.Config[*Gadget]{Owns: owned, Keeps: []client.Object{&corev1.Namespace{}}}))
		first := made(&Gadget{ObjectMeta: metav1.ObjectMeta{Name: ns}})
		AwaitReady(first)
		q := liveQuota(ns, "q")
		Expect(q.OwnerReferences).To(BeEmpty())
		Expect(q.Annotations).To(Equal(map[string]string{names.AnnotationOwner: "gadget/" + ns}))

		By("an owner that is created again under its name")
		Remove(first)
		second := made(&Gadget{ObjectMeta: metav1.ObjectMeta{Name: ns}})
		AwaitReady(second)
		Expect(liveQuota(ns, "q").UID).To(Equal(q.UID))
		Expect(liveQuota(ns, "q").Labels).To(HaveKeyWithValue(names.LabelOwnerUID, string(second.UID)))

		By("drift")
		r.Forget()
		Remove(liveQuota(ns, "q"))
		Eventually(hard(ns, "q", "pods")).Should(Equal("3"))
		Expect(strings.Join(r.Writes(), " ")).To(Equal("APPLY resourcequotas/q"))
	})
})
