// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// ordeal is what a finalizer may meet.
type ordeal struct {
	name string
	// arrange brings it about for an object, before that is deleted; nil does nothing.
	arrange func(op *Operator, o engine.Object)
	// wayOut is what the message of Ready has to hold while the object does not go.
	wayOut func(k *kind) string
	// mustHold tells that the object must not go before the end of the ordeal.
	mustHold bool
	// end ends it, or takes the way out; nil when objects go by themselves.
	end func(op *Operator, k *kind, o engine.Object)
	// external tells that the ordeal is about the outside system.
	external bool
	// webhooks tells that the ordeal is about the kind's webhooks.
	webhooks bool
	// lingers tells that the children linger: an object whose deletion takes them along must not go before them.
	lingers bool
	// emptied tells that nothing stays, whatever the deletion keeps.
	emptied bool
	// within tells that the ordeal is about the Namespace that the object or its children are in.
	within bool
}

func ordeals() []ordeal {
	return []ordeal{
		{name: "nothing unusual"},
		{
			name: "a Namespace that is being deleted already", arrange: terminate, end: unblock, emptied: true, within: true,
			wayOut: func(*kind) string { return "is being deleted" },
		},
		{
			name: "an outside system that answers 404", external: true,
			arrange: func(*Operator, engine.Object) { answerAll(http.StatusNotFound) },
		},
		{
			name: "an outside system that answers 500 for ever", external: true, mustHold: true,
			arrange: func(*Operator, engine.Object) { answerAll(http.StatusInternalServerError) },
			wayOut:  func(k *kind) string { return k.fixture.External().WayOut() },
			end: func(_ *Operator, k *kind, o engine.Object) {
				Annotate(o, k.fixture.External().WayOut(), "true")
			},
		},
		{
			name: "children that linger", lingers: true, arrange: linger,
			wayOut: func(k *kind) string { return k.fixture.Lingering() },
			end:    func(_ *Operator, _ *kind, o engine.Object) { release(o) },
		},
		{name: "webhooks that are down", webhooks: true, arrange: killWebhooks},
		{
			name: "a role without the verb delete", arrange: func(_ *Operator, o engine.Object) { takeAway("delete", namespaceNamed(o.GetName())) },
			wayOut: func(*kind) string { return `cannot delete resource` },
			end:    func(*Operator, *kind, engine.Object) { giveBackRole() },
		},
	}
}

// describeFinalizers has G6.
func describeFinalizers(k *kind) {
	Describe("G6: lets go of an object when it meets", Label("G6"), func() {
		for _, x := range ordeals() {
			if x.external && !k.hasOutside("G6") || x.webhooks && !k.hasWebhook("G6") || x.lingers && k.leavesOut("G6 lingering children") ||
				x.within && k.leavesOut("G6 Namespace") {
				continue
			}
			It(x.name, func(ctx context.Context) { meets(ctx, k, x, func(*Operator, []engine.Object) {}) })
			if x.wayOut != nil {
				It(x.name+", without being busy with it", Label(limit.Slow, limit.Timed), func(ctx context.Context) {
					meets(ctx, k, x, func(op *Operator, objects []engine.Object) { retriesAreBounded(op, k, objects) })
				})
			}
		}
	})
}

// meets deletes an object of each kind of deletion in an ordeal. Meanwhile something may be checked of them all.
func meets(ctx context.Context, k *kind, x ordeal, meanwhile func(*Operator, []engine.Object)) {
	GinkgoHelper()
	op := start(withWebhooks)
	deletions := k.fixture.Deletions()
	var objects []engine.Object
	for _, d := range deletions {
		objects = append(objects, k.several(1, "g6", d.Prepare)...)
	}
	quiet(op, objects...)
	holds := map[engine.Object]bool{}
	for i, o := range objects {
		holds[o] = x.mustHold || x.lingers && !deletions[i].Keeps && len(survey(ctx, o.GetName())[o.GetName()].children()) > 0
		if x.arrange != nil {
			x.arrange(op, o)
		}
	}
	for _, o := range objects {
		Expect(client.IgnoreNotFound(Admin.Delete(ctx, o))).To(Succeed())
	}
	for _, o := range objects {
		goneOrExplained(k, x, o, holds[o])
	}
	meanwhile(op, objects)
	if x.lingers {
		changedInVain(op, k, objects)
	}
	for _, o := range objects {
		if x.end != nil && (x.emptied || Gone(o)() != nil) {
			x.end(op, k, o)
		}
	}
	for i, o := range objects {
		Eventually(Gone(o)).Should(Succeed())
		leftRightly(ctx, deletions[i], x, o)
	}
}

// goneOrExplained waits until an object is gone, or says why it is not and what helps.
func goneOrExplained(k *kind, x ordeal, o engine.Object, holds bool) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		if Gone(o)() == nil {
			if holds {
				StopTrying("it is gone before its time").Now()
			}
			return
		}
		g.Expect(x.wayOut).NotTo(BeNil(), "it does not go")
		c := ready(o)
		g.Expect(c.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(c.Message).To(ContainSubstring(x.wayOut(k)))
		g.Expect(kstatus(k, o)).To(Equal(status.TerminatingStatus))
	}).Should(Succeed(), x.name)
}

// changedInVain lets happen what objects are about while they are on their way out: none of it is acted on any more.
func changedInVain(op *Operator, k *kind, objects []engine.Object) {
	GinkgoHelper()
	for _, o := range objects {
		if Gone(o)() == nil {
			continue
		}
		Change(o, func(o engine.Object) { k.fixture.Change(o, o.GetName()) })
		op.AwaitLook(o)
		Expect(op.Wire.Writes(about(o), is(k.fixture.Action(o.GetName())))).To(BeEmpty())
	}
}

// retriesAreBounded checks that objects that do not go do not keep the operator busy.
func retriesAreBounded(op *Operator, k *kind, objects []engine.Object) {
	GinkgoHelper()
	objects = slices.DeleteFunc(slices.Clone(objects), func(o engine.Object) bool { return Gone(o)() == nil })
	if len(objects) == 0 {
		return
	}
	runs, writes := reconciles(k), len(op.Wire.Writes())
	Consistently(func(g Gomega) {
		// With at most a second between tries, three seconds see four tries at full back-off; after the
		// first failures they follow each other faster.
		g.Expect(reconciles(k) - runs).To(BeNumerically("<=", 10*len(objects)))
		g.Expect(len(op.Wire.Writes())-writes).To(BeNumerically("<=", 10*len(objects)), "writes")
	}, "3s").Should(Succeed())
}

// leftRightly checks what a deleted object has left.
func leftRightly(ctx context.Context, d Deletion, x ordeal, o engine.Object) {
	GinkgoHelper()
	left := func() contents {
		all := survey(ctx, o.GetName())[o.GetName()]
		if o.GetNamespace() != "" && !x.emptied { // its surroundings stay
			maps.DeleteFunc(all, func(_ string, o *unstructured.Unstructured) bool { return !isChild(o) })
		}
		return all
	}
	if !d.Keeps || x.emptied {
		Eventually(left).WithPolling(200 * time.Millisecond).Should(BeEmpty()) // which is a request for each type
		return
	}
	all := left()
	Expect(len(all)).To(BeNumerically(">", 1))
	for key, o := range all {
		Expect(o.GetDeletionTimestamp()).To(BeNil(), key)
		Expect(o.GetLabels()).NotTo(Or(HaveKey(names.LabelOwnerUID), HaveKey(names.LabelManagedBy)), key)
		Expect(o.GetAnnotations()).NotTo(HaveKey(names.AnnotationOwner), key)
	}
}

// linger keeps the children of an object from going, but for a Namespace, which waits for them.
func linger(_ *Operator, o engine.Object) {
	GinkgoHelper()
	for _, child := range survey(context.Background(), o.GetName())[o.GetName()].children() {
		if child.GetKind() != "Namespace" {
			Patch(child, `{"metadata":{"finalizers":["test.example.com/linger"]}}`)
		}
	}
	DeferCleanup(release, o)
}

// release lets the children of an object go.
func release(o engine.Object) {
	GinkgoHelper()
	for _, child := range survey(context.Background(), o.GetName())[o.GetName()] {
		if slices.Contains(child.GetFinalizers(), "test.example.com/linger") {
			patch := client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"finalizers":null}}`))
			Expect(client.IgnoreNotFound(Admin.Patch(context.Background(), child, patch))).To(Succeed())
		}
	}
}

const stuckName = "stuck"

// terminate deletes the Namespace of an object; something in it keeps it from going.
func terminate(_ *Operator, o engine.Object) {
	GinkgoHelper()
	// Of a type that no quota counts: what is in use shows in the status of AcmeNamespaces.
	Expect(Admin.Create(context.Background(), &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{
		Name: stuckName, Namespace: o.GetName(), Finalizers: []string{"test.example.com/stuck"},
	}})).To(Succeed())
	DeferCleanup(func() { unblock(nil, nil, o) })
	Remove(namespaceNamed(o.GetName()))
}

// unblock takes away what keeps a Namespace from going.
func unblock(_ *Operator, _ *kind, o engine.Object) {
	GinkgoHelper()
	stuck := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: stuckName, Namespace: o.GetName()}}
	patch := client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"finalizers":null}}`))
	Expect(client.IgnoreNotFound(Admin.Patch(context.Background(), stuck, patch))).To(Succeed())
}

func answerAll(code int) {
	for _, f := range fixtures {
		if e := f.External(); e != nil {
			e.Answer(code)
		}
	}
}

// killWebhooks runs the operator without the webhooks that the API server has to call.
func killWebhooks(op *Operator, _ engine.Object) {
	GinkgoHelper()
	op.Stop()
	op.Options.WebhookPort = -1
	op.Start()
}

// takeAway takes a verb off all rules of the operator's role until the spec ends. The probe is an object
// on which the operator could use it.
func takeAway(verb string, probe client.Object) {
	GinkgoHelper()
	takeAwayIn(verb, probe, func(rbacv1.PolicyRule) bool { return true })
}

// takeAwayIn is takeAway from some of the rules only.
func takeAwayIn(verb string, probe client.Object, from func(rbacv1.PolicyRule) bool) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{}
	Expect(Admin.Get(context.Background(), client.ObjectKey{Name: testenv.OperatorRole}, role)).To(Succeed())
	for i := range role.Rules {
		if !from(role.Rules[i]) {
			continue
		}
		role.Rules[i].Verbs = slices.DeleteFunc(role.Rules[i].Verbs, func(v string) bool { return v == verb })
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 })
	DeferCleanup(giveBackRole)
	Expect(Admin.Update(context.Background(), role)).To(Succeed())

	gvk, err := Admin.GroupVersionKindFor(probe)
	Expect(err).NotTo(HaveOccurred())
	mapping, err := Admin.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	Expect(err).NotTo(HaveOccurred())
	review := func() bool {
		r := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: testenv.OperatorUser, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Group: gvk.Group, Resource: mapping.Resource.Resource, Name: probe.GetName(),
			},
		}}
		Create(r)
		return r.Status.Allowed
	}
	Eventually(review).Should(BeFalse())
}

func giveBackRole() {
	GinkgoHelper()
	Expect(testenv.InstallOperator(Plane)).To(Succeed())
}
