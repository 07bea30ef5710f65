// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("An annotated ConfigMap, an annotated Secret and a ConfigWatcher", func() {
	It("that restart one workload and wait at the same time make one rollout", func() {
		op := StartOperator()
		ns := Namespace()
		d := Create(deployment(ns, "d", "web"))
		annotations := map[string]string{annotationSelector: "app=web"}
		cm := configMap(ns, "config", "k", "v")
		cm.Annotations = annotations
		Create(cm)
		secret := Create(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s", Annotations: annotations}, StringData: map[string]string{"k": "v"},
		})
		w := watching(watcher(ns, "w", "web"))
		Eventually(noted(cm)).Should(Equal("True Ready 0"))
		Eventually(noted(secret)).Should(Equal("True Ready 0"))

		By("holding them back until all of them wait")
		refuse := op.Wire.Inject(testenv.Fault{Match: func(x testenv.Write) bool { return x.Path == "namespaces/"+ns+"/deployments/d" }})
		set(cm, "k", "w")
		Change(secret, func(o *corev1.Secret) { o.Data["k"] = []byte("w") })
		Eventually(noted(cm)).Should(Equal("pending"))
		Eventually(noted(secret)).Should(Equal("pending"))
		Eventually(restarts(w)).Should(Equal(int64(-1)))
		refuse.Heal()
		Eventually(noted(cm)).Should(Equal("True Ready 1"))
		Eventually(noted(secret)).Should(Equal("True Ready 1"))
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(marks(d)).To(HaveLen(3))
		Expect(templates(d)()).To(Equal(int64(2)))
	})
})
