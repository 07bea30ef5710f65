// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tenancy"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// describeNeighbours has G13: what a victim is and does is the same with an attack as without. What is attacked is found
// from what there is of the victim once it has settled, so that kinds and children to come are covered.
func describeNeighbours(k *kind) {
	Describe("G13: is not reached by", Label("G13"), func() {
		describeRivals(k)
		for _, protected := range []bool{true, false} {
			policy := "without the admission policy"
			if protected {
				policy = "with the admission policy"
			}
			It("somebody in another namespace, "+policy, func(ctx context.Context) {
				besiege(ctx, k, protected, func(engine.Object) attacker {
					ns := Create(namespaceNamed(unique("g13-attacker")))
					discardLater(ns)
					return attacker{Client: Admin, place: ns.Name, all: true}
				})
			})
			if k.leavesOut("G13 in its own namespace") {
				continue
			}
			It("copies that the administrator of its own namespace makes, "+policy, func(ctx context.Context) {
				besiege(ctx, k, protected, func(victim engine.Object) attacker { return insider(ctx, victim.GetName()) })
			})
		}
	})
}

// attacker is somebody with rights in one namespace.
type attacker struct {
	client.Client
	place string
	// all tells that they may do all there, so that nothing but the admission policy keeps them from anything.
	all bool
}

// insider is an administrator of a namespace, with all that AcmeNamespace grants.
func insider(ctx context.Context, namespace string) attacker {
	GinkgoHelper()
	a := attacker{Client: Author(namespace, unique("g13-insider"), tenancy.AdminRules()...), place: namespace}
	Eventually(func() error { return a.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace)) }).Should(Succeed())
	return a
}

// matters reports whether a write shows that an attack has reached its victim. What is in use of a quota is shown, no matter who uses
// it in the victim's own namespace; that nothing else is shown, shown tells. A copy of a child that is itself of one of the
// operator's kinds has a status, as anybody's object of that kind.
func (a attacker) matters(w testenv.Write) bool {
	return !strings.HasSuffix(w.Path, "/status") || a.all && !strings.HasPrefix(w.Path, "namespaces/"+a.place+"/")
}

// shown is what must not change of an object.
func (a attacker) shown(o *unstructured.Unstructured) any {
	if a.all {
		return o.GetResourceVersion()
	}
	shown := bare(o)
	for _, used := range [][]string{{"status", "used"}, {"status", "quota", "used"}} {
		unstructured.RemoveNestedField(shown, used...)
	}
	return shown
}

// besiege attacks one object for each way of deletion, and compares its life with that of one that nobody attacks.
func besiege(ctx context.Context, k *kind, protected bool, by func(victim engine.Object) attacker) {
	GinkgoHelper()
	if !protected {
		withoutPolicy(ctx) // before the operator starts: it reports the policy's absence
	}
	op := start()
	for _, d := range k.fixture.Deletions() {
		left, victim := k.several(1, "g13-left", d.Prepare)[0], k.several(1, "g13-victim", d.Prepare)[0]
		quiet(op, left, victim)
		before := survey(ctx, victim.GetName())[victim.GetName()]
		op.Wire.Forget()
		a := by(victim)
		forged := a.attack(ctx, k, victim, before, !protected)
		AddReportEntry("forged", fmt.Sprintf("%d objects, against a deletion by %s", forged, d.Name))
		Expect(forged > 0 || protected).To(BeTrue(), "there was no attack")

		nothingHappens := func(when string) {
			Consistently(func() string { return listing(op.Wire.Writes(about(victim), a.matters)) }, "1s").Should(BeEmpty(), when)
			Expect(listing(op.Wire.Writes(func(w testenv.Write) bool { return w.For(a.place) }, a.matters))).To(BeEmpty(), "it is none of the operator's business, "+when)
			now := survey(ctx, victim.GetName())[victim.GetName()]
			for key := range before {
				Expect(now).To(HaveKey(key), when)
				Expect(a.shown(now[key])).To(Equal(a.shown(before[key])), key+", "+when)
			}
		}
		nothingHappens("under the attack")
		op.Restart()
		nothingHappens("after a restart")
		Expect(k.life(op, victim)).To(Equal(k.life(op, left)), "what is written for it, with an attack and without, by a deletion with "+d.Name)
		Expect(listing(op.Wire.Writes(func(w testenv.Write) bool { return w.For(a.place) && !w.For(victim.GetName()) }, a.matters))).To(BeEmpty())
	}
}

// life changes an object and deletes it, and gives what the operator has written for it: which requests, each one once,
// because how often a status is written depends on how fast the world moves.
func (k *kind) life(op *Operator, o engine.Object) []string {
	GinkgoHelper()
	Change(o, func(o engine.Object) { k.fixture.Change(o, o.GetName()) })
	Eventually(succeeded).WithArguments(op, o, k.fixture.Action(o.GetName())).Should(Equal(1))
	Eventually(k.settled(o)).Should(Succeed())
	Remove(o)
	Eventually(Gone(o)).Should(Succeed())
	quietFor(op, o)
	var all []string
	for _, w := range op.Wire.Writes(about(o)) {
		if !strings.HasSuffix(w.Path, "/status") || w.Path == k.statusPath(o) { // its children of the operator's kinds have their own
			all = append(all, form(w, o.GetName()))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// bounding is the policy that bounds the operator itself, and no tenant: without it, no Database is served.
const bounding = "platform-operator-database-bounds"

// withoutPolicy takes the admission policies away until the spec ends, all but the one that is about the operator.
func withoutPolicy(ctx context.Context) {
	GinkgoHelper()
	DeferCleanup(testenv.InstallOperator, Plane)
	gvk := schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	Expect(Admin.List(ctx, list)).To(Succeed())
	for i := range list.Items {
		if list.Items[i].GetName() == bounding {
			continue
		}
		Remove(&list.Items[i])
	}
}

// attack forges everything that belongs to the victim, and gives how many objects came of it. Where they may do all and
// there is no policy, all attempts come through; else those count that do.
func (a attacker) attack(ctx context.Context, k *kind, victim engine.Object, loot contents, unhindered bool) (forged int) {
	GinkgoHelper()
	for _, key := range sortedKeys(loot) {
		if !a.attacks(k, loot[key]) {
			continue
		}
		for _, f := range a.forgeries(k, victim, loot[key]) {
			apply := func() error {
				return a.Apply(ctx, client.ApplyConfigurationFromUnstructured(f.DeepCopy()), client.FieldOwner(names.FieldManager(k.controller)))
			}
			err := apply()
			if a.all && unhindered && err != nil { // the API server takes a moment to forget the policy
				Eventually(apply).Should(Succeed(), key)
				err = nil
			}
			if err != nil {
				Expect(apierrors.IsForbidden(err) || apierrors.IsInvalid(err)).To(BeTrue(), "%s: %v", key, err)
				continue
			}
			forged++
			DeferCleanup(withdraw, f)
		}
	}
	return forged
}

// attacks reports whether a copy of an object is an attack. No tenant makes objects of the cluster's scope; one of the kind is
// the attacker's own, and what is not the victim's child is the business of its administrator.
func (a attacker) attacks(k *kind, o *unstructured.Unstructured) bool {
	if o.GetNamespace() == "" || o.GroupVersionKind().GroupKind() == k.gvk.GroupKind() {
		return false
	}
	return a.all || isChild(o) || metav1.GetControllerOf(o) != nil
}

// withdraw takes an object away, whatever finalizers hold it.
func withdraw(ctx context.Context, f *unstructured.Unstructured) {
	GinkgoHelper()
	patch := client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"finalizers":null}}`))
	Expect(client.IgnoreNotFound(Admin.Patch(ctx, f.DeepCopy(), patch))).To(Succeed())
	Expect(client.IgnoreNotFound(Admin.Delete(ctx, f.DeepCopy(), client.PropagationPolicy("Background")))).To(Succeed())
}

// forgeries are copies of an object with all that is the operator's on it, by its marks alone and as the victim's child.
// In another namespace they have its name as well, and a finalizer that holds them.
func (a attacker) forgeries(k *kind, victim engine.Object, o *unstructured.Unstructured) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, name := range []string{o.GetName(), "copy-of-" + o.GetName(), "child-" + o.GetName()} {
		if !a.all && name == o.GetName() {
			continue
		}
		f := o.DeepCopy()
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "ownerReferences", "finalizers"} {
			unstructured.RemoveNestedField(f.Object, "metadata", field)
		}
		delete(f.Object, "status")
		unselected(f)
		labels, annotations := f.GetLabels(), f.GetAnnotations()
		forge(k, victim, f)
		f.SetLabels(overlaid(labels, f.GetLabels()))
		made := f.GetAnnotations()
		delete(made, names.AnnotationPodSelector) // which would ask for restarts, as anybody may in their namespace
		f.SetAnnotations(overlaid(annotations, made))
		if strings.HasPrefix(name, "copy-of-") {
			f.SetOwnerReferences(nil)
		}
		f.SetName(name)
		f.SetNamespace(a.place)
		if a.all {
			f.SetFinalizers([]string{"test.example.com/attacker"})
		}
		all = append(all, f)
	}
	return all
}

func overlaid(under, over map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range []map[string]string{under, over} {
		for key, value := range m {
			out[key] = value
		}
	}
	return out
}

// unselected takes from a Job or a Service what the API server gives each for itself.
func unselected(o *unstructured.Unstructured) {
	if o.GetKind() == "Service" {
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIPs")
	}
	if o.GetKind() != "Job" {
		return
	}
	unstructured.RemoveNestedField(o.Object, "spec", "selector")
	labels := o.GetLabels()
	for _, key := range []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"} {
		unstructured.RemoveNestedField(o.Object, "spec", "template", "metadata", "labels", key)
		delete(labels, key)
	}
	o.SetLabels(labels)
}
