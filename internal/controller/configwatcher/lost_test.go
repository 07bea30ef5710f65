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

package configwatcher_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// statusOf selects the writes of a ConfigWatcher's status.
func statusOf(w client.Object) func(testenv.Write) bool {
	path := "namespaces/" + w.GetNamespace() + "/configwatchers/" + w.GetName() + "/status"
	return func(x testenv.Write) bool { return x.Path == path }
}

var _ = Describe("A restart that could not be written down", Ordered, func() {
	var (
		ns string
		op *testenv.Operator
	)
	slowly := func(s *v1alpha1.ConfigWatcherSpec) { s.Restart.Debounce = at(time.Hour) }

	BeforeAll(func() { op = StartOperator() })
	BeforeEach(func() { ns = Namespace() })

	It("is one more when the content is then as it was", func() {
		cm := Create(configMap(ns, "config", "k", "A"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web", slowly))
		set(cm, "k", "B")
		Eventually(restarts(w)).Should(Equal(int64(-1)))
		fault := op.Wire.Inject(testenv.Fault{Match: statusOf(w)})
		ends(w)
		Eventually(templates(d)).Should(Equal(int64(2)))
		op.Stop()
		fault.Heal()
		set(cm, "k", "A")
		op.Start()
		Eventually(templates(d)).Should(Equal(int64(3)))
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Eventually(Ready(w)).Should(Equal("True Ready"))
	})

	It("is one more also without a debounce", func() {
		cm := Create(configMap(ns, "config", "k", "first"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web"))
		set(cm, "k", "A")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		fault := op.Wire.Inject(testenv.Fault{Match: statusOf(w)})
		set(cm, "k", "B")
		Eventually(templates(d)).Should(Equal(int64(3)))
		op.Stop()
		fault.Heal()
		set(cm, "k", "A")
		op.Start()
		Eventually(templates(d)).Should(Equal(int64(4)))
		Eventually(restarts(w)).Should(Equal(int64(2)))
		Eventually(Ready(w)).Should(Equal("True Ready"))
		Poke(w)
		Expect(templates(d)()).To(Equal(int64(4)))
	})

	It("is one more when it happened along with that of another watcher", func() {
		cm, other := Create(configMap(ns, "config", "k", "A")), Create(configMap(ns, "other", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		one := watching(watcher(ns, "one", "web", slowly))
		two := watching(watcher(ns, "two", "web", slowly, func(s *v1alpha1.ConfigWatcherSpec) { s.ConfigMap = "other" }))
		set(cm, "k", "B")
		set(other, "k", "w")
		Eventually(restarts(one)).Should(Equal(int64(-1)))
		Eventually(restarts(two)).Should(Equal(int64(-1)))
		ends(two)
		Eventually(restarts(two)).Should(Equal(int64(1)))
		Expect(marks(d)).To(HaveLen(2))
		set(cm, "k", "A")
		Eventually(func() *common.PendingRestart { Expect(Reload(one)).To(Succeed()); return one.Status.Pending }).Should(
			HaveValue(HaveField("Replaces", true)))
		ends(one)
		Eventually(restarts(one)).Should(Equal(int64(1)))
		Expect(templates(d)()).To(Equal(int64(3)))
	})
})
