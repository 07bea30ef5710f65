// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A pod that no scheduler looks at", func() {
	It("gets an event that says why, once", func() {
		c := startController()
		ns := team("events")
		profile("silent", serving("silent"))
		waits := func(scheduler string) *corev1.Pod {
			return Create(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: scheduler},
				Spec:       corev1.PodSpec{SchedulerName: scheduler, Containers: []corev1.Container{{Name: "c", Image: "registry.acme.com/skynet/t1000:v1"}}},
			})
		}
		unknown, silent, foreign := waits("unknown"), waits("silent"), waits("volcano")
		foreign.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable"}}
		Expect(Admin.Status().Update(ctx, foreign)).To(Succeed())
		Consistently(EventsOf(unknown), 1500*time.Millisecond).Should(BeEmpty())
		c.clock.SetTime(c.clock.Now().Add(62 * time.Second))
		Eventually(EventsOf(unknown)).Should(ConsistOf(HavePrefix("Warning NoSuchScheduler: nothing has looked at this pod for a minute: no scheduler is called unknown")))
		Eventually(EventsOf(silent)).Should(ConsistOf(ContainSubstring("the scheduler silent does not serve; see the conditions of the SchedulerProfile silent")))
		Expect(EventsOf(foreign)()).To(BeEmpty())
		Expect(Metric("platform_operator_unserved_pods", "unknown")).To(BeEquivalentTo(1))
		Expect(Metric("platform_operator_unserved_pods", "volcano")).To(BeZero())

		By("writing it no second time after a restart")
		c.stop()
		c.start()
		Consistently(EventsOf(unknown), 1500*time.Millisecond).Should(HaveLen(1))
	})

	It("is counted in the status of its profile", func() {
		c := startController()
		ns := team("counts")
		p := profile("counted", serving("counted"))
		waiting := Create(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "waits"},
			Spec:       corev1.PodSpec{SchedulerName: "counted", Containers: []corev1.Container{{Name: "c", Image: "registry.acme.com/skynet/t1000:v1"}}},
		})
		c.rollOut(p)
		AwaitReady(p)
		Eventually(func() []v1alpha1.ProfileStatus { Poke(p); _ = Reload(p); return p.Status.Profiles }).Should(HaveExactElements(
			HaveField("Pending", BeEquivalentTo(1))))
		Expect(p.Status.Profiles[0].OldestPending.Time).To(BeTemporally("==", waiting.CreationTimestamp.Truncate(time.Minute)))
	})
})

var _ = Describe("The Lease of a scheduler whose object is gone", func() {
	It("is deleted when nobody renews it, and no other one is", func() {
		c := startController()
		lease := func(name string) *coordinationv1.Lease {
			return Create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: coordinationv1.LeaseSpec{
				HolderIdentity: new("x_1"), RenewTime: &metav1.MicroTime{Time: c.clock.Now()},
			}})
		}
		left, long := lease(childName(named("left"))), lease(childName(named(strings.Repeat("long.", 50)+"x")))
		own := lease("platform-operator.acme.com")
		kept := lease(childName(profile("kept", serving("kept"))))
		renewed := lease("renewed-schedulerprofile")
		Change(renewed, func(l *coordinationv1.Lease) {
			l.Spec.RenewTime = &metav1.MicroTime{Time: c.clock.Now().Add(time.Hour)}
		})
		c.clock.SetTime(c.clock.Now().Add(2 * recheck))
		Eventually(Gone(left)).Should(Succeed())
		Eventually(Gone(long)).Should(Succeed())
		for _, l := range []*coordinationv1.Lease{own, kept, renewed} {
			Expect(Reload(l)).To(Succeed())
			Remove(l)
		}
	})
})
