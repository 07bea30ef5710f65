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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A restart", Ordered, func() {
	var (
		ns string
		op *testenv.Operator
	)

	BeforeAll(func() { op = StartOperator() })
	BeforeEach(func() { ns = Namespace() })

	It("is counted and told once, however often its status cannot be written", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web"))
		before := Metric("platform_operator_restarts_total", "configwatcher")
		fault := op.Wire.Inject(testenv.Fault{Match: statusOf(w), Count: 3})
		set(cm, "k", "w")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(fault.Tripped()).To(Equal(3))
		Expect(templates(d)()).To(Equal(int64(2)))
		Eventually(EventsOf(w)).Should(ContainElement("Normal Restarting: ConfigMap/config: k changed"))
		Eventually(func() float64 { return Metric("platform_operator_restarts_total", "configwatcher") }).Should(Equal(before + 1))
		Consistently(func(g Gomega) {
			list := &eventsv1.EventList{}
			g.Expect(Admin.List(ctx, list, client.InNamespace(ns))).To(Succeed())
			g.Expect(list.Items).To(HaveEach(HaveField("Series", BeNil())), "nothing is told twice")
		}).Should(Succeed())
	})

	It("is counted once for an annotated object, too", func() {
		d := Create(deployment(ns, "d", "web"))
		cm := configMap(ns, "config", "k", "v")
		cm.Annotations = map[string]string{annotationSelector: "app=web"}
		Create(cm)
		Eventually(noted(cm)).Should(Equal("True Ready 0"))
		before := Metric("platform_operator_restarts_total", "configmap")
		fault := op.Wire.Inject(testenv.Fault{Count: 3, Match: func(x testenv.Write) bool {
			return x.Path == "namespaces/"+ns+"/configmaps/config" && strings.Contains(string(x.Body), "Restarted")
		}})
		set(cm, "k", "w")
		Eventually(noted(cm)).Should(Equal("True Ready 1"))
		Expect(fault.Tripped()).To(Equal(3))
		Expect(templates(d)()).To(Equal(int64(2)))
		Eventually(func() float64 { return Metric("platform_operator_restarts_total", "configmap") }).Should(Equal(before + 1))
	})
})
