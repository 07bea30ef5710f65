// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("The metrics", func() {
	It("tell of restarts that wait, and for how long", func() {
		const suppressed, age = "platform_operator_restarts_suppressed_total", "platform_operator_restart_pending_age_seconds"
		StartOperator()
		ns := Namespace()
		cm := Create(configMap(ns, "config", "k", "A"))
		w := watching(watcher(ns, "w", "web", func(s *v1alpha1.ConfigWatcherSpec) { s.Restart.Debounce = at(time.Hour) }))
		waited, undone := Metric(suppressed, "configwatcher", "Debounce"), Metric(suppressed, "configwatcher", "ChangeUndone")
		set(cm, "k", "B")
		Eventually(restarts(w)).Should(Equal(int64(-1)))
		Eventually(func() float64 { return Metric(suppressed, "configwatcher", "Debounce") }).Should(Equal(waited + 1))
		Eventually(func() float64 { return Metric(age, "configwatcher") }).Should(BeNumerically(">", 0))
		set(cm, "k", "A")
		Eventually(restarts(w)).Should(BeZero())
		Eventually(func() float64 { return Metric(suppressed, "configwatcher", "ChangeUndone") }).Should(Equal(undone + 1))
		Expect(Metric(suppressed, "configwatcher", "Debounce")).To(Equal(waited + 1))

		families, err := metrics.Registry.Gather()
		Expect(err).NotTo(HaveOccurred())
		Expect(families).To(ContainElement(And(HaveField("GetName()", age), HaveField("GetMetric()", HaveLen(2)))), "one for each kind that restarts")
	})
})
