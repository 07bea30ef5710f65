// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// Fixtures configure tries that are at most a second apart. By doubling alone, 15 of them take 14 minutes.
var _ = Describe("RetryMax", func() {
	It("bounds the time between two tries of every kind, as it is configured", labels("RetryMax", table()), func() {
		op := start()
		tries := map[string]func() int{}
		for _, row := range operator.Kinds {
			k := newKind(row)
			o := k.object(unique("retries"))
			tries[k.name] = op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool { return w.Path == k.statusPath(o) }}).Tripped
			k.surround(o)
			Create(o)
			discardLater(o)
		}
		for name, tried := range tries {
			Eventually(tried).Should(BeNumerically(">=", 15), name)
		}
	})
})
