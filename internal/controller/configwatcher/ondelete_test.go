// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// podOf is a running pod that a workload has made.
func podOf(kind string, owner client.Object, app string) *corev1.Pod {
	GinkgoHelper()
	p := pod(owner.GetNamespace(), owner.GetName()+"-0", app)
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(kind))}
	return runningPod(p)
}

var _ = Describe("A workload that is updated by hand", func() {
	It("gets the mark, and its pods are evicted; those of others do that by themselves", func() {
		StartOperator()
		ns := Namespace()
		cm := Create(configMap(ns, "config", "k", "v"))
		set1, set2, daemons := statefulSet(ns, "by-hand", "web"), statefulSet(ns, "by-itself", "web"), daemonSet(ns, "daemons", "web")
		set1.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		daemons.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
		byHand, byItself, ofDaemons := podOf("StatefulSet", Create(set1), "web"), podOf("StatefulSet", Create(set2), "web"), podOf("DaemonSet", Create(daemons), "web")
		w := watching(watcher(ns, "w", "web"))
		set(cm, "k", "w")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		for _, o := range []client.Object{set1, set2, daemons} {
			Expect(marks(o)).To(HaveLen(1))
		}
		Expect(Gone(byHand)()).To(Succeed())
		Expect(Gone(ofDaemons)()).To(Succeed())
		Expect(Gone(byItself)()).NotTo(Succeed())
		Expect(w.Status.History[0].Outcome).To(Equal(common.OutcomeRestarted))
		Expect(w.Status.History[0].Message).To(Equal("3 workloads, 2 pods"))
		Eventually(EventsOf(byHand)).Should(ContainElement(HavePrefix("Normal Restarted: ConfigMap/config: k changed")))
	})

	It("loses its next pod only when the one that was made for the last is available", func() {
		StartOperator()
		ns := Namespace()
		cm := Create(configMap(ns, "config", "k", "v"))
		set1 := statefulSet(ns, "s", "web")
		set1.Spec.Replicas, set1.Spec.UpdateStrategy.Type = new(int32(2)), appsv1.OnDeleteStatefulSetStrategyType
		Create(set1)
		made := func(name string) *corev1.Pod {
			p := pod(ns, name, "web")
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set1, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
			return p
		}
		one, two := runningPod(made("s-0")), runningPod(made("s-1"))
		w := watching(watcher(ns, "w", "web", func(s *v1alpha1.ConfigWatcherSpec) { s.Restart.MaxConcurrent = 1 }))
		set(cm, "k", "w")
		waits := func() string { Expect(Reload(w)).To(Succeed()); return Message(w, "UpToDate") }
		Eventually(waits).Should(ContainSubstring("StatefulSet/s has 1 of 2 pods available"))
		Expect(w.Status.Pending.Reason).To(Equal("MaxConcurrent"))
		rerun(w)
		rerun(w)
		Expect(away(one)()).To(BeTrue())
		Expect(away(two)()).To(BeFalse())
		runningPod(made("s-0"))
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(away(two)()).To(BeTrue())
	})
})
