/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package crontab_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
)

// measured is the value of the counter or gauge, or the number of observations of the histogram, of that name.
func measured(name string) float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return -1
}

var _ = Describe("The metrics", Ordered, func() {
	const (
		delays = "platform_operator_crontab_start_delay_seconds"
		missed = "platform_operator_crontab_missed_runs_total"
		going  = "platform_operator_crontab_active_runs"
	)
	var op *testenv.Operator

	BeforeAll(func() { op = startOperator() })
	BeforeEach(func() { now.SetTime(time.Now()) })

	It("tell how late runs start, and how many go on", func() {
		c := created(cronTab())
		started, active := measured(delays), measured(going)
		Expect(active).NotTo(BeNumerically("<", 0), "it is registered")
		name := come(c)
		Expect(measured(delays)).To(Equal(started + 1))
		Eventually(func() float64 { return measured(going) }).Should(Equal(active + 1))
		end(c, name, true)
		Eventually(func() float64 { return measured(going) }).Should(Equal(active))
	})

	It("and events tell of missed runs once, however often the status cannot be written", func() {
		c := created(cronTab(func(c *v1alpha1.CronTab) { c.Spec.MissedRuns.Policy = v1alpha1.MissedSkip }))
		before := measured(missed)
		Expect(before).NotTo(BeNumerically("<", 0), "it is registered")
		fault := op.Wire.Inject(testenv.Fault{Count: 3, Match: func(w testenv.Write) bool {
			return w.For(c.Namespace) && strings.HasSuffix(w.Path, "/status")
		}})
		now.SetTime(c.Status.NextRuns[2].Add(5 * time.Minute))
		poke(c)
		Eventually(func() int64 { Expect(reload(c)).To(Succeed()); return c.Status.Missed }).Should(BeEquivalentTo(3))
		Expect(fault.Tripped()).To(Equal(3))
		Eventually(eventsOf(c)).Should(ContainElement("Warning Missed"))
		Expect(measured(missed)).To(Equal(before + 3))
		Consistently(func(g Gomega) {
			list := &eventsv1.EventList{}
			g.Expect(admin.List(ctx, list, client.InNamespace(c.Namespace))).To(Succeed())
			g.Expect(list.Items).To(HaveEach(HaveField("Series", BeNil())), "nothing is told twice")
		}).Should(Succeed())
	})
})
