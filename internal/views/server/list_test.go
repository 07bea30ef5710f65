// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A list", func() {
	It("has the namespaces that the user may get, and no others", func() {
		mine, other := Namespace(), Namespace()
		name, sam := newUser()
		Eventually(namesOf(sam)).Should(BeEmpty())
		grant(mine, "view", user(name))
		Eventually(namesOf(sam)).Should(Equal([]string{mine}))
		grant(other, "view", group("builders"))
		_, kim := newUser("builders")
		Eventually(namesOf(kim)).Should(Equal([]string{other}))
		Eventually(namesOf(as(name, "builders"))).Should(ConsistOf(mine, other))
		Expect(namesOf(Plane.Config)(NewGomegaWithT(GinkgoT()))).To(ContainElements(mine, other, "default", "kube-system"))
	})
})
