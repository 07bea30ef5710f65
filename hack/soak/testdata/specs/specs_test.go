// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package specs has specs that fail for one seed.
package specs

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/acme/platform-operator/internal/testenv/limit"
)

func TestSpecs(t *testing.T) { RunSpecs(t, "specs", limit.Of(t)) }

var _ = Describe("A toy", func() {
	It("passes", func() {})
	It("fails for three", Label("Three"), func() {
		if GinkgoRandomSeed() == 3 {
			Fail("as it has to")
		}
	})
	PIt("is pending", func() {})
})
