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

package guarantees

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// Fixtures configure tries that are at most a second apart. By doubling alone, 15 of them take 14 minutes.
var _ = Describe("RetryMax", Label("RetryMax"), func() {
	It("bounds the time between two tries of every kind, as it is configured", func() {
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
