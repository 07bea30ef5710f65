// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy_test

import (
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	databasesv1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/controller/rebootpolicy"
	"github.com/acme/platform-operator/internal/external/dbagent"
	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv/fakedb"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A policy that names a Database", Ordered, func() {
	var (
		w        *world
		servers  *fakedb.Servers
		ns, host string
		d        *appsv1.Deployment
	)

	BeforeAll(func() {
		var err error
		servers, err = fakedb.Start(Plane.Config)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(servers.Stop)
		w = newWorld(Configured("database: {agentImage: registry.acme.com/operator}\n"), func(o *operator.Options) { o.Agents = dbagent.NewHTTP(servers.Dial) })
	})
	BeforeEach(func() {
		ns = Namespace()
		host = names.DatabaseHost(ns, "db")
		d = Create(deployment(ns, "web"))
		w.holds(host, "the-first-value")
	})

	database := func() *databasesv1alpha1.Database {
		return &databasesv1alpha1.Database{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db", Finalizers: []string{"test.acme.com/hold"}},
			Spec:       databasesv1alpha1.DatabaseSpec{Type: databasesv1alpha1.Postgres, DatabaseName: "orders"},
		}
	}
	naming := func() *v1alpha1.RebootPolicy {
		return policy(ns, "p", func(s *v1alpha1.RebootPolicySpec) {
			s.Source = v1alpha1.DatabaseSource{DatabaseRef: &v1alpha1.DatabaseReference{Name: "db"}}
		})
	}
	connection := func() *corev1.Secret {
		GinkgoHelper()
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db"}}
		Expect(Reload(s)).To(Succeed())
		return s
	}
	asked := func() sqldb.Source {
		s, _ := w.asked(host)
		return s
	}
	unread := func(p *v1alpha1.RebootPolicy, reason, message string, stalled bool) {
		GinkgoHelper()
		Eventually(Ready(p)).Should(Equal("False " + reason))
		Expect(Message(p, "ValueRead")).To(Equal(message + ". The last value is kept, and nothing is restarted"))
		Expect(meta.IsStatusConditionTrue(p.Status.Conditions, "Stalled")).To(Equal(stalled))
		Expect(p.Status.Restarts).To(BeZero())
	}

	It("waits for it, reads with its connection Secret, and follows it", func() {
		p := Create(naming())
		unread(p, "DatabaseMissing", "the Database db does not exist; create it, or name another one in source.databaseRef", true)
		servers.Change(ns+"/db-g1", func(s *fakedb.Server) { s.NotReady = true })
		db := Create(database())
		unread(p, "DatabaseNotReady", "the Database db does not run; see its conditions", false)
		Expect(w.readsOf(host)()).To(BeZero())
		servers.Change(ns+"/db-g1", func(s *fakedb.Server) { s.NotReady = false })
		AwaitReady(p)
		Expect(p.Status.Observed).To(HaveLen(1))
		Expect(Message(p, "Admitted")).To(Equal("connections to the Database are not encrypted, because it has no TLS"))
		Expect(EventsOf(p)()).NotTo(ContainElement(ContainSubstring("Unencrypted")))
		Expect(asked()).To(Equal(sqldb.Source{
			Namespace: ns, Type: sqldb.Postgres, Host: host, Port: 5432, Database: "orders",
			User: "app", Password: string(connection().Data["password"]), TLS: sqldb.TLS{Disabled: true},
		}))
		Expect(Reload(db)).To(Succeed())
		Expect(db.Status.Endpoint).To(Equal(host + ":5432"))

		By("rotating the password")
		Annotate(db, names.AnnotationRotate, "one")
		Eventually(func() string { return asked().User }).Should(Equal("app_b"))
		Eventually(func() string { return asked().Password }).Should(Equal(string(connection().Data["password"])))
		AwaitReady(p)
		Expect(restarts(p)()).To(BeZero())

		By("changing the value")
		w.holds(host, "another")
		w.polled(p)
		Eventually(restarts(p)).Should(Equal(int64(1)))
		Expect(p.Status.History[0].Source).To(Equal("postgres/orders/settings.value"))
		Expect(templates(d)).To(Equal(int64(2)))

		By("isolating the egress of the namespace")
		Create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "isolated"}, Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress:      []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}},
		}})
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db"}}
		Expect(Reload(service)).To(Succeed())
		Expect(rebootpolicy.Reach{Live: Admin}.Allowed(ctx, ns, netip.AddrPortFrom(netip.MustParseAddr(service.Spec.ClusterIP), 5432))).To(BeTrue())
	})

	It("keeps the last value while it is suspended, deleted and created again", func() {
		db := AwaitReady(Create(database()))
		p := watching(naming())
		was := p.Status.Observed
		Patch(db, `{"spec":{"suspended":true}}`)
		unread(p, "DatabaseSuspended", "the Database db is suspended; set its spec.suspended to false", true)
		Patch(db, `{"spec":{"suspended":false}}`)
		AwaitReady(p)

		Remove(db)
		unread(p, "DatabaseTerminating", "the Database db is being deleted; name another one in source.databaseRef, or create it again once it is gone", true)
		Eventually(func() []string { _ = Reload(db); return db.Finalizers }).Should(ConsistOf("test.acme.com/hold"))
		Change(db, func(db *databasesv1alpha1.Database) { db.Finalizers = nil })
		unread(p, "DatabaseMissing", "the Database db does not exist; create it, or name another one in source.databaseRef", true)

		Create(database())
		AwaitReady(p)
		Expect(p.Status.Observed).To(Equal(was))
		Expect(restarts(p)()).To(BeZero())
		Expect(templates(d)).To(Equal(int64(1)))
		Expect(EventsOf(p)()).NotTo(ContainElement(ContainSubstring("WatchChanged")))
	})

	It("does not read with a Secret that is not the Database's own, or lacks a key", func() {
		db := AwaitReady(Create(database()))
		p := watching(naming())
		own := connection()
		Annotate(db, names.AnnotationPaused, "true")
		Eventually(Condition(db, "Paused")).Should(HavePrefix("True"))
		lacking := "the Database db has no connection Secret of its own with user name and password; see its conditions"

		Change(own, func(s *corev1.Secret) { delete(s.Data, "password") })
		unread(p, "DatabaseNotReady", lacking, false)
		Remove(own)
		foreign := Create(credentials(ns, "the-password"))
		rerun(p)
		unread(p, "DatabaseNotReady", lacking, false)
		Expect(asked().Password).NotTo(Equal("the-password"))

		By("letting the Database make its own again")
		Remove(foreign)
		Annotate(db, names.AnnotationPaused, "")
		AwaitReady(p)
		Expect(asked().Password).To(Equal(string(connection().Data["password"])))
		Expect(restarts(p)()).To(BeZero())
	})
})
