// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("That all pods meet the Pod Security level", func() {
	It("is recorded, until another level was enforced meanwhile", func() {
		op := StartOperator()
		n := created(team("pods-record"))
		ns := namespaceOf(n)
		Expect(n.Status.PodSecurity).To(Equal(v1alpha1.PodSecurityBaseline))
		enforced(ns.Name, "dev", "pods", "count/pods")

		op.Stop()
		Patch(ns, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`)
		loose := pod(ns.Name, "loose")
		loose.Spec.HostNetwork = true
		Eventually(func() error { return Admin.Create(ctx, loose.DeepCopy()) }).Should(Succeed())
		op.Start()
		Eventually(Ready(n)).Should(Equal("True TierViolated"))
		Expect(Message(n, "Composed")).To(ContainSubstring("1 pod(s) violate the Pod Security level baseline (loose)"))
		Expect(n.Status.PodSecurity).To(BeEmpty())

		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.Quota = amounts("pods", "7") })
		Eventually(Ready(n)).Should(Equal("True TierViolated"), "it is not forgotten by another change")
	})
})
