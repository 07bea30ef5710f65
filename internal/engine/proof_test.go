// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// forger is the client of a tenant who writes under the engine's own field managers.
type forger struct{ manager string }

// copyOf makes, in a namespace and under a name, an object that carries all that another one carries.
func (f forger) copyOf(o client.Object, ns, name string) client.Object {
	GinkgoHelper()
	fake := o.DeepCopyObject().(client.Object)
	fake.SetNamespace(ns)
	fake.SetName(name)
	fake.SetUID("")
	fake.SetResourceVersion("")
	fake.SetManagedFields(nil)
	fake.SetCreationTimestamp(metav1.Time{})
	gvk, err := Admin.GroupVersionKindFor(fake)
	Expect(err).NotTo(HaveOccurred())
	fake.GetObjectKind().SetGroupVersionKind(gvk)
	Expect(Admin.Patch(context.Background(), fake, client.Apply, client.FieldOwner(f.manager))).To(Succeed()) //nolint:staticcheck // Of any type.
	DeferCleanup(func() { Expect(client.IgnoreNotFound(Admin.Delete(context.Background(), fake))).To(Succeed()) })
	return fake
}

// settledRuns is how many runs there were once there are no more.
func settledRuns(runs func() int) (n int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		n = runs()
		g.Consistently(runs).Should(Equal(n))
	}).Should(Succeed())
	return n
}

// untouched expects that an object is neither changed nor deleted while the owner runs.
func untouched(owner engine.Object, fakes ...client.Object) {
	GinkgoHelper()
	before := map[client.Object]string{}
	for _, fake := range fakes {
		Expect(Reload(fake)).To(Succeed())
		before[fake] = fake.GetResourceVersion()
	}
	Poke(owner)
	AwaitRun(owner)
	Consistently(func(g Gomega) {
		for fake, version := range before {
			g.Expect(Reload(fake)).To(Succeed())
			g.Expect(fake.GetResourceVersion()).To(Equal(version), fake.GetName())
		}
	}).Should(Succeed())
}

var _ = Describe("Proof", func() {
	It("is never in another namespace, and an object there requeues nothing", func() {
		kind := composing()
		r := start(widgets(kind, engine.Config[*Widget]{Owns: owned}))
		w := widget()
		kind.set(quota(w.Namespace, "q", "pods", "3"))
		Poke(w)
		Eventually(hard(w.Namespace, "q", "pods")).Should(Equal("3"))
		AwaitReady(w)
		original := liveQuota(w.Namespace, "q")
		runs := settledRuns(kind.Runs)
		r.Forget()

		fake := forger{"platform-operator-widget"}.copyOf(original, Namespace(), "copy")
		Patch(fake, `{"metadata":{"annotations":{"x":"y"}}}`)
		Consistently(kind.Runs).Should(Equal(runs))
		untouched(w, fake)
		Expect(r.Writes()).To(BeEmpty())
		Remove(w)
		Eventually(Gone(w)).Should(Succeed())
	})

	It("does not depend on labels and annotations", func() {
		w := widget()
		r := start(widgets(composing(quota(w.Namespace, "q", "pods", "3")), engine.Config[*Widget]{Owns: owned}))
		AwaitReady(w)
		q := liveQuota(w.Namespace, "q")
		fake := quotaAt(w.Namespace, "fake")
		fake.SetLabels(q.Labels)
		fake.SetAnnotations(q.Annotations)
		Create(fake)

		Patch(q.DeepCopy(), `{"metadata":{"labels":null,"annotations":null}}`)
		Eventually(func() map[string]string { return liveQuota(w.Namespace, "q").Labels }).Should(Equal(q.Labels))
		Eventually(func() map[string]string { return liveQuota(w.Namespace, "q").Annotations }).Should(Equal(q.Annotations))
		Expect(liveQuota(w.Namespace, "q").UID).To(Equal(q.UID))
		Expect(r.Writes()).To(HaveEach(Or(HaveSuffix("resourcequotas/q"), HaveSuffix("widgets/w/status"))))
		untouched(w, fake)
		Expect(Ready(w)()).To(Equal("True Ready"))
	})

	It("is not an owner reference to another kind, or another object of that name", func() {
		w := widget()
		ref := metav1.OwnerReference{APIVersion: "test.acme.com/v1", Kind: "Widget", Name: "w", UID: w.UID, Controller: new(true)}
		for _, tc := range []struct {
			change func(*metav1.OwnerReference)
			want   string
		}{
			{func(r *metav1.OwnerReference) { r.UID = "another" }, "ChildTerminating"}, // true or not, that one is gone
			{func(r *metav1.OwnerReference) { r.Kind = "Gadget" }, "NameTaken"},
			{func(r *metav1.OwnerReference) { r.APIVersion = "other.com/v1" }, "NameTaken"},
			{func(r *metav1.OwnerReference) { r.Controller = nil }, "NameTaken"},
		} {
			forged := *ref.DeepCopy()
			tc.change(&forged)
			foreign := taken(w.Namespace, func(q *corev1.ResourceQuota) { q.OwnerReferences = []metav1.OwnerReference{forged} })
			r := start(widgets(composing(quota(w.Namespace, "q", "pods", "3")), engine.Config[*Widget]{Owns: owned}))
			Poke(w)
			Eventually(Ready(w)).Should(Equal("False "+tc.want), "%+v", forged)
			untouched(w, foreign)
			r.stop()
			Remove(foreign)
			start(widgets(composing(quota(w.Namespace, "q", "pods", "3")), engine.Config[*Widget]{Owns: owned})).stop()
		}
	})

	It("of a child that is created once is more than what a copy of it carries", func() {
		var seen []string
		kind := script[*Widget](func(s engine.Scope[*Widget]) []engine.Step {
			return []engine.Step{{Condition: "Made", Run: func(ctx context.Context) (engine.Outcome, error) {
				_, out, err := s.CreateOnce(ctx, aJob(s.Obj.Namespace, "one"))
				if err != nil || !out.GoesOn() {
					return out, err
				}
				seen = nil
				err = s.EachOwned(ctx, func(o client.Object) error {
					seen = append(seen, o.GetName())
					return nil
				})
				return engine.Done().Saying(strings.Join(seen, ",")), err
			}}}
		})
		start(widgets(kind, engine.Config[*Widget]{
			Owns:   []client.Object{&batchv1.Job{}},
			Proves: func(_ *Widget, child client.Object) bool { return child.GetName() == "once" },
		}))
		w := widget()
		Eventually(conditions(w)).Should(ContainElement("Made=True Done: once"))
		job := live(&batchv1.Job{}, w.Namespace, "once")
		fake := aJob(w.Namespace, "one")
		fake.Name, fake.OwnerReferences, fake.Labels, fake.Annotations = "copy", job.OwnerReferences, job.Labels, job.Annotations
		Create(fake)
		untouched(w, fake)
		Expect(conditions(w)()).To(ContainElement("Made=True Done: once"))

		By("admission that removes the operator's labels")
		Patch(job, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"theirs","platform.acme.com/owner-uid":null},"annotations":null}}`)
		Poke(w)
		AwaitRun(w)
		Consistently(conditions(w)).Should(ContainElement("Made=True Done: once"))
	})

	It("lets a child that lost its owner reference be applied to again, and nothing else", func() {
		w := widget()
		kind := composing(quota(w.Namespace, "q", "pods", "3"))
		cfg := engine.Config[*Widget]{Owns: owned}
		first := start(widgets(kind, cfg))
		AwaitReady(w)
		first.stop()
		Patch(liveQuota(w.Namespace, "q"), `{"metadata":{"ownerReferences":null}}`)
		kind.set()
		Poke(w)
		second := start(widgets(kind, cfg))
		AwaitRun(w)
		Consistently(Gone(quotaAt(w.Namespace, "q"))).ShouldNot(Succeed())
		second.stop()
		kind.set(quota(w.Namespace, "q", "pods", "4"))
		start(widgets(kind, cfg))
		Eventually(hard(w.Namespace, "q", "pods")).Should(Equal("4"))
		Eventually(func() bool { return metav1.IsControlledBy(liveQuota(w.Namespace, "q"), w) }).Should(BeTrue())
	})

	Describe("of a cluster-scoped owner", func() {
		cfg := engine.Config[*Gadget]{Owns: owned, Keeps: []client.Object{&corev1.Namespace{}}}
		settled := func(ns string, want ...func() engine.Child) (*Gadget, *recipe[*Gadget], *running) {
			GinkgoHelper()
			kind := &recipe[*Gadget]{lever: lever{name: "Counted", out: engine.Done()}}
			kind.set(want...)
			g := made(&Gadget{ObjectMeta: metav1.ObjectMeta{Name: ns}})
			r := start(gadgets(kind, cfg))
			AwaitReady(g)
			r.Forget()
			return g, kind, r
		}

		It("is the place and the name, whatever the marks and the field manager say", func() {
			ns, elsewhere := Namespace(), Namespace()
			g, kind, r := settled(ns, place(ns, true), quota(ns, "q", "pods", "3"), quota(ns, "old", "pods", "3"))
			q := liveQuota(ns, "q")
			forge := forger{"platform-operator-gadget"}
			fakes := []client.Object{
				forge.copyOf(q, elsewhere, "q"), forge.copyOf(q, ns, "forged"),
				forge.copyOf(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Labels: q.Labels, Annotations: q.Annotations}}, elsewhere, "r"),
			}
			runs := settledRuns(kind.Runs)
			for _, fake := range fakes {
				Patch(fake, `{"metadata":{"annotations":{"x":"y"}}}`)
			}
			Consistently(kind.Runs).Should(Equal(runs), "none of them wakes the owner up")
			kind.set(place(ns, true), quota(ns, "q", "pods", "3"))
			untouched(g, fakes...)
			Eventually(Gone(quotaAt(ns, "old"))).Should(Succeed())
			Expect(r.Writes()).To(Equal([]string{"DELETE resourcequotas/old"}))
			Expect(Ready(g)()).To(Equal("True Ready"))
		})

		It("holds for children that have lost all marks, and for those of an earlier owner", func() {
			ns := Namespace()
			g, kind, _ := settled(ns, place(ns, true), quota(ns, "q", "pods", "3"), quota(ns, "old", "pods", "3"))
			Patch(liveQuota(ns, "old"), `{"metadata":{"labels":null,"annotations":null}}`)
			kind.set(place(ns, true), quota(ns, "q", "pods", "3"))
			Poke(g)
			Eventually(Gone(quotaAt(ns, "old"))).Should(Succeed())
		})

		It("ends with that of the Namespace: in one that is somebody else's nothing is touched", func() {
			ns := Namespace()
			foreign := taken(ns, func(*corev1.ResourceQuota) {})
			kind := &recipe[*Gadget]{lever: lever{name: "Counted", out: engine.Done()}}
			kind.set(place(ns, false), quota(ns, "q", "pods", "3"), quota(ns, "r", "pods", "3"))
			g := made(&Gadget{ObjectMeta: metav1.ObjectMeta{Name: ns}})
			r := start(gadgets(kind, cfg))
			Eventually(Ready(g)).Should(Equal("False NameTaken"))
			untouched(g, foreign)
			Expect(r.Writing("resourcequotas")).To(BeEmpty())
			Expect(meta.FindStatusCondition(g.Status.Conditions, engine.Ready).Message).To(ContainSubstring("Namespace " + ns + " exists"))
		})

		It("does not include a Namespace that is no longer its own, whatever its marks", func() {
			ns, next := Namespace(), Namespace()
			g, kind, r := settled(ns, place(ns, true), quota(ns, "q", "pods", "3"))
			Remove(g) // It has no finalizer.
			Eventually(Gone(g)).Should(Succeed())
			r.Forget()
			kind.set(place(next, true))
			again := made(&Gadget{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: Spec{Value: next}})
			AwaitReady(again)
			untouched(again, live(&corev1.Namespace{}, "", ns), liveQuota(ns, "q"))
			Expect(r.Writing("DELETE")).To(BeEmpty())
		})
	})
})

var _ = Describe("Release and Reclaim", func() {
	It("remove the marks from what is owned, and set them on what was left in a declared place", func() {
		ns, elsewhere := Namespace(), Namespace()
		note := map[string]string{"left-by": "me"}
		var act func(ctx context.Context, s engine.Scope[*Gadget]) error
		compose := &recipe[*Gadget]{lever: lever{name: "Counted", out: engine.Done()}}
		compose.set(place(ns, true), quota(ns, "q", "pods", "3"))
		kind := script[*Gadget](func(s engine.Scope[*Gadget]) []engine.Step {
			if act == nil {
				return compose.Steps(s)
			}
			return []engine.Step{{Condition: "Acted", Run: func(ctx context.Context) (engine.Outcome, error) { return engine.Done(), act(ctx, s) }}}
		})
		g := made(&Gadget{ObjectMeta: metav1.ObjectMeta{Name: ns}})
		r := start(gadgets(kind, engine.Config[*Gadget]{Owns: owned, Keeps: []client.Object{&corev1.Namespace{}}}))
		AwaitReady(g)
		r.stop()
		stray := taken(elsewhere, func(q *corev1.ResourceQuota) { q.Labels = liveQuota(ns, "q").Labels })

		var order []string
		act = func(ctx context.Context, s engine.Scope[*Gadget]) error {
			if err := s.Release(ctx, stray, note); err != nil {
				return err
			}
			return s.EachOwned(ctx, func(o client.Object) error {
				order = append(order, o.GetName())
				return s.Release(ctx, o, note)
			})
		}
		r = start(gadgets(kind, engine.Config[*Gadget]{Owns: owned, Keeps: []client.Object{&corev1.Namespace{}}}))
		Eventually(conditions(g)).Should(ContainElement("Acted=True Done"))
		r.stop()
		Expect(order).To(Equal([]string{"q", ns}), "the Namespace comes last")
		for _, o := range []client.Object{liveQuota(ns, "q"), live(&corev1.Namespace{}, "", ns)} {
			Expect(o.GetLabels()).NotTo(Or(HaveKey(names.LabelOwnerUID), HaveKey(names.LabelManagedBy)))
			Expect(o.GetAnnotations()).To(And(Not(HaveKey(names.AnnotationOwner)), HaveKeyWithValue("left-by", "me")))
		}
		Expect(liveQuota(elsewhere, "q").ResourceVersion).To(Equal(stray.ResourceVersion))

		act = func(ctx context.Context, s engine.Scope[*Gadget]) error {
			for _, o := range []client.Object{stray, liveQuota(ns, "q")} {
				if err := s.Reclaim(ctx, o); err != nil {
					return err
				}
			}
			return s.Reclaim(ctx, liveQuota(ns, "q"))
		}
		r = start(gadgets(kind, engine.Config[*Gadget]{Owns: owned, Keeps: []client.Object{&corev1.Namespace{}}}))
		Eventually(r.Writing).WithArguments("resourcequotas").Should(Equal([]string{"PATCH resourcequotas/q"}), "once, and nothing elsewhere")
		Eventually(func() map[string]string { return liveQuota(ns, "q").Labels }).Should(HaveKeyWithValue(names.LabelOwnerUID, string(g.UID)))
	})
})

var _ = Describe("What holds data", func() {
	It("is deleted by the end of its owner, and by nothing else", func() {
		data := func(w *Widget) *corev1.PersistentVolumeClaim {
			return live(&corev1.PersistentVolumeClaim{}, w.Namespace, "data")
		}
		discard := func(s engine.Scope[*Widget]) engine.Step {
			return engine.Step{Condition: "Discarded", Run: func(ctx context.Context) (engine.Outcome, error) {
				return engine.Done(), s.EachOwned(ctx, func(o client.Object) error {
					return s.Discard(ctx, o, metav1.DeletePropagationBackground)
				})
			}}
		}
		compose := composing()
		kind := finalizing[*Widget]{
			func(s engine.Scope[*Widget]) []engine.Step { return append(compose.Steps(s), discard(s)) },
			func(s engine.Scope[*Widget]) []engine.Step { return []engine.Step{discard(s)} },
		}
		start(widgets(kind, engine.Config[*Widget]{Keeps: kept, RetryMax: time.Second}))
		w := widget()
		compose.set(claim(w.Namespace, "data"))
		Poke(w)
		Eventually(Ready(w)).Should(Equal("False Error"))
		Expect(Message(w, "Discarded")).To(ContainSubstring("it holds data, which only the deletion of its owner may delete"))
		Expect(data(w).DeletionTimestamp).To(BeNil())
		Patch(data(w), `{"metadata":{"finalizers":null}}`)
		Remove(w)
		Eventually(Gone(w)).Should(Succeed())
		Eventually(Gone(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: w.Namespace}})).Should(Succeed())
	})
})

var _ = Describe("A finalizer that was removed", func() {
	It("is restored at once, and that requeues nothing", func() {
		steps, _, kind := holding()
		r := start(widgets(kind, engine.Config[*Widget]{}))
		w := widget()
		AwaitReady(w)
		r.Forget()
		runs := settledRuns(steps.Runs)
		Patch(w, `{"metadata":{"finalizers":null}}`)
		Eventually(func() []string { _ = Reload(w); return w.Finalizers }).Should(Equal([]string{finalizer}))
		Eventually(steps.Runs).Should(Equal(runs+1), "by the run that the event is for")
		Consistently(r.Writes).Should(Equal([]string{"PATCH widgets/w"}))
		Expect(steps.Runs()).To(Equal(runs + 1))

		By("a finalizer of another controller that is added and removed")
		Patch(w, `{"metadata":{"finalizers":["`+finalizer+`","`+theirs+`"]}}`)
		Patch(w, `{"metadata":{"finalizers":["`+finalizer+`"]}}`)
		Consistently(steps.Runs).Should(Equal(runs + 1))
	})
})
