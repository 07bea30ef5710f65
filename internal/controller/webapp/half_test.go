// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp_test

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A WebApp of which a child cannot be created", Ordered, ContinueOnFailure, func() {
	var op *Operator
	BeforeAll(func() { op = StartOperator() })

	DescribeTable("has the others, and goes with them", func(missing string, status int, reason string) {
		ns := Namespace()
		fault := op.Wire.Inject(testenv.Fault{Status: status, Match: func(w testenv.Write) bool { return w.For(ns) && w.For(missing) }})
		DeferCleanup(fault.Heal)
		a := Create(webApp(ns, func(s *v1alpha1.WebAppSpec) { s.Config = map[string]v1alpha1.FileContent{"a": "b"} }))
		made := func() int { return len(children(ns)[string(a.UID)]) }
		Eventually(made).Should(Equal(6), "a NetworkPolicy, a ServiceAccount, a ConfigMap, a budget, a Service, a Deployment and an Ingress, but for one")
		Eventually(Condition(a, "Composed")).Should(Equal(reason))
		Expect(a.Status.Created).To(BeFalse())
		Remove(a)
		Eventually(Gone(a)).Should(Succeed())
		Eventually(func() any { return children(ns) }).Should(BeEmpty())
		fault.Heal()
		Consistently(func() any { return children(ns) }).Should(BeEmpty())
	},
		Entry("because its requests do not get through", "deployments", 0, "False Error"),
		Entry("because its type is not served", "ingresses", http.StatusNotFound, "False NotFound"),
		Entry("because the type of one that comes early is not served", "networkpolicies", http.StatusNotFound, "False NotFound"),
	)
})
