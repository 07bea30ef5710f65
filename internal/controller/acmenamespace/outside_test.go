// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/operator"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// abyss is an outside that takes every question and answers none until it is opened, however long that is: who gives up after
// a while would have its workers free then, on a slow machine before the spec has looked.
type abyss struct {
	open   func()
	opened chan struct{}
	within atomic.Int32
}

func newAbyss() *abyss {
	a := &abyss{opened: make(chan struct{})}
	a.open = sync.OnceFunc(func() { close(a.opened) })
	return a
}

func (a *abyss) fall() {
	a.within.Add(1)
	defer a.within.Add(-1)
	<-a.opened
}

// Released implements billing.Ledger.
func (a *abyss) Released(context.Context, billing.Release) error {
	a.fall()
	return nil
}

// Lookup implements identity.Directory.
func (a *abyss) Lookup(context.Context, string) (bool, error) {
	a.fall()
	return true, nil
}

// crowd is how many objects wait for the outside; there are two workers.
const crowd = 30

var _ = Describe("While the outside accepts calls and never answers", Ordered, ContinueOnFailure, func() {
	const twoWorkers = "acmeNamespace: {maxConcurrentReconciles: 2, billing: {retryMax: 1s}}"

	It("billing blocks nothing but the objects whose release is reported to it", func() {
		hanging := newAbyss()
		StartOperator(Configured(twoWorkers), func(o *operator.Options) { o.Ledger = hanging })
		DeferCleanup(hanging.open) // before the operator stops, which waits for the answers
		var leaving []*v1alpha1.AcmeNamespace
		for i := range crowd {
			n := team(fmt.Sprintf("abyss-%d", i), retained)
			Create(n)
			leaving = append(leaving, n)
		}
		for _, n := range leaving {
			AwaitReady(n)
		}
		for _, n := range leaving {
			Remove(n)
		}
		for _, n := range leaving {
			Eventually(Condition(n, "BillingReleased")).Should(Equal("False BillingPending"))
		}
		Expect(Message(leaving[0], "BillingReleased")).To(Equal("waiting for billing to confirm the release"))
		Eventually(hanging.within.Load).Should(BeNumerically(">", 1))

		By("new ones, and the deletion of one without a report")
		for i := range 3 {
			created(team(fmt.Sprintf("abyss-new-%d", i)))
		}
		skipped := leaving[crowd-1]
		Change(skipped, skipBilling)
		Eventually(Gone(skipped)).Should(Succeed())
		Expect(hanging.within.Load()).To(BeNumerically(">", 1), "they hang as before")
		Expect(hanging.within.Load()).To(BeNumerically("<", crowd), "and are bounded")

		hanging.open()
		for _, n := range leaving {
			Eventually(Gone(n)).Should(Succeed())
		}
	})

	It("the identity provider blocks nothing but the objects that it is queried for", func() {
		hanging := newAbyss()
		StartOperator(Configured(twoWorkers), func(o *operator.Options) { o.Directory = hanging })
		DeferCleanup(hanging.open)
		var coming []*v1alpha1.AcmeNamespace
		for i := range crowd {
			n := team(fmt.Sprintf("unknown-%d", i), asked(fmt.Sprintf("user-%d", i)), retained)
			Create(n)
			coming = append(coming, n)
		}
		for _, n := range coming {
			Eventually(Condition(n, "AdminVerified")).Should(Equal("False IdentityPending"))
		}
		Expect(Message(coming[0], "AdminVerified")).To(Equal("waiting for the identity provider to confirm the user"))
		Expect(Gone(bareNamespace(coming[0].Spec.NamespaceName))()).To(Succeed(), "nothing is made before it has answered")

		By("one of a service account, and the deletion of one")
		created(team("unknown-robot", asked("system:serviceaccount:ci:deployer")))
		Remove(coming[0])
		Eventually(Gone(coming[0])).Should(Succeed())
		Expect(hanging.within.Load()).To(BeNumerically(">", 1), "they hang as before")

		hanging.open()
		for _, n := range coming[1:] {
			AwaitReady(n)
		}
	})
})
