// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy_test

import (
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A change of the value", Ordered, func() {
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

	// rolled plays the part of the Deployment controller, which does not run: all pods are new and available.
	rolled := func() {
		GinkgoHelper()
		Expect(Reload(d)).To(Succeed())
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
		Expect(Admin.Status().Update(ctx, d)).To(Succeed())
	}

	It("restarts the target once, and says why without the value", func() {
		p := watching(policy(ns, "p"))
		other := Create(deployment(ns, "other"))
		Expect(templates(d)).To(Equal(int64(1)))
		source, watch := w.asked(ns)
		Expect(source).To(Equal(sqldb.Source{Namespace: ns, Type: sqldb.Postgres, Host: ns, Port: 5432, Database: "app", User: "app", Password: "the-password"}))
		Expect(watch).To(Equal(sqldb.Watch{Table: "settings", Column: "value"}))

		w.holds(ns, "the-second-value")
		w.polled(p)
		Eventually(restarts(p)).Should(Equal(int64(1)))
		Expect(marks(d)).To(HaveKey(mark + "p"))
		Expect(templates(d)).To(Equal(int64(2)))
		Eventually(EventsOf(p)).Should(ContainElement("Normal Restarting: postgres/app/settings.value changed"))
		Eventually(EventsOf(d)).Should(ContainElement("Normal Restarted: postgres/app/settings.value changed (rebootpolicy p)"))
		Expect(p.Status.History).To(HaveLen(1))
		Expect(p.Status.History[0].Reason).To(Equal("ValueChanged"))
		Expect(p.Status.History[0].Outcome).To(Equal(common.OutcomeRestarted))
		Expect(p.Status.ValueType).To(Equal("text"))
		Expect(everything(p, d)).NotTo(Or(ContainSubstring("-value"), ContainSubstring("the-password")))

		for range 3 {
			w.polled(p)
			Expect(restarts(p)()).To(Equal(int64(1)))
		}
		Expect(templates(d)).To(Equal(int64(2)))
		Expect(templates(other)).To(Equal(int64(1)))
	})

	It("is counted, and so are readings", func() {
		before := Metric("platform_operator_database_polls_total", "postgres", "Value")
		failed := Metric("platform_operator_database_polls_total", "postgres", "NoRow")
		restarted := Metric("platform_operator_restarts_total", "rebootpolicy")
		p := watching(policy(ns, "p"))
		w.fails(ns, sqldb.NoRow)
		w.polled(p)
		Eventually(Ready(p)).Should(Equal("False NoRow"))
		w.holds(ns, "another")
		w.polled(p)
		Eventually(restarts(p)).Should(Equal(int64(1)))
		Expect(Metric("platform_operator_database_polls_total", "postgres", "Value")).To(BeNumerically(">=", before+2))
		Expect(Metric("platform_operator_database_polls_total", "postgres", "NoRow")).To(BeNumerically(">=", failed+1))
		Expect(Metric("platform_operator_database_poll_seconds", "postgres")).To(BeNumerically(">=", before+failed+3))
		Expect(Metric("platform_operator_restarts_total", "rebootpolicy")).To(Equal(restarted + 1))
	})

	It("is one for NULL, for an empty text, and back to an earlier value", func() {
		p := watching(policy(ns, "p"))
		for i, v := range []sqldb.Value{
			{Kind: sqldb.KindText, Null: true},
			{Kind: sqldb.KindText},
			{Kind: sqldb.KindText, Text: "NULL"},
			{Kind: sqldb.KindUnknown, Null: true},
			{Kind: sqldb.KindText, Text: "the-first-value"},
		} {
			w.gives(ns, v)
			w.polled(p)
			Eventually(restarts(p)).Should(Equal(int64(i + 1)))
		}
		Expect(templates(d)).To(Equal(int64(6)))
	})

	It("restarts what the selector selects", func() {
		p := watching(policy(ns, "p", func(s *v1alpha1.RebootPolicySpec) {
			s.Target, s.PodSelector = nil, map[string]v1alpha1.LabelValue{"app": "web"}
		}))
		other := Create(deployment(ns, "other"))
		w.holds(ns, "another")
		w.polled(p)
		Eventually(restarts(p)).Should(Equal(int64(1)))
		Expect(templates(d)).To(Equal(int64(2)))
		Expect(templates(other)).To(Equal(int64(1)))
	})

	It("restarts nothing when the target does not exist, and says so until it does", func() {
		p := Create(policy(ns, "p", func(s *v1alpha1.RebootPolicySpec) { s.Target.Name = "wbe" }))
		Eventually(Ready(p)).Should(Equal("False TargetMissing"))
		Expect(Message(p, "UpToDate")).To(ContainSubstring("Deployment/wbe does not exist"))
		Change(p, func(p *v1alpha1.RebootPolicy) { p.Spec.Target.Name = "web" })
		AwaitReady(p)
	})

	It("is none when the value is back before the debounce is over", func() {
		rolled()
		p := watching(policy(ns, "p", func(s *v1alpha1.RebootPolicySpec) {
			s.Interval, s.Restart.Debounce = at(time.Minute), at(time.Hour)
		}))
		w.holds(ns, "another")
		w.polled(p)
		Eventually(restarts(p)).Should(Equal(int64(-1)))
		Expect(p.Status.Pending.Reason).To(Equal("Debounce"))
		w.holds(ns, "the-first-value")
		w.polled(p)
		Eventually(restarts(p)).Should(Equal(int64(0)))
		w.clock.SetTime(w.clock.Now().Add(2 * time.Hour))
		w.polled(p)
		Expect(restarts(p)()).To(BeZero())
		Expect(templates(d)).To(Equal(int64(1)))
	})

	It("restarts a workload once for all policies that read it, each at a moment of its own", func() {
		rolled()
		var all []*v1alpha1.RebootPolicy
		for i := range 3 {
			all = append(all, watching(policy(ns, fmt.Sprint("p", i), func(s *v1alpha1.RebootPolicySpec) { s.Restart.Debounce = at(time.Minute) })))
		}
		reads := func(p *v1alpha1.RebootPolicy) {
			w.polled(p)
			Eventually(restarts(p)).Should(Equal(int64(-1)))
			w.clock.SetTime(w.clock.Now().Add(2 * time.Minute))
			rerun(p)
		}
		for round, value := range []string{"another", "the-first-value"} {
			generation := templates(d)
			w.holds(ns, value)
			for i, p := range all {
				reads(p)
				Eventually(restarts(p)).Should(Equal(int64(round + 1)))
				Expect(templates(d)).To(Equal(generation + 1))
				Expect(p.Status.History[0].Message).To(Equal(map[bool]string{true: "1 workload", false: "0 workloads; 1 had rolled since the change"}[i == 0]))
				rolled()
			}
		}

		By("reading another value in between")
		generation := templates(d)
		w.holds(ns, "a-third")
		reads(all[0])
		Eventually(restarts(all[0])).Should(Equal(int64(3)))
		rolled()
		w.holds(ns, "the-first-value")
		w.polled(all[1])
		w.holds(ns, "a-third")
		reads(all[2])
		Eventually(restarts(all[2])).Should(Equal(int64(3)))
		Expect(templates(d)).To(Equal(generation + 2))
	})

	It("is not seen when the value is back before it is read", func() {
		p := watching(policy(ns, "p"))
		w.holds(ns, "another")
		w.holds(ns, "the-first-value")
		w.polled(p)
		rerun(p)
		Expect(restarts(p)()).To(BeZero())
	})

	It("is none when the policy watches something else", func() {
		p := watching(policy(ns, "p"))
		w.holds(ns, "another")
		Change(p, func(p *v1alpha1.RebootPolicy) { p.Spec.Watch = v1alpha1.Watch{Query: "SELECT 1"} })
		AwaitReady(p)
		Eventually(EventsOf(p)).Should(ContainElement(HavePrefix("Normal WatchChanged: ")))
		_, watch := w.asked(ns)
		Expect(watch.Query).To(Equal("SELECT 1"))
		Expect(restarts(p)()).To(BeZero())
		Expect(templates(d)).To(Equal(int64(1)))

		By("changing the value that is now watched")
		w.holds(ns, "a-third")
		w.polled(p)
		Eventually(restarts(p)).Should(Equal(int64(1)))
		Expect(templates(d)).To(Equal(int64(2)))
	})

	It("is none when the type changes, but one afterwards", func() {
		w.gives(ns, sqldb.Value{Kind: sqldb.KindInteger, Text: "5"})
		p := watching(policy(ns, "p"))
		w.gives(ns, sqldb.Value{Kind: sqldb.KindText, Text: "five"})
		w.polled(p)
		Eventually(EventsOf(p)).Should(ContainElement(HavePrefix("Warning TypeChanged: the type of the value has changed from integer to text")))
		Eventually(func() string { Expect(Reload(p)).To(Succeed()); return p.Status.ValueType }).Should(Equal("text"))
		Expect(restarts(p)()).To(BeZero())
		w.gives(ns, sqldb.Value{Kind: sqldb.KindText, Text: "six"})
		w.polled(p)
		Eventually(restarts(p)).Should(Equal(int64(1)))
		Expect(templates(d)).To(Equal(int64(2)))
	})

	It("restarts once although the status cannot be written for a while", func() {
		p := watching(policy(ns, "p"))
		w.operator.Wire.Inject(testenv.Fault{
			Match: func(x testenv.Write) bool { return x.For(ns) && x.Method == http.MethodPatch }, Count: 7, Lost: true,
		})
		DeferCleanup(w.operator.Wire.Heal)
		w.holds(ns, "another")
		w.clock.SetTime(w.clock.Now().Add(2 * time.Hour))
		Change(p, func(p *v1alpha1.RebootPolicy) { p.Spec.Restart.MinInterval = at(time.Millisecond) })
		Eventually(restarts(p)).Should(Equal(int64(1)))
		Expect(templates(d)).To(Equal(int64(2)))
	})

	It("is waited for until a window opens, and never when none does", func() {
		p := Create(policy(ns, "never", func(s *v1alpha1.RebootPolicySpec) {
			s.Restart.Windows = []common.RestartWindow{{Schedule: "0 0 30 2 *", Duration: metav1.Duration{Duration: time.Hour}}}
		}))
		Eventually(Ready(p)).Should(Equal("False WindowNeverOpens"))
		p = watching(policy(ns, "later", func(s *v1alpha1.RebootPolicySpec) {
			month := (int(w.clock.Now().Month())+5)%12 + 1
			s.Restart.Windows = []common.RestartWindow{{Schedule: fmt.Sprintf("0 0 1 %d *", month), Duration: metav1.Duration{Duration: time.Hour}}}
		}))
		w.holds(ns, "another")
		w.polled(p)
		Eventually(restarts(p)).Should(Equal(int64(-1)))
		Expect(p.Status.Pending.Reason).To(Equal("OutsideWindow"))
		Expect(p.Status.Pending.NotBefore.Time).To(BeTemporally(">", w.clock.Now()))
		Expect(templates(d)).To(Equal(int64(1)))
	})
})
