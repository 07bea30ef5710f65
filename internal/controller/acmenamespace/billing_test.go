// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var errBilling = errors.New("billing is not there")

// untold is what an AcmeNamespace says that cannot go because billing does not listen.
func untold(why string) string {
	return "the release could not be reported to billing: " + why + ". It is retried at least every 1s. " +
		`To delete without reporting it, set the annotation tenancy.acme.com/skip-billing: "true"`
}

// unexplained is why a ledger does not listen that says no more.
const unexplained = "its configuration does not work; the operator's log has the details"

func skipBilling(n *v1alpha1.AcmeNamespace) {
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, annotationSkip, "true")
}

// What is retained is released as well. These specs retain, because a namespace takes seconds to go.
var _ = Describe("Billing", Ordered, ContinueOnFailure, func() {
	var (
		op     *Operator
		billed *ledger
	)
	BeforeAll(func() {
		billed = &ledger{}
		op = StartOperator(Configured("acmeNamespace: {billing: {retryMax: 1s}}"), func(o *operator.Options) { o.Ledger = billed })
	})

	It("gets a complete report, while the namespace is still owned", func() {
		n := created(team("bill-first", retained))
		seen, deleted := bareNamespace("app-bill-first"), team("bill-first")
		// After a lost race it is reported again; the first report counts.
		var first sync.Once
		billed.watch(func() { first.Do(func() { _, _ = Reload(seen), Reload(deleted) }) })
		DeferCleanup(func() { billed.watch(nil) })
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		releases := billed.Of(n)()
		Expect(releases).NotTo(BeEmpty())
		Expect(releases[0].At).To(BeTemporally("==", deleted.DeletionTimestamp.Time))
		releases[0].At = time.Time{}
		Expect(releases[0]).To(Equal(billing.Release{
			ID: string(n.UID), Name: "bill-first", Namespace: "app-bill-first", Tier: "dev", Admin: "sam",
		}))
		Expect(seen.Labels).To(HaveKeyWithValue(labelOwnerUID, string(n.UID)), "billing gets the report before the namespace is released")
	})

	It("gets the report again, under the same id, when the operator could not record it", func() {
		n := created(team("bill-again", retained))
		reports := func() int { return len(billed.Of(n)()) }
		// How often a status says before that billing is being asked depends on how fast that answers.
		lost := op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool {
			return w.For("bill-again") && w.Method == http.MethodPatch && reports() < 2
		}})
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		Expect(lost.Tripped()).NotTo(BeZero())
		releases := billed.Of(n)()
		Expect(len(releases)).To(BeNumerically(">", 1))
		for _, r := range releases {
			Expect(r).To(Equal(releases[0]))
		}
		Expect(releases[0].ID).To(BeEquivalentTo(n.UID))
	})

	It("gets the report of a namespace that a user deleted before", func() {
		n := created(team("bill-gone"))
		op.Stop()
		Remove(namespaceOf(n))
		Eventually(Gone(bareNamespace("app-bill-gone"))).Should(Succeed())
		Remove(n)
		op.Start()
		Eventually(Gone(n)).Should(Succeed())
		Expect(billed.Of(n)()).To(HaveLen(1))
	})

	It("gets no report of a namespace that never existed", func() {
		never := op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool { return w.For("app-bill-never") }})
		n := team("bill-never")
		Create(n)
		Eventually(Condition(n, "Composed")).Should(HavePrefix("False"))
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		Expect(billed.Of(n)()).To(BeEmpty())
		never.Heal()
	})

	It("delays the deletion while it is down, and the condition names the way out", func() {
		billed.answer(errBilling)
		DeferCleanup(func() { billed.answer(nil) })
		healed, skipped := created(team("bill-healed", retained)), created(team("bill-skipped", retained))
		for _, n := range []*v1alpha1.AcmeNamespace{healed, skipped} {
			Remove(n)
			Eventually(Condition(n, "BillingReleased")).Should(Equal("False BillingFailed"))
			Expect(Message(n, "BillingReleased")).To(Equal(untold(unexplained)))
			Expect(Condition(n, "NamespaceReleased")()).To(Equal("Unknown NotReached"))
			Expect(Ready(n)()).To(Equal("False BillingFailed"))
			Expect(n.Status.Phase).To(Equal(v1alpha1.PhaseTerminating))
		}
		Eventually(func() int { return len(billed.Of(healed)()) }).Should(BeNumerically(">", 6), "it is retried at least every second")
		Expect(namespaceOf(healed).Annotations).NotTo(HaveKey(annotationReleased))

		By("a report that is skipped: the condition does not claim it")
		stuck := Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: skipped.Spec.NamespaceName, Name: "stuck", Finalizers: []string{"test.example.com/stuck"},
		}})
		Change(skipped, func(n *v1alpha1.AcmeNamespace) {
			n.Spec.DeletionPolicy = v1alpha1.DeletionDelete
			skipBilling(n)
		})
		Eventually(Condition(skipped, "NamespaceReleased")).Should(Equal("False NamespaceTerminating"))
		Expect(Condition(skipped, "BillingReleased")()).To(Equal("True BillingSkipped"))
		Expect(Message(skipped, "BillingReleased")).To(Equal(`not reported to billing, because the annotation tenancy.acme.com/skip-billing is "true"`))
		heard := len(billed.Of(skipped)())
		Patch(stuck, `{"metadata":{"finalizers":null}}`)
		Eventually(Gone(skipped)).Should(Succeed())
		Expect(billed.Of(skipped)()).To(HaveLen(heard))
		Expect(Gone(healed)()).NotTo(Succeed())
		billed.answer(nil)
		Eventually(Gone(healed)).Should(Succeed())
		Expect(namespaceOf(healed).Annotations).To(HaveKeyWithValue(annotationReleased, "bill-healed"))
	})
})

// receiver is a billing system with configurable answers.
type receiver struct {
	mu     sync.Mutex
	code   int
	hang   chan struct{}
	events []*http.Request
	bodies []map[string]string
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body map[string]string
	_ = json.NewDecoder(req.Body).Decode(&body)
	r.mu.Lock()
	r.events, r.bodies = append(r.events, req), append(r.bodies, body)
	code, hang := r.code, r.hang
	r.mu.Unlock()
	if hang != nil {
		<-hang
	}
	w.WriteHeader(code)
}

func (r *receiver) answer(code int, hang chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.code, r.hang = code, hang
}

// About gives the ids of the events about a namespace. There may be several: one that was sent before the
// operator could note it is sent again, under the same id.
func (r *receiver) About(namespace string) func() []string {
	return func() []string {
		r.mu.Lock()
		defer r.mu.Unlock()
		var ids []string
		for _, e := range r.events {
			if e.Header.Get("Ce-Subject") == namespace {
				ids = append(ids, e.Header.Get("Ce-Id"))
			}
		}
		return ids
	}
}

var _ = Describe("Billing by CloudEvents", Ordered, ContinueOnFailure, func() {
	r := &receiver{code: http.StatusAccepted}
	BeforeAll(func() {
		server := httptest.NewServer(r)
		DeferCleanup(server.Close)
		StartOperator(Configured(fmt.Sprintf(
			"acmeNamespace: {billing: {type: CloudEvents, retryMax: 1s, cloudEvents: {url: %s/releases, source: urn:acme:test, timeout: 300ms}}}", server.URL)))
	})

	It("gets an event with everything that it needs", func() {
		n := created(team("event", retained, func(s *v1alpha1.AcmeNamespaceSpec) { s.AdminUsername = "oidc:sam" }))
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		Expect(r.About("app-event")()).To(HaveEach(string(n.UID)))
		got := r.events[len(r.events)-1]
		Expect(got.URL.Path).To(Equal("/releases"))
		Expect(got.Method).To(Equal(http.MethodPost))
		for name, want := range map[string]string{
			"Ce-Specversion": "1.0", "Ce-Type": "com.acme.tenancy.namespace.released", "Ce-Source": "urn:acme:test", "Content-Type": "application/json",
		} {
			Expect(got.Header.Get(name)).To(Equal(want), name)
		}
		Expect(r.bodies[len(r.bodies)-1]).To(Equal(map[string]string{
			"name": "event", "namespace": "app-event", "tier": "dev", "admin": "oidc:sam",
		}))
	})

	DescribeTable("accepts answers that mean success", func(code int) {
		r.answer(code, nil)
		n := created(team(fmt.Sprintf("event-%d", code), retained))
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		Expect(r.About(n.Spec.NamespaceName)()).To(HaveEach(string(n.UID)))
	},
		Entry(nil, http.StatusOK), Entry(nil, http.StatusNoContent), Entry(nil, http.StatusNotFound), Entry(nil, http.StatusConflict),
	)

	DescribeTable("is called without end, under one id, until it recovers", func(name, why string, ill func()) {
		ill()
		n := created(team(name, retained))
		Remove(n)
		Eventually(Condition(n, "BillingReleased")).Should(Equal("False BillingFailed"))
		Expect(Message(n, "BillingReleased")).To(Equal(untold(why)))
		Eventually(func() int { return len(r.About(n.Spec.NamespaceName)()) }).Should(BeNumerically(">", 3))
		r.answer(http.StatusAccepted, nil)
		Eventually(Gone(n)).Should(Succeed())
		Expect(r.About(n.Spec.NamespaceName)()).To(HaveEach(string(n.UID)))
	},
		Entry("500", "event-ill", "status 500 Internal Server Error", func() { r.answer(http.StatusInternalServerError, nil) }),
		Entry("401", "event-denied", "status 401 Unauthorized", func() { r.answer(http.StatusUnauthorized, nil) }),
		Entry("a redirect", "event-moved", "a redirect (status 302), which is not followed; configure the address that it leads to", func() {
			r.answer(http.StatusFound, nil)
		}),
		Entry("no answer in time", "event-slow", "no answer in time", func() {
			hang := make(chan struct{})
			DeferCleanup(func() { close(hang) })
			r.answer(http.StatusAccepted, hang)
		}),
	)
})

var _ = Describe("Billing by CloudEvents over TLS", Ordered, ContinueOnFailure, func() {
	It("gets no report without trust, and gets it once its authority is configured", func() {
		r := &receiver{code: http.StatusAccepted}
		server := httptest.NewUnstartedServer(r)
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that hang up
		server.StartTLS()
		DeferCleanup(server.Close)
		ca := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: "billing-ca"},
			Data:       map[string]string{"ca.crt": string(otherAuthority())},
		}
		token := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: "billing-token"},
			StringData: map[string]string{"token": "canary-of-billing"},
		}
		Create(ca)
		Create(token)
		StartOperator(Configured(fmt.Sprintf("acmeNamespace: {billing: {type: CloudEvents, retryMax: 1s, "+
			"cloudEvents: {url: %s, tokenSecret: {name: billing-token}, caConfigMap: {name: billing-ca}}}}", server.URL)))

		n := created(team("event-tls", retained))
		Remove(n)
		Eventually(Condition(n, "BillingReleased")).Should(Equal("False BillingFailed"))
		Expect(Message(n, "BillingReleased")).To(Equal(
			untold("TLS: its certificate is from an authority that is not trusted; check caConfigMap")))
		Expect(r.About("app-event-tls")()).To(BeEmpty())

		Change(ca, func(cm *corev1.ConfigMap) { cm.Data["ca.crt"] = string(pemOf(server.Certificate())) })
		Eventually(Gone(n)).Should(Succeed())
		Expect(r.About("app-event-tls")()).To(HaveEach(string(n.UID)))
		Expect(r.events[0].Header.Get("Authorization")).To(Equal("Bearer canary-of-billing"))
		Expect(strings.Join(EventsOf(n)(), " ")).NotTo(ContainSubstring("canary"))
	})
})
