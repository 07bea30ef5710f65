/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package acmenamespace_test

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("The order of guardrails", func() {
	It("takes rights away before it gives any", func() {
		op := StartOperator()
		n := created(team("in-order"))
		var order []string
		for _, w := range op.Wire.Writes(func(w testenv.Write) bool { return strings.HasPrefix(w.Path, "namespaces/"+n.Spec.NamespaceName+"/") }) {
			order = append(order, strings.Split(w.Path, "/")[2])
		}
		Expect(order).To(ContainElements("networkpolicies", "rolebindings", "limitranges", "resourcequotas", "roles"))
		Expect(order[0]).To(Equal("networkpolicies"), "%v", order)
		Expect(slices.Index(order, "roles")).To(Equal(len(order)-1), "%v", order)
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
	})
})
