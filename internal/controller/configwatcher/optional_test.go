// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("What the pods do without", func() {
	BeforeEach(func() { StartOperator() })

	It("counts that an optional source, or key, does not exist as its content", func() {
		d := Create(deployment(Namespace(), "d", "optional"))
		ns := d.Namespace
		w := watching(watcher(ns, "w", "optional", func(s *v1alpha1.ConfigWatcherSpec) {
			s.ConfigMap = ""
			s.Sources = []v1alpha1.Source{
				{Kind: v1alpha1.SourceConfigMap, Name: "whole", Optional: true}, {Kind: v1alpha1.SourceConfigMap, Name: "key", Keys: []string{"k"}, Optional: true},
			}
		}))
		times := int64(0)
		once := func(what string) {
			GinkgoHelper()
			times++
			Eventually(restarts(w)).Should(Equal(times), what)
			rolledOut(d)
			AwaitReady(w)
		}
		whole := Create(configMap(ns, "whole", "a", "b"))
		once("it is created")
		Remove(whole)
		once("it is deleted")
		Create(configMap(ns, "whole"))
		key := Create(configMap(ns, "key", "other", "x"))
		rerun(w)
		Consistently(restarts(w)).Should(Equal(times), "an empty one is as good as none")
		set(key, "k", "v")
		once("the key is created")
		Remove(key)
		once("the key is deleted with its object")
	})
})
