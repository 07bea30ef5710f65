// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy_test

import (
	"context"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("Trouble", Ordered, func() {
	var (
		w  *world
		ns string
		d  *appsv1.Deployment
	)

	BeforeAll(func() { w = newWorld() })
	BeforeEach(func() {
		ns = namespaceWithSecret()
		d = Create(deployment(ns, "web"))
		w.holds(ns, "the-first-value")
	})

	stalled := func(p *v1alpha1.RebootPolicy) bool {
		return meta.IsStatusConditionTrue(p.Status.Conditions, "Stalled")
	}

	DescribeTable("with the database is reported, and restarts nothing when it is over", func(reason sqldb.Reason, wantStalled bool) {
		p := watching(policy(ns, "p"))
		was := p.Status.Observed
		w.fails(ns, reason)
		w.polled(p)
		Eventually(Ready(p)).Should(Equal("False " + string(reason)))
		Expect(stalled(p)).To(Equal(wantStalled))
		Expect(Message(p, "ValueRead")).To(Equal("it is so. The last value is kept, and nothing is restarted"))
		Expect(p.Status.Observed).To(Equal(was))

		By("starting the operator again meanwhile")
		w.operator.Stop()
		w.operator.Wire.Forget()
		before := w.readsOf(ns)()
		w.operator.Start()
		Eventually(w.readsOf(ns)).Should(BeNumerically(">", before))
		Expect(w.operator.Wire.Writes(func(x testenv.Write) bool { return x.For(ns) })).To(BeEmpty())

		By("being back with the same value")
		w.holds(ns, "the-first-value")
		w.polled(p)
		AwaitReady(p)
		Expect(p.Status.Observed).To(Equal(was))
		Expect(restarts(p)()).To(BeZero())
		Expect(templates(d)).To(Equal(int64(1)))

		By("being away again, and back with another value")
		w.fails(ns, reason)
		w.polled(p)
		Eventually(Ready(p)).Should(Equal("False " + string(reason)))
		w.holds(ns, "another")
		w.polled(p)
		Eventually(restarts(p)).Should(Equal(int64(1)))
		Expect(templates(d)).To(Equal(int64(2)))
	},
		Entry("unreachable", sqldb.Unreachable, false),
		Entry("statement too slow", sqldb.TimedOut, false),
		Entry("login refused", sqldb.LoginRefused, true),
		Entry("no row", sqldb.NoRow, true),
		Entry("two rows", sqldb.ManyRows, true),
		Entry("two columns", sqldb.ManyColumns, true),
		Entry("a statement that writes", sqldb.Refused, true),
		Entry("TLS", sqldb.Insecure, true),
		Entry("a forbidden address", sqldb.Forbidden, true),
		Entry("a value too large", sqldb.TooLarge, true),
	)

	It("from the first reading on is no baseline", func() {
		w.fails(ns, sqldb.Unreachable)
		p := Create(policy(ns, "p"))
		Eventually(Ready(p)).Should(Equal("False SourceUnreachable"))
		Expect(p.Status.Observed).To(BeEmpty())
		w.holds(ns, "the-first-value")
		w.polled(p)
		AwaitReady(p)
		Expect(restarts(p)()).To(BeZero())
		Expect(templates(d)).To(Equal(int64(1)))
	})

	It("with the Secret is reported, and over as soon as it is right", func() {
		secret := credentials(ns, "the-password")
		Remove(secret.DeepCopy())
		p := Create(policy(ns, "p"))
		Eventually(Ready(p)).Should(Equal("False CredentialsMissing"))
		Expect(Message(p, "ValueRead")).To(Equal("the Secret db does not exist; create it, or name another one in source"))
		Expect(stalled(p)).To(BeTrue())
		Expect(w.readsOf(ns)()).To(BeZero())

		Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db"}, StringData: map[string]string{"username": "app"}})
		Eventually(func() string { _ = Reload(p); return Message(p, "ValueRead") }).Should(Equal("the Secret db has no key password; add it, or name another one in source"))
		Change(secret, func(s *corev1.Secret) { s.Data["password"] = []byte("the-password") })
		AwaitReady(p)

		By("rotating the password")
		Change(secret, func(s *corev1.Secret) { s.Data["password"] = []byte(`p@:/?#%'\ {`) })
		Eventually(func() string { s, _ := w.asked(ns); return s.Password }).Should(Equal(`p@:/?#%'\ {`))
		rerun(p)
		AwaitReady(p)

		By("taking the Secret away while it is watched")
		Remove(secret.DeepCopy())
		Eventually(Ready(p)).Should(Equal("False CredentialsMissing"))
		Expect(restarts(p)()).To(BeZero())
		Expect(templates(d)).To(Equal(int64(1)))
		Expect(everything(p, d)).NotTo(Or(ContainSubstring("the-password"), ContainSubstring("p@:")))
	})

	It("with the certificate authorities is reported", func() {
		p := Create(policy(ns, "p", func(s *v1alpha1.RebootPolicySpec) {
			s.Source.TLS = &v1alpha1.SourceTLS{CASecretRef: &v1alpha1.CAReference{Name: "ca"}, ServerName: "db.acme.com"}
		}))
		Eventually(Ready(p)).Should(Equal("False CredentialsMissing"))
		Expect(Message(p, "ValueRead")).To(Equal("the Secret ca does not exist; create it, or name another one in source"))
		Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ca"}, StringData: map[string]string{"ca.crt": "the authorities"}})
		AwaitReady(p)
		source, _ := w.asked(ns)
		Expect(source.TLS).To(Equal(sqldb.TLS{CA: "the authorities", ServerName: "db.acme.com"}))
	})

	It("never comes from a Secret of another namespace", func() {
		elsewhere := namespaceWithSecret()
		Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: "theirs"}, StringData: map[string]string{"username": "a", "password": "b"}})
		p := Create(policy(ns, "p", func(s *v1alpha1.RebootPolicySpec) { s.Source.CredentialsSecretRef.Name = "theirs" }))
		Eventually(Ready(p)).Should(Equal("False CredentialsMissing"))
		Expect(w.readsOf(ns)()).To(BeZero())
	})

	It("is near when connections are not encrypted, and so it is reported", func() {
		p := watching(policy(ns, "p", func(s *v1alpha1.RebootPolicySpec) { s.Source.TLS = &v1alpha1.SourceTLS{Mode: v1alpha1.TLSDisable} }))
		Eventually(EventsOf(p)).Should(ContainElement(HavePrefix("Warning Unencrypted: connections to the database are not encrypted")))
		Expect(Message(p, "Admitted")).To(ContainSubstring("not encrypted"))
		source, _ := w.asked(ns)
		Expect(source.TLS.Disabled).To(BeTrue())
	})

	It("with one source holds up no other", func() {
		hanging := ns + "-hanging"
		release := w.hangs(hanging)
		DeferCleanup(release)
		var stuck []*v1alpha1.RebootPolicy
		for i := range 50 {
			stuck = append(stuck, Create(policy(ns, "stuck-"+strconv.Itoa(i), func(s *v1alpha1.RebootPolicySpec) { s.Source.Host = hanging })))
		}
		for _, p := range stuck {
			Eventually(Ready(p)).Should(Equal("False Reading"))
		}
		p := watching(policy(ns, "p"))
		for i := range 3 {
			w.holds(ns, "value "+strconv.Itoa(i))
			w.polled(p)
			Eventually(restarts(p)).Should(Equal(int64(i + 1)))
		}
		release()
		for _, p := range stuck {
			Eventually(Ready(p)).Should(Equal("False SourceUnreachable"))
		}
	})

	It("with a driver that panics is the policy's own", func() {
		p := watching(policy(ns, "p"))
		w.answer(ns, func(context.Context) (sqldb.Value, error) { panic("the-password") })
		w.polled(p)
		Eventually(Ready(p)).Should(Equal("False SourceUnreachable"))
		Expect(Message(p, "ValueRead")).To(ContainSubstring("could not be asked"))
		w.holds(ns, "the-first-value")
		w.polled(p)
		AwaitReady(p)
	})

	It("is no steady state: reading the same again writes nothing", func() {
		p := watching(policy(ns, "p"))
		w.operator.Wire.Forget()
		for i := range 10 {
			before := w.readsOf(ns)()
			w.clock.SetTime(w.clock.Now().Add(2 * time.Hour))
			Change(p, func(p *v1alpha1.RebootPolicy) {
				metav1.SetMetaDataAnnotation(&p.ObjectMeta, "looked-at", strconv.Itoa(i))
			})
			Eventually(w.readsOf(ns)).Should(BeNumerically(">", before))
		}
		Expect(w.operator.Wire.Writes(func(x testenv.Write) bool { return x.For(ns) })).To(BeEmpty())
	})

	It("comes from an attempt on the cluster's own namespaces", func() {
		for _, protected := range []string{"kube-system", testenv.OperatorNamespace} {
			p := Create(policy(protected, "p"))
			DeferCleanup(func() { Remove(p) })
			Eventually(Ready(p)).Should(Equal("False ProtectedNamespace"))
			Expect(w.readsOf(protected)()).To(BeZero())
		}
	})
})
