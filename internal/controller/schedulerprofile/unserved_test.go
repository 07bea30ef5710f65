// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"

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
		Expect(Metric("platform_operator_unserved_pods", "silent")).To(BeEquivalentTo(1))
		Expect(Metric("platform_operator_unserved_pods", "unknown")).To(BeZero(), "a tenant has chosen that name")
		Expect(Metric("platform_operator_unserved_pods", "(others)")).To(BeNumerically(">=", 1))

		By("writing it no second time after a restart")
		c.stop()
		c.start()
		Consistently(EventsOf(unknown), 1500*time.Millisecond).Should(HaveLen(1))
	})

	It("is kept with no more of its scheduler's name than a profile may have, and read with few others at once", func() {
		ns := team("long")
		pods, err := kubernetes.NewForConfig(Plane.Config)
		Expect(err).NotTo(HaveOccurred())
		source := toolscache.ToListerWatcherWithContext((&unserved{pods: pods}).source())
		for i := range pageSize + 1 {
			Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("long-", i)}, Spec: corev1.PodSpec{
				SchedulerName: strings.Repeat("x", 100<<10), Containers: []corev1.Container{{Name: "c", Image: "registry.acme.com/skynet/t1000:v1"}},
			}})
		}
		check := func(p *corev1.Pod) {
			Expect(len(p.Spec.SchedulerName)).To(BeNumerically("<=", maxSchedulerName+len("…")))
		}

		By("listing them")
		read := 0
		for options := (metav1.ListOptions{ResourceVersion: "0", Limit: pageSize}); ; {
			o, err := source.ListWithContext(ctx, options)
			Expect(err).NotTo(HaveOccurred())
			page := o.(*corev1.PodList)
			Expect(len(page.Items)).To(BeNumerically("<=", pageSize))
			for i := range page.Items {
				check(&page.Items[i])
			}
			read += len(page.Items)
			if options.Continue = page.Continue; options.Continue == "" {
				break
			}
		}
		Expect(read).To(BeNumerically(">", pageSize))

		By("watching them")
		w, err := source.WatchWithContext(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		defer w.Stop()
		for range pageSize + 1 {
			e := watch.Event{}
			Eventually(w.ResultChan()).Should(Receive(&e))
			check(e.Object.(*corev1.Pod))
		}
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
