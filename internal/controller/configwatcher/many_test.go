// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher_test

import (
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("Many", Label(limit.Slow), func() {
	It("watchers and twenty changes of the leader restart nothing", func() {
		const watchers, changes = 100, 20
		ns := Namespace()
		Create(configMap(ns, "config", "k", "v"))
		op := StartOperator(func(o *operator.Options) { o.LeaderElect = true })
		for i := range watchers {
			app := fmt.Sprint("app-", i)
			Create(deployment(ns, app, app))
			Create(watcher(ns, app, app))
		}
		list := &v1alpha1.ConfigWatcherList{}
		Eventually(func() int {
			Expect(Admin.List(ctx, list, client.InNamespace(ns))).To(Succeed())
			n := 0
			for _, w := range list.Items {
				n += len(w.Status.Observed)
			}
			return n
		}).Should(Equal(watchers))
		runs := func() float64 { return Metric("controller_runtime_reconcile_total", "configwatcher") }
		Expect(Admin.List(ctx, list)).To(Succeed()) // other specs have left some, too
		op.Stop()
		op.Wire.Forget()
		for range changes {
			before := runs()
			op.Start()
			Eventually(op.Leads()).Should(BeClosed())
			Eventually(func() float64 { return runs() - before }).Should(BeNumerically(">=", len(list.Items)))
			op.Stop()
		}
		Expect(op.Wire.Writes(func(w testenv.Write) bool { return w.For(ns) })).To(BeEmpty())
		deployments := &appsv1.DeploymentList{}
		Expect(Admin.List(ctx, deployments, client.InNamespace(ns))).To(Succeed())
		Expect(deployments.Items).To(HaveLen(watchers))
		for _, d := range deployments.Items {
			Expect(d.Generation).To(Equal(int64(1)))
		}

		By("changing what all of them watch")
		op.Start()
		set(&corev1.ConfigMap{ObjectMeta: configMap(ns, "config").ObjectMeta, Data: map[string]string{}}, "k", "w")
		Eventually(func() map[int64]int {
			Expect(Admin.List(ctx, deployments, client.InNamespace(ns))).To(Succeed())
			generations := map[int64]int{}
			for _, d := range deployments.Items {
				generations[d.Generation]++
			}
			return generations
		}).Should(Equal(map[int64]int{2: watchers}))
	})

	It("workloads of one watcher restart once each", func() {
		const workloads = 500
		ns := Namespace()
		cm := Create(configMap(ns, "config", "k", "v"))
		var made sync.WaitGroup
		for n := range 10 {
			made.Go(func() {
				defer GinkgoRecover()
				for i := range workloads / 10 {
					Create(deployment(ns, fmt.Sprintf("d-%d-%d", n, i), "web"))
				}
			})
		}
		made.Wait()
		StartOperator()
		w := watching(watcher(ns, "w", "web"))
		set(cm, "k", "w")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(w.Status.Workloads).To(HaveLen(workloads))
		Expect(w.Status.History[0].Message).To(Equal("500 workloads"))
		deployments := &appsv1.DeploymentList{}
		Expect(Admin.List(ctx, deployments, client.InNamespace(ns))).To(Succeed())
		for _, d := range deployments.Items {
			Expect(d.Generation).To(Equal(int64(2)))
		}
	})
})
