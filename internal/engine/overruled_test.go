// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/acme/platform-operator/internal/engine"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A child that admission changes", func() {
	var (
		w       *Widget
		now     *clocktesting.FakePassiveClock
		cfg     engine.Config[*Widget]
		release func()
	)
	BeforeEach(func() {
		w = widget()
		now = clocktesting.NewFakePassiveClock(time.Now())
		cfg = engine.Config[*Widget]{Owns: owned, Keeps: kept, Clock: now}
	})
	// overrule has admission change quotas of the spec's namespace.
	overrule := func(change string) {
		GinkgoHelper()
		probe := quotaAt(w.Namespace, "probe")
		probe.Labels = map[string]string{"platform.acme.com/owner-uid": "x"}
		probe.Spec.Hard = corev1.ResourceList{"pods": resource.MustParse("1")}
		release = Overrule("", "resourcequotas", fmt.Sprintf("object.metadata.namespace == '%s'", w.Namespace), change, probe)
	}
	// look has the object run once more.
	look := func(kind *recipe[*Widget]) {
		GinkgoHelper()
		Poke(w)
		settledRuns(kind.looks)
	}

	It("is named with its field, stops none of the others, and is sent again when it is time", func() {
		overrule(`[JSONPatch{op: "replace", path: "/spec/hard/pods", value: "7"}]`)
		kind := composing(quota(w.Namespace, "q", "pods", "3", "requests.cpu", "1000m"), role(w.Namespace, "other", "get"))
		r := start(widgets(kind, cfg))
		Eventually(Ready(w)).Should(Equal("False ChildOverruled"))
		Expect(Condition(w, engine.Stalled)()).To(Equal("True ChildOverruled"))
		Expect(Message(w, "Composed")).To(Equal("ResourceQuota " + w.Namespace + "/q differs from what was sent: an admission plugin of the cluster " +
			"(a mutating webhook or policy) changes spec.hard[pods]. " +
			"Exempt objects with the label app.kubernetes.io/managed-by: platform-operator from it"))
		Expect(verbs(w.Namespace, "other")()).To(Equal([]string{"get"}))

		for range 3 {
			look(kind)
		}
		Expect(r.Writing("APPLY resourcequotas")).To(HaveLen(1), "it is as the API server answered")
		release()
		look(kind)
		Expect(Ready(w)()).To(Equal("False ChildOverruled"))
		now.SetTime(now.Now().Add(time.Minute))
		Poke(w)
		AwaitReady(w)
		Expect(hard(w.Namespace, "q", "pods")()).To(Equal("3"))
		Expect(r.Writing("APPLY resourcequotas")).To(HaveLen(2))
	})

	It("is sent again at once when the intent changes, or another writer has changed it", func() {
		overrule(`[JSONPatch{op: "replace", path: "/spec/hard/pods", value: "7"}]`)
		kind := composing(quota(w.Namespace, "q", "pods", "3"))
		r := start(widgets(kind, cfg))
		Eventually(Ready(w)).Should(Equal("False ChildOverruled"))
		Annotate(liveQuota(w.Namespace, "q"), "theirs", "yes")
		Eventually(r.Writing).WithArguments("APPLY").Should(HaveLen(2))
		kind.set(quota(w.Namespace, "q", "pods", "7"))
		Poke(w)
		AwaitReady(w)
	})

	It("causes no loop, even if it is changed differently each time", func() {
		overrule(`[JSONPatch{op: "replace", path: "/spec/hard/pods", value: oldObject == null ? "7" : oldObject.metadata.resourceVersion}]`)
		kind := composing(quota(w.Namespace, "q", "pods", "3"))
		r := start(widgets(kind, cfg))
		Eventually(Ready(w)).Should(Equal("False ChildOverruled"))
		settledRuns(kind.looks)
		Expect(len(r.Writing("APPLY"))).To(BeNumerically("<=", 2))
	})

	It("is none of which the API server rounds amounts", func() {
		r := start(widgets(composing(quota(w.Namespace, "q", "requests.cpu", "100u", "requests.memory", "0.5"), quota(w.Namespace, "r", "pods", "3")), cfg))
		AwaitReady(w)
		Expect(hard(w.Namespace, "q", "requests.cpu")()).To(Equal("1m"))
		Expect(r.Writing("APPLY resourcequotas")).To(HaveLen(2))
	})

	It("is noticed by what is missing as well, also where the cache does not show it any more", func() {
		overrule(`[JSONPatch{op: "remove", path: "/metadata/labels/platform.acme.com~1owner-uid"}]`)
		start(widgets(composing(quota(w.Namespace, "q", "pods", "3")), cfg), selectMarked)
		Eventually(Ready(w)).Should(Equal("False ChildOverruled"))
		Expect(Message(w, "Composed")).To(ContainSubstring("changes metadata.labels[platform.acme.com/owner-uid]. "))
	})
})
