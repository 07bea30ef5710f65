// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("The metrics", Ordered, func() {
	const (
		delays = "platform_operator_crontab_start_delay_seconds"
		missed = "platform_operator_crontab_missed_runs_total"
		going  = "platform_operator_crontab_active_runs"
	)
	var op *Operator

	BeforeAll(func() { op = startOperator() })
	BeforeEach(func() { now.SetTime(time.Now()) })

	It("show how late runs start, and how many are in progress", func() {
		c := created(cronTab())
		started, active := Metric(delays), Metric(going)
		name := come(c)
		Eventually(func() float64 { return Metric(delays) }).Should(Equal(started + 1))
		Eventually(func() float64 { return Metric(going) }).Should(Equal(active + 1))
		end(c, name, true)
		Eventually(func() float64 { return Metric(going) }).Should(Equal(active))
	})

	It("and events count missed runs once, however often the status cannot be written", func() {
		removeAll() // those of other specs would miss runs, too, when the time moves
		c := created(cronTab(func(c *v1alpha1.CronTab) { c.Spec.MissedRuns.Policy = v1alpha1.MissedSkip }))
		before := Metric(missed)
		ns := c.Namespace // c is written to while the operator writes
		statuses := func(w testenv.Write) bool { return w.For(ns) && strings.HasSuffix(w.Path, "/status") }
		fault := op.Wire.Inject(testenv.Fault{Count: 3, Match: statuses})
		now.SetTime(c.Status.NextRuns[2].Add(5 * time.Minute))
		Poke(c)
		Eventually(fault.Tripped).Should(Equal(3))
		Eventually(func() int64 { Expect(Reload(c)).To(Succeed()); return c.Status.Missed }).Should(BeEquivalentTo(3))
		Eventually(EventsOf(c)).Should(ContainElement(HavePrefix("Warning Missed")))
		Eventually(func() float64 { return Metric(missed) }).Should(Equal(before + 3))
		Consistently(func(g Gomega) {
			list := &eventsv1.EventList{}
			g.Expect(Admin.List(ctx, list, client.InNamespace(c.Namespace))).To(Succeed())
			g.Expect(list.Items).To(HaveEach(HaveField("Series", BeNil())), "nothing is reported twice")
		}).Should(Succeed())
	})
})

// removeAll removes all CronTabs, and waits until they are gone.
func removeAll() {
	GinkgoHelper()
	all := &v1alpha1.CronTabList{}
	Expect(Admin.List(ctx, all)).To(Succeed())
	for i := range all.Items {
		Remove(&all.Items[i])
	}
	for i := range all.Items {
		Eventually(Gone(&all.Items[i])).Should(Succeed())
	}
}
