// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp_test

import (
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A host name and its tier", Ordered, func() {
	BeforeAll(func() { StartOperator() })
	in := func(ns, host string) *v1alpha1.WebApp {
		return Create(webApp(ns, func(s *v1alpha1.WebAppSpec) { s.WebAppHostname = host }))
	}
	override := func(name string, change func(*tenancyv1alpha1.DeploymentTierSpec)) *tenancyv1alpha1.DeploymentTier {
		tier := &tenancyv1alpha1.DeploymentTier{ObjectMeta: metav1.ObjectMeta{Name: name}}
		change(&tier.Spec)
		Create(tier)
		DeferCleanup(func() { Expect(client.IgnoreNotFound(Admin.Delete(ctx, tier))).To(Succeed()) })
		return tier
	}
	malformed := func(s *tenancyv1alpha1.DeploymentTierSpec) {
		s.Quota = corev1.ResourceList{"x": resource.MustParse("1")}
	}

	It("is not kept from others by a WebApp that may not have it", func() {
		dev, prod := tenant("webapp-barred", common.TierDev), tenant("webapp-allowed", common.TierProd)
		tier := override("dev", func(s *tenancyv1alpha1.DeploymentTierSpec) { s.Hostnames = &[]string{} })
		older := in(dev, "barred.acme.com")
		Eventually(Ready(older)).Should(Equal("False HostnameNotAllowed"))
		Eventually(time.Now).Should(BeTemporally(">=", older.CreationTimestamp.Add(time.Second)))
		composed(in(prod, "barred.acme.com"))

		By("its tier being invalid")
		Change(tier, func(t *tenancyv1alpha1.DeploymentTier) {
			t.Spec.Hostnames = nil
			malformed(&t.Spec)
		})
		Change(older, func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = "invalid.acme.com" })
		Eventually(Ready(older)).Should(Equal("False TierInvalid"))
		composed(in(Namespace(), "invalid.acme.com"))
	})

	It("stays with its WebApp while the tier is invalid", func() {
		a := composed(in(tenant("webapp-malformed", common.TierStg), "malformed.acme.com"))
		uid := uidOf(ingressOf(a))
		tier := override("stg", malformed)
		Eventually(Ready(a)).Should(Equal("False TierInvalid"))
		rival := in(Namespace(), "malformed.acme.com")
		Eventually(Ready(rival)).Should(Equal("False HostnameTaken"))
		Poke(a)
		Consistently(func(g Gomega) {
			i := ingressOf(a)
			g.Expect(Reload(i)).To(Succeed())
			g.Expect([]any{i.UID, i.DeletionTimestamp.IsZero()}).To(Equal([]any{uid, true}))
			g.Expect(Reload(a)).To(Succeed())
			g.Expect([]any{a.Status.Claims, a.Status.URL}).To(Equal([]any{[]string{"malformed.acme.com/"}, "http://malformed.acme.com/"}))
			g.Expect(Ready(rival)()).To(Equal("False HostnameTaken"))
		}).Should(Succeed())
		Remove(tier)
		composed(a)
	})
})

var _ = Describe("A host name that several ask for", Ordered, func() {
	var op *Operator
	BeforeAll(func() { op = StartOperator() })

	It("is exchanged for another by one write of the status", func() {
		a := serving(webApp(Namespace()))
		op.Wire.Forget()
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = "new-" + a.Spec.WebAppHostname })
		AwaitReady(a)
		Expect(a.Status.Claims).To(Equal([]string{a.Spec.WebAppHostname + "/"}))
		Consistently(func() []testenv.Write {
			return op.Wire.Writes(func(w testenv.Write) bool { return w.Path == "namespaces/"+a.Namespace+"/webapps/web/status" })
		}).Should(HaveLen(1))
	})

	It("is granted to one, however many ask at once", func() {
		const hosts, each = 10, 4
		host := map[string]string{} // by namespace
		for i := range hosts * each {
			host[Namespace()] = fmt.Sprintf("race-%d.acme.com", i%hosts)
		}
		var all sync.WaitGroup
		for ns, name := range host {
			a := webApp(ns, func(s *v1alpha1.WebAppSpec) { s.WebAppHostname = name })
			all.Go(func() {
				defer GinkgoRecover()
				Expect(Admin.Create(ctx, a)).To(Succeed())
			})
		}
		all.Wait()
		for ns := range host {
			a := &v1alpha1.WebApp{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
			DeferCleanup(func() { Remove(a) })
			Eventually(Condition(a, "Admitted")).Should(Or(Equal("True Done"), Equal("False HostnameTaken")))
		}
		made := map[string]map[string]bool{} // the namespaces in which an Ingress was ever made, by host name
		for _, w := range op.Wire.Writes(func(w testenv.Write) bool { return strings.HasSuffix(w.Path, "/ingresses/web") }) {
			ns := strings.Split(w.Path, "/")[1]
			if name := host[ns]; name != "" {
				if made[name] == nil {
					made[name] = map[string]bool{}
				}
				made[name][ns] = true
			}
		}
		Expect(made).To(HaveLen(hosts))
		for name, namespaces := range made {
			Expect(namespaces).To(HaveLen(1), name)
		}
	})

	It("is served without the external name while that is another's", func() {
		Create(webApp(Namespace(), func(s *v1alpha1.WebAppSpec) { s.Publish = &v1alpha1.Publish{ExternalName: new("www.taken.com")} }))
		asking := func(name string) func(*v1alpha1.WebAppSpec) {
			return func(s *v1alpha1.WebAppSpec) { s.Publish = &v1alpha1.Publish{ExternalName: &name} }
		}
		had := serving(webApp(Namespace(), asking("www.mine.com")))
		uid := uidOf(ingressOf(had))
		Change(had, func(a *v1alpha1.WebApp) { asking("www.taken.com")(&a.Spec) })
		Eventually(Condition(had, "Admitted")).Should(Equal("False HostnameTaken"))
		never := Create(webApp(Namespace(), asking("www.taken.com")))
		Eventually(Ready(never)).Should(HavePrefix("False"))
		Change(had, func(a *v1alpha1.WebApp) { a.Spec.WebAppImage = "registry.acme.com/app/app:v2" })
		for _, a := range []*v1alpha1.WebApp{had, never} {
			composed(a)
			i := ingressOf(a)
			Eventually(func(g Gomega) {
				g.Expect(Reload(i)).To(Succeed())
				g.Expect(i.Spec.Rules).To(HaveLen(1))
				g.Expect(i.Spec.Rules[0].Host).To(Equal(a.Spec.WebAppHostname))
				g.Expect(i.Annotations).NotTo(ContainElement("www.taken.com"))
				g.Expect(Reload(a)).To(Succeed())
				g.Expect(a.Status.Claims).To(Equal([]string{a.Spec.WebAppHostname + "/"}))
				g.Expect(live(deploymentOf(a)).Spec.Template.Spec.Containers[0].Image).To(Equal(a.Spec.WebAppImage))
			}).Should(Succeed())
		}
		Expect(uidOf(ingressOf(had))).To(Equal(uid), "the Ingress of before")
		Expect(Condition(had, "Admitted")()).To(Equal("False HostnameTaken"))
		roll(had)
		Eventually(Ready(had)).Should(Equal("False HostnameTaken"))
		Expect(Message(had, "Ready")).To(And(ContainSubstring("www.taken.com"), ContainSubstring("served at http://"+had.Spec.WebAppHostname)))
	})

	It("makes none of them run because of what is another's business", func() {
		ns := Namespace()
		Create(databaseSecret(ns, "1"))
		first := serving(webApp(ns, func(s *v1alpha1.WebAppSpec) { s.DatabaseSecretRef = &v1alpha1.DatabaseSecretReference{Name: "db"} }))
		second := Create(webApp(Namespace(), func(s *v1alpha1.WebAppSpec) { s.WebAppHostname = first.Spec.WebAppHostname }))
		Eventually(Ready(second)).Should(Equal("False HostnameTaken"))
		runs := func() (n int) { // every run of the first reads the Secret of its database
			for _, path := range op.Wire.Reads() {
				if path == "namespaces/"+ns+"/secrets/db" {
					n++
				}
			}
			return n
		}
		var settled int
		Eventually(func(g Gomega) {
			settled = runs()
			g.Consistently(runs).Should(Equal(settled))
		}).Should(Succeed())
		for _, pods := range []string{"1/3", "2/3", "3/3"} {
			patch := client.RawPatch(client.Merge.Type(), []byte(`{"status":{"pods":"`+pods+`"}}`))
			Expect(Admin.Status().Patch(ctx, second, patch)).To(Succeed())
		}
		Consistently(runs).Should(Equal(settled))
		Poke(first)
		Eventually(runs).Should(BeNumerically(">", settled), "its runs are seen")
	})
})

var _ = Describe("A host name that is given up", Ordered, func() {
	const held = "test.acme.com/held"
	BeforeAll(func() { StartOperator() })
	asking := func(host string) *v1alpha1.WebApp {
		return Create(webApp(Namespace(), func(s *v1alpha1.WebAppSpec) { s.WebAppHostname = host }))
	}
	taken := func(a *v1alpha1.WebApp) {
		GinkgoHelper()
		Eventually(Ready(a)).Should(Equal("False HostnameTaken"))
		Poke(a)
		Consistently(Ready(a)).Should(Equal("False HostnameTaken"))
	}
	hold := func(o client.Object) {
		GinkgoHelper()
		Change(o, func(o client.Object) { controllerutil.AddFinalizer(o, held) })
		none := client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"finalizers":null}}`))
		DeferCleanup(func() { Expect(client.IgnoreNotFound(Admin.Patch(ctx, o, none))).To(Succeed()) })
	}
	free := func(o client.Object) {
		GinkgoHelper()
		Change(o, func(o client.Object) { controllerutil.RemoveFinalizer(o, held) })
	}

	It("stays with a WebApp that is being deleted until that is gone", func() {
		first := composed(asking("leaving.acme.com"))
		hold(first)
		Remove(first)
		second := asking("leaving.acme.com")
		taken(second)
		free(first)
		composed(second)
	})

	// soon is composed by an event: without one, the next look is a minute later. Only a clock can tell the two apart.
	const eventTime = 30 * time.Second
	soon := func(a *v1alpha1.WebApp) {
		GinkgoHelper()
		if limit.Selected(limit.Timed) {
			Eventually(Condition(a, "Composed")).WithTimeout(eventTime).Should(Equal("True Done"))
		}
		composed(a)
	}

	It("is free once the Ingress of a WebApp that is being deleted is gone", func() {
		first := composed(asking("left.acme.com"))
		hold(first)
		Remove(first)
		second := asking("left.acme.com")
		taken(second)
		Remove(ingressOf(first))
		soon(second)
	})

	It("is free at once when a WebApp goes that never had an Ingress", func() {
		first := webApp(Namespace(), func(s *v1alpha1.WebAppSpec) { s.WebAppHostname = "never.acme.com" })
		first.Annotations = map[string]string{names.AnnotationPaused: "true"}
		Create(first)
		Eventually(Condition(first, "Paused")).Should(HavePrefix("True"))
		Eventually(time.Now).Should(BeTemporally(">=", first.CreationTimestamp.Add(time.Second)), "the seconds that are recorded differ")
		second := asking("never.acme.com")
		taken(second)
		Remove(first)
		soon(second)
	})

	It("stays with a WebApp that is gone until its Ingress is", func() {
		older := composed(asking("another.acme.com"))
		Eventually(time.Now).Should(BeTemporally(">=", older.CreationTimestamp.Add(time.Second)), "the seconds that are recorded differ")
		first := composed(asking("remains.acme.com"))
		ingress := live(ingressOf(first))
		hold(ingress)
		Remove(first)
		Eventually(Gone(first)).Should(Succeed())
		Eventually(func() bool { return Reload(ingress) == nil && !ingress.DeletionTimestamp.IsZero() }).Should(BeTrue())
		second := asking("remains.acme.com")
		taken(second)
		Expect(Message(second, "Admitted")).NotTo(ContainSubstring(first.Namespace))
		Change(older, func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = "remains.acme.com" })
		taken(older)
		free(ingress)
		composed(older)
		taken(second)
	})

	It("does not wait for the Ingress of the WebApp in whose place this one is", func() {
		first := composed(asking("replaced.acme.com"))
		hold(live(ingressOf(first)))
		Remove(first)
		Eventually(Gone(first)).Should(Succeed())
		second := Create(webApp(first.Namespace, func(s *v1alpha1.WebAppSpec) { s.WebAppHostname = "replaced.acme.com" }))
		Eventually(Condition(second, "Admitted")).Should(Equal("True Done"))
		free(ingressOf(first))
		composed(second)
	})

	It("is not kept by an Ingress that somebody makes", func() {
		first := composed(asking("forged.acme.com"))
		i := live(ingressOf(first))
		Remove(first)
		Eventually(Gone(i)).Should(Succeed())
		forged := i.DeepCopy()
		forged.ResourceVersion, forged.UID, forged.ManagedFields = "", "", nil
		delete(forged.Labels, names.LabelOwnerUID) // which the guardrail policy keeps tenants from
		forged.Finalizers = []string{held}
		Create(forged)
		DeferCleanup(func() { free(forged) })
		composed(asking("forged.acme.com"))
	})

	It("is not taken from the WebApp that has it by what is left of another", func() {
		first := composed(asking("has-it.acme.com"))
		other := composed(asking("left-over.acme.com"))
		i := live(ingressOf(other))
		hold(i)
		Remove(other)
		Eventually(Gone(other)).Should(Succeed())
		Patch(i, `{"spec":{"rules":[{"host":"has-it.acme.com"}]}}`)
		uid := uidOf(ingressOf(first))
		Poke(first)
		Consistently(Condition(first, "Admitted")).Should(Equal("True Done"))
		Expect(uidOf(ingressOf(first))).To(Equal(uid))
		free(i)
	})

	It("stays with a paused WebApp whose Ingress serves it", func() {
		first := composed(asking("paused.acme.com"))
		Annotate(first, names.AnnotationPaused, "true")
		Eventually(Condition(first, "Paused")).Should(HavePrefix("True"))
		Change(first, func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = "resumed.acme.com" })
		second := asking("paused.acme.com")
		taken(second)
		Annotate(first, names.AnnotationPaused, "")
		composed(first)
		composed(second)
		Eventually(func() []string { _ = Reload(first); return first.Status.Claims }).Should(Equal([]string{"resumed.acme.com/"}))
	})

	It("stays with a WebApp whose Ingress is being deleted until that is gone", func() {
		other, first := composed(asking("others.acme.com")), composed(asking("draining.acme.com"))
		ingress := live(ingressOf(first))
		hold(ingress)
		Change(first, func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = other.Spec.WebAppHostname })
		Eventually(func() bool { return Reload(ingress) == nil && !ingress.DeletionTimestamp.IsZero() }).Should(BeTrue())
		second := asking("draining.acme.com")
		taken(second)
		free(ingress)
		composed(second)
	})
})
