// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// seriesOf is how many series tell of a kind, buckets included.
func seriesOf(kind string) int {
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	n := 0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if (l.GetName() == "kind" || l.GetName() == "controller") && l.GetValue() == kind {
					n += max(1, len(m.GetHistogram().GetBucket())+2)
				}
			}
		}
	}
	return n
}

var _ = Describe("The census", func() {
	const age = "platform_operator_object_state_age_seconds"
	about := func(state string) func() float64 {
		return func() float64 { return Metric(age, "widget", state) }
	}
	hour := BeNumerically("~", 3600, 5)

	It("tells for how long the object that is worst off is so", func() {
		steps, kind := levers("First")
		clock := clocktesting.NewFakePassiveClock(time.Now())
		start(widgets(kind, engine.Config[*Widget]{Clock: clock}))
		w := widget()
		AwaitReady(w)
		clock.SetTime(clock.Now().Add(time.Hour))
		Expect(about("NotReady")()).To(BeZero(), "an object that is Ready")
		Expect(about("Stalled")()).To(BeZero())
		steps[0].set(engine.Block("BadColour", ""), nil)
		Poke(w)
		Eventually(Ready(w)).Should(Equal("False BadColour"))
		Eventually(about("Stalled")).Should(BeNumerically("<", 5), "it stalls only now")
		Expect(about("NotReady")()).To(BeNumerically("<", 5))

		clock.SetTime(clock.Now().Add(time.Hour))
		Expect(about("NotReady")()).To(hour)
		Expect(about("Stalled")()).To(hour)
		Expect(about("Deleting")()).To(BeZero())
		young := widget()
		Eventually(Ready(young)).Should(Equal("False BadColour"))
		Expect(about("NotReady")()).To(hour, "the oldest counts")
		Remove(young)
		Eventually(Gone(young)).Should(Succeed())

		Annotate(w, names.AnnotationPaused, "true")
		Eventually(about("NotReady")).Should(BeZero(), "it is paused")
		Annotate(w, names.AnnotationPaused, "")
		Eventually(about("NotReady")).Should(hour)
		steps[0].set(engine.Done(), nil)
		Poke(w)
		AwaitReady(w)
		Eventually(about("NotReady")).Should(BeZero())
		Eventually(about("Stalled")).Should(BeZero())
	})

	It("tells for how long an object has been deleted and is still there", func(ctx context.Context) {
		_, kind := levers("First")
		clock := clocktesting.NewFakePassiveClock(time.Now())
		start(widgets(kind, engine.Config[*Widget]{Clock: clock}))
		w := widget()
		AwaitReady(w)
		const held = "test.acme.com/held"
		Patch(w, `{"metadata":{"finalizers":["`+held+`"]}}`)
		Expect(Admin.Delete(ctx, w)).To(Succeed())
		Eventually(func() bool { return Reload(w) == nil && w.DeletionTimestamp != nil }).Should(BeTrue())
		clock.SetTime(time.Now().Add(time.Hour))
		Eventually(about("Deleting")).Should(hour)
		Expect(about("NotReady")()).To(BeZero(), "an object that is deleted need not be Ready")
		Patch(w, `{"metadata":{"finalizers":null}}`)
		Eventually(about("Deleting")).Should(BeZero())
	})

	It("has as many series for a hundred objects as for one", func() {
		_, kind := levers("First")
		start(widgets(kind, engine.Config[*Widget]{}))
		AwaitReady(widget())
		one := seriesOf("widget")
		Expect(one).To(BeNumerically(">", 30), "the search for series is broken")
		for range 99 {
			AwaitReady(widget())
		}
		Eventually(func() float64 { return Metric("platform_operator_objects", "widget", "True") }).Should(BeEquivalentTo(100))
		Expect(seriesOf("widget")).To(Equal(one))
	})
})
