// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// owned are the types of children that the test kinds have.
var (
	owned = []client.Object{&corev1.ResourceQuota{}, &rbacv1.RoleBinding{}, &rbacv1.Role{}}
	kept  = []client.Object{&corev1.PersistentVolumeClaim{}}
)

// recipe is a kind that composes what a spec wants, and then counts its runs.
type recipe[T engine.Object] struct {
	lever
	mu     sync.Mutex
	want   []func() engine.Child
	err    error
	looked int
}

func (k *recipe[T]) Steps(s engine.Scope[T]) []engine.Step {
	return []engine.Step{{Condition: "Composed", Run: s.Compose(k.children)}, k.step()}
}

func (k *recipe[T]) children() ([]engine.Child, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.looked++
	var all []engine.Child
	for _, child := range k.want {
		all = append(all, child())
	}
	return all, k.err
}

// looks is how many runs there were, also of those that a child ended.
func (k *recipe[T]) looks() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.looked
}

func (k *recipe[T]) set(want ...func() engine.Child) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.want = want
}

func composing(want ...func() engine.Child) *recipe[*Widget] {
	return &recipe[*Widget]{lever: lever{name: "Counted", out: engine.Done()}, want: want}
}

// quota is a ResourceQuota with pairs of resources and quantities.
func quota(ns, name string, hard ...string) func() engine.Child {
	return func() engine.Child {
		list := corev1.ResourceList{}
		for pair := range slices.Chunk(hard, 2) {
			list[corev1.ResourceName(pair[0])] = resource.MustParse(pair[1])
		}
		return engine.NewChild(corev1ac.ResourceQuota(name, ns).
			WithSpec(corev1ac.ResourceQuotaSpec().WithHard(list)), corev1ac.ExtractResourceQuota)
	}
}

func claim(ns, name string) func() engine.Child {
	return func() engine.Child {
		size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		return engine.NewChild(corev1ac.PersistentVolumeClaim(name, ns).WithSpec(corev1ac.PersistentVolumeClaimSpec().
			WithAccessModes(corev1.ReadWriteOnce).
			WithResources(corev1ac.VolumeResourceRequirements().WithRequests(size))), corev1ac.ExtractPersistentVolumeClaim)
	}
}

func binding(ns, role string, replace bool) func() engine.Child {
	return func() engine.Child {
		child := engine.NewChild(rbacv1ac.RoleBinding("binding", ns).WithRoleRef(
			rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(role)), rbacv1ac.ExtractRoleBinding)
		if replace {
			return child.OrReplace()
		}
		return child
	}
}

// heeding is a kind whose quota follows from what somebody else has set. Once it is interrupted, that happens between the look of a
// run and its apply.
type heeding struct{ interrupted atomic.Bool }

func (k *heeding) Steps(s engine.Scope[*Widget]) []engine.Step {
	return []engine.Step{{Condition: "Composed", Run: func(ctx context.Context) (engine.Outcome, error) {
		pods := func() string {
			q := &corev1.ResourceQuota{}
			if err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Obj.Namespace, Name: "q"}, q); err != nil {
				return "3"
			}
			return q.Spec.Hard.Pods().String()
		}
		looked := pods()
		if k.interrupted.CompareAndSwap(true, false) {
			defer GinkgoRecover()
			Patch(live(&corev1.ResourceQuota{}, s.Obj.Namespace, "q"), `{"spec":{"hard":{"pods":"9"}}}`)
			Eventually(pods).Should(Equal("9"))
		}
		child := quota(s.Obj.Namespace, "q", "pods", looked, "secrets", s.Obj.Spec.Value)().IfUnchanged()
		return s.Compose(func() ([]engine.Child, error) { return []engine.Child{child}, nil })(ctx)
	}}}
}

// selectMarked lets the cache hold only quotas that carry the operator's label.
func selectMarked(o *ctrl.Options) {
	o.Cache.ByObject = map[client.Object]cache.ByObject{&corev1.ResourceQuota{}: {
		Label: labels.SelectorFromSet(labels.Set{names.LabelManagedBy: names.Operator}),
	}}
}

func live[O client.Object](o O, ns, name string) O {
	GinkgoHelper()
	Expect(Admin.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: name}, o)).To(Succeed())
	return o
}

func liveQuota(ns, name string) *corev1.ResourceQuota {
	GinkgoHelper()
	return live(&corev1.ResourceQuota{}, ns, name)
}

// hard gives a function that reads a limit of a quota, "none" if there is none.
func hard(ns, name, res string) func() string {
	return func() string {
		q := &corev1.ResourceQuota{}
		if err := Admin.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: name}, q); err != nil {
			return "none"
		}
		if v, ok := q.Spec.Hard[corev1.ResourceName(res)]; ok {
			return v.String()
		}
		return "none"
	}
}

var _ = Describe("A child that follows from what others have set", func() {
	It("is not applied over what they set after the run has looked", func() {
		kind := &heeding{}
		start(widgets(kind, engine.Config[*Widget]{Owns: owned}))
		w := widget(func(w *Widget) { w.Spec.Value = "1" })
		AwaitReady(w)
		kind.interrupted.Store(true)
		Change(w, func(w *Widget) { w.Spec.Value = "2" })
		AwaitReady(w)
		Expect(live(&corev1.ResourceQuota{}, w.Namespace, "q").Spec.Hard.Pods().String()).To(Equal("9"))
	})
})

var _ = Describe("Compose", func() {
	var (
		w    *Widget
		kind *recipe[*Widget]
		cfg  = engine.Config[*Widget]{Owns: owned, Keeps: kept}
	)
	BeforeEach(func() { w = widget() })

	// settle starts a manager and waits until the Widget is ready.
	settle := func(k *recipe[*Widget], change ...func(*ctrl.Options)) *running {
		GinkgoHelper()
		kind = k
		r := start(widgets(k, cfg), change...)
		AwaitReady(w)
		r.Forget()
		return r
	}
	// steady expects that runs write nothing.
	steady := func(r *running) {
		GinkgoHelper()
		for range 3 {
			runs := kind.Runs()
			Poke(w)
			Eventually(kind.Runs).Should(BeNumerically(">", runs))
		}
		Consistently(r.Writes).Should(BeEmpty())
	}

	It("creates the children with their marks, and then writes nothing", func() {
		counted := Metric("platform_operator_api_writes_total", "widget")
		r := start(widgets(composing(quota(w.Namespace, "q", "pods", "3", "requests.cpu", "1000m"), claim(w.Namespace, "data")), cfg))
		AwaitReady(w)
		Expect(r.Writes()).To(Equal([]string{
			"APPLY resourcequotas/q", "APPLY persistentvolumeclaims/data", "PATCH widgets/w/status",
		}))
		Expect(Metric("platform_operator_api_writes_total", "widget") - counted).To(BeEquivalentTo(3))
		Expect(Metric("platform_operator_api_writes_total", "widget", "apply")).To(BeNumerically(">=", 2))

		q := liveQuota(w.Namespace, "q")
		Expect(q.Labels).To(Equal(map[string]string{
			"app.kubernetes.io/managed-by": "platform-operator", "platform.acme.com/owner-uid": string(w.UID),
		}))
		Expect(q.Annotations).To(Equal(map[string]string{"platform.acme.com/owner": "widget/" + w.Namespace + "/w"}))
		Expect(q.OwnerReferences).To(Equal([]metav1.OwnerReference{{
			APIVersion: "test.acme.com/v1", Kind: "Widget", Name: "w", UID: w.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}}))
		Expect(q.ManagedFields[0].Manager).To(Equal("platform-operator-widget"))

		r.stop()
		again := settle(composing(quota(w.Namespace, "q", "pods", "3", "requests.cpu", "1000m"), claim(w.Namespace, "data")))
		steady(again)
		Expect(liveQuota(w.Namespace, "q").ResourceVersion).To(Equal(q.ResourceVersion), "after a restart")
	})

	DescribeTable("repairs drift", func(change string, filtered bool) {
		options := func(*ctrl.Options) {}
		if filtered {
			options = selectMarked
		}
		r := settle(composing(quota(w.Namespace, "q", "pods", "3")), options)
		q := liveQuota(w.Namespace, "q")
		if change == "" {
			Remove(q)
		} else {
			Patch(q.DeepCopy(), change)
		}
		Eventually(func(g Gomega) {
			now := &corev1.ResourceQuota{}
			g.Expect(Admin.Get(context.Background(), client.ObjectKeyFromObject(q), now)).To(Succeed())
			g.Expect(now.Labels).To(Equal(q.Labels))
			g.Expect(now.Annotations).To(Equal(q.Annotations))
			g.Expect(now.OwnerReferences).To(Equal(q.OwnerReferences))
			g.Expect(now.Spec).To(Equal(q.Spec))
		}).Should(Succeed())
		Expect(Ready(w)()).To(Equal("True Ready"))
		Expect(r.Writing("widgets")).To(BeEmpty(), "no condition moves")
		r.Forget()
		steady(r)
	},
		Entry("of a field", `{"spec":{"hard":{"pods":"99"}}}`, false),
		Entry("of a removed field", `{"spec":{"hard":{"pods":null}}}`, false),
		Entry("of the owner's label", `{"metadata":{"labels":{"platform.acme.com/owner-uid":null}}}`, false),
		Entry("of the operator's label", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`, false),
		Entry("of the operator's label when the cache selects on it",
			`{"metadata":{"labels":{"app.kubernetes.io/managed-by":"somebody"}}}`, true),
		Entry("of the annotation", `{"metadata":{"annotations":{"platform.acme.com/owner":null}}}`, false),
		Entry("of the owner reference", `{"metadata":{"ownerReferences":null}}`, false),
		Entry("of a child that was deleted", "", false),
		Entry("of a child that was deleted when the cache selects", "", true),
	)

	It("changes and removes its own fields, and leaves alone what others add", func() {
		r := settle(composing(quota(w.Namespace, "q", "pods", "3", "services", "2")))
		Patch(liveQuota(w.Namespace, "q"), `{"spec":{"hard":{"secrets":"7"}},"metadata":{"annotations":{"theirs":"yes"}}}`)
		steady(r)

		kind.set(quota(w.Namespace, "q", "pods", "4"))
		Poke(w)
		Eventually(hard(w.Namespace, "q", "pods")).Should(Equal("4"))
		Expect(hard(w.Namespace, "q", "services")()).To(Equal("none"))
		Expect(hard(w.Namespace, "q", "secrets")()).To(Equal("7"))
		Expect(liveQuota(w.Namespace, "q").Annotations).To(HaveKeyWithValue("theirs", "yes"))
		Expect(r.Writes()).To(Equal([]string{"APPLY resourcequotas/q"}))
	})

	It("deletes what is no longer wanted, but no data and nothing that is not its own", func() {
		settle(composing(quota(w.Namespace, "q", "pods", "3"), quota(w.Namespace, "old", "pods", "3"), claim(w.Namespace, "data")))
		replica := liveQuota(w.Namespace, "old")
		replica.ObjectMeta = metav1.ObjectMeta{
			Name: "copy", Namespace: w.Namespace, Labels: replica.Labels, Annotations: replica.Annotations,
		}
		Create(replica)
		foreign := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "foreign", Namespace: w.Namespace}}
		Create(foreign)

		kind.set(quota(w.Namespace, "q", "pods", "3"))
		Poke(w)
		Eventually(Gone(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: w.Namespace}})).Should(Succeed())
		runs := kind.Runs()
		Poke(w)
		Eventually(kind.Runs).Should(BeNumerically(">", runs))
		Expect(live(&corev1.PersistentVolumeClaim{}, w.Namespace, "data").DeletionTimestamp).To(BeNil())
		liveQuota(w.Namespace, "q")
		liveQuota(w.Namespace, "copy")
		liveQuota(w.Namespace, "foreign")
	})

	It("prunes nothing while a child cannot be made", func() {
		settle(composing(quota(w.Namespace, "old", "pods", "3")))
		kind.set(quota(w.Namespace, "q", "pods", "-1"))
		Poke(w)
		Eventually(Ready(w)).Should(Equal("False Invalid"))
		liveQuota(w.Namespace, "old")
		kind.mu.Lock()
		kind.want, kind.err = nil, errors.New("the tier cannot be read")
		kind.mu.Unlock()
		Eventually(Ready(w)).Should(Equal("False Error"))
		liveQuota(w.Namespace, "old")
	})

	It("replaces what cannot be changed, with OrReplace", func() {
		settle(composing(binding(w.Namespace, "reader", false)))
		uid := live(&rbacv1.RoleBinding{}, w.Namespace, "binding").UID
		kind.set(binding(w.Namespace, "writer", false))
		Poke(w)
		Eventually(Ready(w)).Should(Equal("False Invalid"))
		Expect(live(&rbacv1.RoleBinding{}, w.Namespace, "binding").UID).To(Equal(uid))

		kind.set(binding(w.Namespace, "writer", true))
		AwaitReady(w)
		Expect(live(&rbacv1.RoleBinding{}, w.Namespace, "binding").RoleRef.Name).To(Equal("writer"))
	})

	It("does not replace anything by what is invalid", func() {
		settle(composing(binding(w.Namespace, "reader", true)))
		uid := live(&rbacv1.RoleBinding{}, w.Namespace, "binding").UID
		kind.set(binding(w.Namespace, "", true))
		Poke(w)
		Eventually(Ready(w)).Should(Equal("False Invalid"))
		Expect(live(&rbacv1.RoleBinding{}, w.Namespace, "binding").UID).To(Equal(uid))
	})

	It("does not replace what an admission policy rejects", func() {
		settle(composing(binding(w.Namespace, "reader", true)))
		before := live(&rbacv1.RoleBinding{}, w.Namespace, "binding")
		these := []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{rbacv1.GroupName}, APIVersions: []string{"v1"}, Resources: []string{"rolebindings"}},
		}}}
		policy := Create(&admissionregistrationv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: w.Namespace},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: these},
				MatchConditions:  []admissionregistrationv1.MatchCondition{{Name: "here", Expression: "request.namespace == '" + w.Namespace + "'"}},
				Validations:      []admissionregistrationv1.Validation{{Expression: "'team' in object.metadata.?annotations.orValue({})", Message: "needs a team"}},
			},
		})
		bound := Create(&admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: w.Namespace},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		})
		DeferCleanup(func() {
			Remove(bound)
			Remove(policy)
		})
		Eventually(func() error {
			return Admin.Patch(context.Background(), before.DeepCopy(), client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"labels":{"a":"b"}}}`)), client.DryRunAll)
		}).Should(MatchError(ContainSubstring("needs a team")))
		kind.set(func() engine.Child {
			return engine.NewChild(rbacv1ac.RoleBinding("binding", w.Namespace).WithLabels(map[string]string{"color": "red"}).WithRoleRef(
				rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName("reader")), rbacv1ac.ExtractRoleBinding).OrReplace()
		})
		Poke(w)
		Eventually(Ready(w)).Should(Equal("False Invalid"))
		Expect(live(&rbacv1.RoleBinding{}, w.Namespace, "binding").UID).To(Equal(before.UID))
	})
})
