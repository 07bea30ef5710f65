// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/suite"
)

// Run runs the specs of a package against a control plane with controllers, and with what config/install holds.
func Run(t *testing.T, name string) {
	OfKinds(suite.Setup{Options: testenv.Options{WithControllers: true}}).Run(t, name)
}

// OfKinds is a setup in which clients know every kind, and config/install is installed.
func OfKinds(s suite.Setup) suite.Setup {
	s.Scheme, s.Installed = operator.Scheme(), true
	return s
}

// StartOperator starts an operator for a spec, or for those of an ordered container.
func StartOperator(mutate ...func(*operator.Options)) *Operator {
	ginkgo.GinkgoHelper()
	return Start(ginkgo.GinkgoT(), suite.Plane, mutate...)
}

// Configured gives an operator a configuration, of which it takes the text below apiVersion and kind.
func Configured(text string) func(*operator.Options) {
	ginkgo.GinkgoHelper()
	file := ConfigFile(ginkgo.GinkgoT(), "apiVersion: config.acme.com/v1alpha1\nkind: PlatformOperatorConfig\n"+text)
	return func(o *operator.Options) { o.ConfigFile = file }
}
