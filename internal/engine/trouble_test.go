// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// role is a Role that allows one verb on pods.
func role(ns, name, verb string) func() engine.Child {
	return func() engine.Child {
		return engine.NewChild(rbacv1ac.Role(name, ns).WithRules(
			rbacv1ac.PolicyRule().WithAPIGroups("").WithResources("pods").WithVerbs(verb)), rbacv1ac.ExtractRole)
	}
}

func quotaAt(ns, name string) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
}

func verbs(ns, name string) func() []string {
	return func() []string {
		r := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
		if err := Reload(r); err != nil {
			return []string{err.Error()}
		}
		return r.Rules[0].Verbs
	}
}

var _ = Describe("A child in trouble", func() {
	var (
		w   *Widget
		cfg = engine.Config[*Widget]{Owns: owned, Keeps: kept}
	)
	BeforeEach(func() { w = widget() })
	composed := func() string { return Message(w, "Composed") }

	It("stops none of the others, which are applied in the kind's order", func() {
		foreign := taken(w.Namespace, func(*corev1.ResourceQuota) {})
		r := start(widgets(composing(role(w.Namespace, "first", "get"), quota(w.Namespace, "q", "pods", "3"),
			quota(w.Namespace, "r", "pods", "4"), role(w.Namespace, "last", "get")), cfg))
		Eventually(Ready(w)).Should(Equal("False NameTaken"))
		Expect(r.Writing("APPLY")).To(Equal([]string{"APPLY roles/first", "APPLY resourcequotas/r", "APPLY roles/last"}))
		Expect(Reload(foreign)).To(Succeed())
	})

	It("is awaited when it is that of a former owner of the same name, which is deleted with it", func() {
		gvk, err := Admin.GroupVersionKindFor(w)
		Expect(err).NotTo(HaveOccurred())
		former := taken(w.Namespace, func(q *corev1.ResourceQuota) {
			q.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w, gvk)}
			q.OwnerReferences[0].UID = "11111111-1111-1111-1111-111111111111"
		})
		r := start(widgets(composing(quota(w.Namespace, "q", "pods", "3"), role(w.Namespace, "other", "get")), cfg))
		Eventually(Ready(w)).Should(Equal("False ChildTerminating"))
		Expect(composed()).To(ContainSubstring("former object of this name"))
		Expect(r.Writing("APPLY")).To(Equal([]string{"APPLY roles/other"}))

		Remove(former)
		AwaitReady(w)
		Expect(metav1.IsControlledBy(live(&corev1.ResourceQuota{}, w.Namespace, "q"), w)).To(BeTrue())
	})

	It("is named, each one, and the worst decides", func() {
		taken(w.Namespace, func(*corev1.ResourceQuota) {})
		held := Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "theirs", Namespace: w.Namespace}})
		kind := composing(quota(w.Namespace, "q", "pods", "3"), role(w.Namespace, "theirs", "get"))
		start(widgets(kind, cfg))
		Eventually(Ready(w)).Should(Equal("False NameTaken"))
		Expect(composed()).To(And(ContainSubstring("ResourceQuota "+w.Namespace+"/q exists"), ContainSubstring("Role "+w.Namespace+"/theirs exists")))

		kind.set(quota(w.Namespace, "q", "pods", "3"), quota(w.Namespace, "bad", "pods", "-1"), role(w.Namespace, "good", "get"))
		Poke(w)
		Eventually(Ready(w)).Should(Equal("False Invalid"), "an error is worse than a block")
		Expect(composed()).To(And(ContainSubstring("applying ResourceQuota "+w.Namespace+"/bad"), ContainSubstring("ResourceQuota "+w.Namespace+"/q exists")))
		Eventually(verbs(w.Namespace, "good")).Should(Equal([]string{"get"}))
		Expect(Reload(held)).To(Succeed())
	})

	DescribeTable("that the API server rejects is retried with growing delays, and the condition says so",
		func(code int32, reason metav1.StatusReason) {
			r := &running{}
			cfg := cfg
			cfg.RetryMax = time.Hour
			reject := func() { r.refuse(-1, http.MethodPatch, "/resourcequotas/q", code, reason) }
			kind := composing()
			r = start(widgets(kind, cfg))
			AwaitReady(w)
			reject()
			kind.set(quota(w.Namespace, "q", "pods", "3"))
			Poke(w)
			Eventually(Ready(w)).Should(Equal("False " + string(reason)))
			Expect(composed()).To(And(HavePrefix("applying ResourceQuota "+w.Namespace+"/q: "),
				HaveSuffix(". This is retried with growing delays, at least every 1h0m0s")))
			Eventually(r.Writing).WithArguments("APPLY").Should(HaveLen(6))
			Consistently(func() int { return len(r.Writing("APPLY")) }).Should(BeNumerically("<=", 7), "the seventh try is after 1.6 s")

			By("but at least at an interval")
			r.stop()
			cfg.RetryMax = 60 * time.Millisecond
			r = start(widgets(kind, cfg))
			reject()
			Eventually(func() int { return len(r.Writing("APPLY")) }).Should(BeNumerically(">", 30), "without a bound that takes a year")
			r.Answer(nil)
			AwaitReady(w)
		},
		Entry("as invalid", int32(http.StatusUnprocessableEntity), metav1.StatusReasonInvalid),
		Entry("as forbidden", int32(http.StatusForbidden), metav1.StatusReasonForbidden),
	)

	It("that is being deleted and held by a finalizer is still changed", func() {
		kind := composing(role(w.Namespace, "admin", "get"), quota(w.Namespace, "q", "pods", "3"))
		r := start(widgets(kind, cfg))
		AwaitReady(w)
		held := live(&rbacv1.Role{}, w.Namespace, "admin")
		Patch(held, `{"metadata":{"finalizers":["`+theirs+`"]}}`)
		DeferCleanup(func() { Patch(held, `{"metadata":{"finalizers":null}}`) })
		Remove(held)
		kind.set(role(w.Namespace, "admin", "list"), quota(w.Namespace, "q", "pods", "4"))
		Poke(w)
		Eventually(verbs(w.Namespace, "admin")).Should(Equal([]string{"list"}))
		Eventually(hard(w.Namespace, "q", "pods")).Should(Equal("4"))
		Eventually(Ready(w)).Should(Equal("False ChildTerminating"))
		Expect(composed()).To(ContainSubstring("held by the finalizers " + theirs))
		r.Forget()
		Poke(w)
		AwaitRun(w)
		Expect(r.Writing("APPLY")).To(BeEmpty(), "it is as wanted")

		Patch(held, `{"metadata":{"finalizers":null}}`)
		AwaitReady(w)
		Expect(live(&rbacv1.Role{}, w.Namespace, "admin").UID).NotTo(Equal(held.UID))
	})

	It("keeps children of its own type that are no longer wanted, and of no other", func() {
		kind := composing(quota(w.Namespace, "old", "pods", "3"), role(w.Namespace, "old", "get"))
		start(widgets(kind, cfg))
		AwaitReady(w)
		kind.set(quota(w.Namespace, "new", "pods", "-1"))
		Poke(w)
		Eventually(Gone(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: w.Namespace}})).Should(Succeed())
		Eventually(Ready(w)).Should(Equal("False Invalid"))
		liveQuota(w.Namespace, "old")
		kind.set(quota(w.Namespace, "new", "pods", "1"))
		AwaitReady(w)
		Eventually(Gone(quotaAt(w.Namespace, "old"))).Should(Succeed())
	})

	It("is deleted unchanged since it was checked, or not at all", func() {
		kind := composing(quota(w.Namespace, "old", "pods", "3"))
		r := start(widgets(kind, cfg))
		AwaitReady(w)
		// What the cache shows is older than what there is.
		var once sync.Once
		r.Answer(func(req *http.Request) *http.Response {
			if req.Method == http.MethodDelete {
				once.Do(func() {
					release := client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"ownerReferences":null}}`))
					_ = Admin.Patch(req.Context(), quotaAt(w.Namespace, "old"), release)
				})
			}
			return nil
		})
		kind.set()
		Poke(w)
		AwaitRun(w)
		Eventually(r.Writing).WithArguments("DELETE").ShouldNot(BeEmpty())
		Consistently(func() error { return Reload(quotaAt(w.Namespace, "old")) }).Should(Succeed(), "it was released in between")
	})
})
