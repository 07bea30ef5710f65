// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
)

// withOperator adds specs that need the installed operator. A kind calls it in a file of its own; the specs run after the
// installation and before the first upgrade, in the order of the files' names, and leave nothing behind that hinders those
// that follow.
//
//	var _ = withOperator("CronTab", func() {
//		It("fires", func(ctx SpecContext) { … })
//	})
//
// What begin does comes before the specs of all kinds: it asks for what takes minutes until there is something to look at.
func withOperator(kind string, specs func(), begin ...func(context.Context)) bool {
	ofKinds = append(ofKinds, kindSpecs{kind, specs, begin})
	return true
}

type kindSpecs struct {
	kind  string
	specs func()
	begin []func(context.Context)
}

var ofKinds []kindSpecs

// releases are the versions that the story has made.
var first, second, third release

// The story runs in order: each part continues where the one before ended.
var _ = Describe("The operator", Ordered, func() {
	Context("is installed by a tenant", specsOfInstallation)
	Context("serves users", func() {
		BeforeAll(func(ctx SpecContext) {
			for _, each := range ofKinds {
				for _, begin := range each.begin {
					begin(ctx)
				}
			}
		}, NodeTimeout(soon))
		for _, each := range ofKinds {
			Context("of "+each.kind, each.specs)
		}
	})
	Context("is upgraded under a writer", specsOfUpgrade)
	Context("is removed, and is installed again", specsOfReturn)
	Context("gets a version that never becomes ready", specsOfFailure)
	Context("goes without a trace", specsOfRemoval)
	Context("is deployed with kustomize and cert-manager", specsOfDeployment)
	Context("is run by operator-sdk", specsOfRunBundle)
})
