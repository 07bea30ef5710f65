// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// repairTime is how soon drift has to be repaired on a machine that does nothing else.
const repairTime = "5s"

// stripping are merge patches that take a mark of ownership off a child.
var stripping = []string{
	fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, names.LabelManagedBy),
	fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, names.LabelOwnerUID),
	fmt.Sprintf(`{"metadata":{"labels":{%q:"mallory"}}}`, names.LabelOwnerUID),
	fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, names.AnnotationOwner),
	fmt.Sprintf(`{"metadata":{"annotations":{%q:"mallory"}}}`, names.AnnotationOwner),
}

// variants are the sample and what each transition makes of it.
func variants(k *kind) map[string]func(engine.Object) {
	all := map[string]func(engine.Object){"the sample": func(engine.Object) {}}
	for name, transition := range k.fixture.Transitions() {
		all["the sample after "+name] = transition
	}
	return all
}

// describeDrift has G5: of children, and of what passes while the operator is away.
func describeDrift(k *kind) {
	if len(k.fixture.Absences()) > 0 {
		It("G5: makes up for exactly what it has to, once it is back", Label("G5"), func() { absent(k) })
	}
	if k.leavesOut("G5 children") {
		return
	}
	marked := !k.leavesOut("G5 marks")
	Describe("G5: repairs every child of", Label("G5"), func() {
		for _, name := range sortedKeys(variants(k)) {
			It(name, func(ctx context.Context) { drifts(ctx, k, variants(k)[name], marked) })
		}
		It("the sample, within 5 seconds each", Label(limit.Timed), func(ctx context.Context) {
			drifts(ctx, k, func(engine.Object) {}, marked, repairTime)
		})
	})
}

// drifts changes every child of an object in every way, that of its marks included where it has any. Each has to be undone: within
// some time, or at all.
func drifts(ctx context.Context, k *kind, variant func(engine.Object), marked bool, within ...any) {
	GinkgoHelper()
	start()
	o := k.several(1, "g5", variant)[0]
	children := survey(ctx, o.GetName())[o.GetName()].children()
	Expect(children).NotTo(BeEmpty())
	for _, child := range children {
		tampering := k.fixture.Tamper(child)
		Expect(tampering).NotTo(BeEmpty(), "the fixture does not tell how to tamper with a "+child.GetKind())
		if marked {
			tampering = append(tampering, stripping...)
		}
		for _, patch := range tampering {
			repaired(child, patch, func(live *unstructured.Unstructured) { Patch(live, patch) }, within...)
		}
		if child.GetNamespace() != "" {
			repairedWhileHeld(child, tampering[0], within...)
		}
		repaired(child, "deleted", removeEntirely, within...)
	}
	Eventually(k.settled(o)).Should(Succeed())
}

// absent lets everything pass while the operator is away.
func absent(k *kind) {
	GinkgoHelper()
	op := start()
	absences := k.fixture.Absences()
	var objects []engine.Object
	for _, a := range absences {
		objects = append(objects, k.several(1, "g5-away", a.Prepare)...)
	}
	quiet(op, objects...)
	op.Stop()
	for i, a := range absences {
		a.Pass(objects[i])
	}
	op.Start()
	for i, a := range absences {
		Eventually(a.MadeUp).WithArguments(objects[i].GetName()).Should(Succeed(), a.Name)
	}
	for i, a := range absences {
		quietFor(op, objects[i])
		Expect(a.MadeUp(objects[i].GetName())).To(Succeed(), a.Name)
	}
}

// repaired does something to a child and waits until the child is as before.
func repaired(child *unstructured.Unstructured, what string, do func(live *unstructured.Unstructured), within ...any) {
	GinkgoHelper()
	live := child.DeepCopy()
	Expect(Reload(live)).To(Succeed())
	do(live)
	Eventually(func(g Gomega) {
		g.Expect(Reload(live)).To(Succeed())
		g.Expect(live.GetDeletionTimestamp()).To(BeNil())
		g.Expect(wanted(live)).To(Equal(wanted(child)))
	}, within...).Should(Succeed(), "%s %s: %s", child.GetKind(), child.GetName(), what)
}

// repairedWhileHeld deletes a child that somebody's finalizer holds: what is held still counts, so that it is repaired all the
// same, and created again once it is let go.
func repairedWhileHeld(child *unstructured.Unstructured, patch string, within ...any) {
	GinkgoHelper()
	held := child.DeepCopy()
	Patch(held, `{"metadata":{"finalizers":["test.example.com/hold"]}}`)
	DeferCleanup(withdraw, held)
	Remove(held)
	Patch(held, patch)
	Eventually(func(g Gomega) {
		g.Expect(Reload(held)).To(Succeed())
		live := held.DeepCopy()
		live.SetFinalizers(nil)
		live.SetDeletionTimestamp(nil)
		live.SetDeletionGracePeriodSeconds(nil)
		g.Expect(wanted(live)).To(Equal(wanted(child)))
	}, within...).Should(Succeed(), "%s %s: %s, while it is held", child.GetKind(), child.GetName(), patch)
	repaired(child, "deleted while held", func(live *unstructured.Unstructured) {
		Patch(live, `{"metadata":{"finalizers":null}}`)
		Eventually(func() bool { return Reload(live) != nil || live.GetUID() != held.GetUID() }).Should(BeTrue())
	}, within...)
}

// removeEntirely deletes an object and waits until that one is gone, as a Namespace is only after a while.
func removeEntirely(o *unstructured.Unstructured) {
	GinkgoHelper()
	Remove(o)
	deleted := o.GetUID()
	Eventually(func() bool {
		err := Reload(o)
		return apierrors.IsNotFound(err) || err == nil && o.GetUID() != deleted
	}).Should(BeTrue())
}

// adornments are merge patches that put something of somebody else's on any object.
var adornments = []string{
	`{"metadata":{"labels":{"others.example.com/label":"theirs"}}}`,
	`{"metadata":{"annotations":{"others.example.com/annotation":"theirs"}}}`,
}

// describeOthers has G10.
func describeOthers(k *kind) {
	if !k.leavesOut("G10 autoscaler") {
		describeScaled(k)
	}
	It("G10: leaves alone what others have put on the object and its children", Label("G10"), func(ctx context.Context) {
		op := start()
		o := k.several(1, "g10")[0]
		quiet(op, o)
		self := &unstructured.Unstructured{}
		self.SetGroupVersionKind(k.gvk)
		self.SetName(o.GetName())
		self.SetNamespace(o.GetNamespace())
		foreign := map[*unstructured.Unstructured][]string{self: adornments}
		for _, other := range survey(ctx, o.GetName())[o.GetName()] {
			patches := k.fixture.Foreign(other)
			if len(patches) > 0 || isChild(other) {
				foreign[other] = append(patches, adornments...)
			}
		}
		Expect(len(foreign)).To(BeNumerically(">", 1), "there is nothing but the object")
		for target, patches := range foreign {
			for _, patch := range patches {
				Patch(target, patch, client.FieldOwner("others"))
			}
		}

		for range 5 {
			op.AwaitLook(o)
		}
		Change(o, func(o engine.Object) { k.fixture.Change(o, o.GetName()) })
		Eventually(succeeded).WithArguments(op, o, k.fixture.Action(o.GetName())).Should(BeNumerically(">", 0))
		Eventually(k.settled(o)).Should(Succeed())

		for target, patches := range foreign {
			for _, patch := range patches {
				stillThere(ctx, target, patch)
			}
		}
	})
}

// describeScaled has the part of G10 that is about autoscalers, which write through the subresource scale alone.
func describeScaled(k *kind) {
	It("G10: leaves to an autoscaler what it scales", Label("G10"), func(ctx context.Context) {
		op := start()
		o := k.several(1, "g10-scaled")[0]
		quiet(op, o)
		var scaled []*unstructured.Unstructured
		for _, other := range survey(ctx, o.GetName())[o.GetName()] {
			if scale(ctx, other) {
				scaled = append(scaled, other)
			}
		}
		if len(scaled) == 0 {
			omitNow("G10", k.name+" autoscaler", "neither it nor what belongs to it can be scaled")
			return
		}
		Change(o, func(o engine.Object) { k.fixture.Change(o, o.GetName()) })
		Eventually(succeeded).WithArguments(op, o, k.fixture.Action(o.GetName())).Should(BeNumerically(">", 0))
		Eventually(k.settled(o)).Should(Succeed())
		op.Restart()
		quietFor(op, o)
		for _, other := range scaled {
			now := emptyScale()
			Expect(Admin.SubResource("scale").Get(ctx, other, now)).To(Succeed())
			Expect(replicas(now)).To(BeEquivalentTo(autoscaled), other.GetKind())
		}
	})
}

// autoscaled is a number of replicas that no fixture has.
const autoscaled = 7

// scale sets the replicas of an object as the controller of HorizontalPodAutoscalers does, if it has any.
func scale(ctx context.Context, o *unstructured.Unstructured) bool {
	GinkgoHelper()
	is := emptyScale()
	err := Admin.SubResource("scale").Get(ctx, o, is)
	if apierrors.IsNotFound(err) {
		return false
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(replicas(is)).NotTo(BeEquivalentTo(autoscaled))
	Expect(unstructured.SetNestedField(is.Object, int64(autoscaled), "spec", "replicas")).To(Succeed())
	Expect(Admin.SubResource("scale").Update(ctx, o, client.WithSubResourceBody(is), client.FieldOwner("kube-controller-manager"))).To(Succeed())
	return true
}

func emptyScale() *unstructured.Unstructured {
	s := &unstructured.Unstructured{}
	s.SetGroupVersionKind(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	return s
}

func replicas(scale *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	return n
}

// stillThere checks that an object has all that a merge patch says.
func stillThere(ctx context.Context, o *unstructured.Unstructured, patch string) {
	GinkgoHelper()
	live := o.DeepCopy()
	Expect(Admin.Get(ctx, client.ObjectKeyFromObject(o), live)).To(Succeed())
	again := live.DeepCopy()
	Patch(again, patch, client.DryRunAll, client.FieldOwner("others"))
	Expect(equality.Semantic.DeepEqual(wanted(again), wanted(live))).To(BeTrue(), "%s %s lost %s", o.GetKind(), o.GetName(), patch)
}
