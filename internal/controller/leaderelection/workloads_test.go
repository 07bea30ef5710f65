// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("Workloads whose pods are candidates", func() {
	It("says that it elects among pods of two workloads", func() {
		StartOperator()
		e := election()
		pod(e.Namespace, "ledger-0")
		deployment(e.Namespace, "blue", map[string]string{"app": "ledger"})
		deployment(e.Namespace, "green", map[string]string{"app": "ledger", "color": "green"})
		deployment(e.Namespace, "other", map[string]string{"app": "other"})
		AwaitReady(Create(e))
		Expect(Message(e, "Accepted")).To(Equal("spec.podSelector selects pods of 2 workloads, one of which leads: Deployment/blue, Deployment/green"))
	})

	It("hands over once while a workload rolls", func() {
		StartOperator()
		e := election()
		of := func(template string) func(*corev1.Pod) {
			return func(p *corev1.Pod) { p.Labels["pod-template-hash"] = template }
		}
		a, b := pod(e.Namespace, "ledger-a", of("old")), pod(e.Namespace, "ledger-b", of("old"))
		d := deployment(e.Namespace, "ledger", map[string]string{"app": "ledger"})
		AwaitReady(Create(e))
		Expect(leader(e)()).To(Equal("ledger-a 1"))
		Eventually(func() int64 { return time.Now().Unix() }).Should(BeNumerically(">", b.CreationTimestamp.Unix()), "which has seconds only")
		pod(e.Namespace, "ledger-y", of("new"))
		kill(a)
		Eventually(leader(e)).Should(Equal("ledger-y 2"), "and not to one that goes next")
		pod(e.Namespace, "ledger-z", of("new"))
		kill(b)
		Eventually(routed(e, "ledger-members")).Should(ConsistOf("ledger-y", "ledger-z"))
		Eventually(func() int32 { Expect(Reload(e)).To(Succeed()); return e.Status.Candidates }).Should(BeEquivalentTo(2))
		Expect(leader(e)()).To(Equal("ledger-y 2"))
		Expect(Reload(d)).To(Succeed())
		Expect(d.Generation).To(BeEquivalentTo(1), "the Deployment is as it was")
	})

	It("does not use a label that a workload uses", func() {
		StartOperator()
		e := election()
		deployment(e.Namespace, "ledger", map[string]string{"app": "ledger", "leader": "false"})
		Create(e)
		Eventually(Ready(e)).Should(Equal("False LabelInUse"))
		Expect(Message(e, "Accepted")).To(ContainSubstring("is in the selector or the pod template of Deployment/ledger"))
	})
})
