// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("The order of guardrails", func() {
	It("takes rights away before it gives any", func() {
		op := StartOperator()
		n := created(team("in-order"))
		var order []string // of the types, by what was stored first of each: another run may write what it does not see yet
		for _, w := range op.Wire.Writes(func(w testenv.Write) bool { return strings.HasPrefix(w.Path, "namespaces/"+n.Spec.NamespaceName+"/") }) {
			if of := strings.Split(w.Path, "/")[2]; w.Code < http.StatusMultipleChoices && !slices.Contains(order, of) {
				order = append(order, of)
			}
		}
		Expect(order).To(ContainElements("networkpolicies", "rolebindings", "limitranges", "resourcequotas", "roles"))
		Expect(order[0]).To(Equal("networkpolicies"), "%v", order)
		Expect(order[len(order)-1]).To(Equal("roles"), "%v", order)
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
	})
})
