// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher_test

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A restart", Ordered, func() {
	var (
		ns string
		op *Operator
	)

	BeforeAll(func() { op = StartOperator() })
	BeforeEach(func() { ns = Namespace() })

	It("is counted and told once, however often its status cannot be written", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web"))
		before := Metric("platform_operator_restarts_total", "configwatcher")
		fault := op.Wire.Inject(testenv.Fault{Match: statusOf(w), Count: 3})
		set(cm, "k", "w")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(fault.Tripped()).To(Equal(3))
		Expect(templates(d)()).To(Equal(int64(2)))
		Eventually(EventsOf(w)).Should(ContainElement("Normal Restarting: ConfigMap/config: k changed"))
		Eventually(func() float64 { return Metric("platform_operator_restarts_total", "configwatcher") }).Should(Equal(before + 1))
		Consistently(func(g Gomega) {
			list := &eventsv1.EventList{}
			g.Expect(Admin.List(ctx, list, client.InNamespace(ns))).To(Succeed())
			g.Expect(list.Items).To(HaveEach(HaveField("Series", BeNil())), "nothing is reported twice")
		}).Should(Succeed())
	})

	It("is reported however long names are", func() {
		long := strings.Repeat("k", 253)
		name := strings.Repeat("c", 250)
		var data []string
		var sources []v1alpha1.Source
		for i := range 6 {
			name := fmt.Sprint(name, i)
			Create(configMap(ns, name, append(data, long, "v")...))
			sources = append(sources, v1alpha1.Source{Kind: v1alpha1.SourceConfigMap, Name: name})
		}
		d := Create(deployment(ns, strings.Repeat("d", 253), "web"))
		w := watching(watcher(ns, strings.Repeat("w", 253), "web", func(s *v1alpha1.ConfigWatcherSpec) {
			s.ConfigMap, s.Sources, s.Restart.Debounce = "", sources, at(time.Hour)
		}))
		for i := range 6 {
			set(configMap(ns, fmt.Sprint(name, i), long, "v"), long, "w")
		}
		Eventually(func() int {
			Expect(Reload(w)).To(Succeed())
			if w.Status.Pending == nil {
				return 0
			}
			return len(w.Status.Pending.Sources)
		}).Should(Equal(6))
		ends(w)
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Eventually(EventsOf(d)).Should(ContainElement(HavePrefix("Normal Restarted: ConfigMap/")))
		Eventually(EventsOf(w)).Should(ContainElement(HavePrefix("Normal Restarting: ConfigMap/")))
	})

	It("does not reach what is held back: that is shown until it is released", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := deployment(ns, "d", "web")
		d.Spec.Paused = true
		Create(d)
		w := watching(watcher(ns, "w", "web"))
		set(cm, "k", "w")
		Eventually(Condition(w, "UpToDate")).Should(Equal("False RolloutHeld"))
		Expect(Message(w, "UpToDate")).To(ContainSubstring("Deployment/d: it is paused"))
		Expect(restarts(w)()).To(Equal(int64(1)))
		Change(d, func(o *appsv1.Deployment) { o.Spec.Paused = false })
		Eventually(Condition(w, "UpToDate")).Should(Equal("True Done"))
	})

	It("has other hashes for each object, though they watch the same", func() {
		Create(configMap(ns, "config", "k", "a secret that is easy to guess"))
		one, two := watching(watcher(ns, "one", "web")), watching(watcher(ns, "two", "web"))
		Expect(one.Status.Observed[0].Hash).NotTo(Equal(two.Status.Observed[0].Hash))
		Expect(one.Status.Observed[0].Keys["k"]).NotTo(Equal(two.Status.Observed[0].Keys["k"]))
	})
})
