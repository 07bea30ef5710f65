// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A CronTab in trouble", Ordered, ContinueOnFailure, func() {
	BeforeAll(func() { startOperator() })
	BeforeEach(func() { now.SetTime(time.Now()) })

	DescribeTable("that the schema admits reports what is wrong, and recovers", func(spec, zone, says string) {
		c := cronTab(func(c *v1alpha1.CronTab) { c.Spec.CronSpec, c.Spec.TimeZone = spec, zone })
		Create(c)
		Eventually(Ready(c)).Should(Equal("False InvalidSchedule"))
		Expect(Message(c, "Ready")).To(ContainSubstring(says))
		Change(c, func(c *v1alpha1.CronTab) { c.Spec.CronSpec, c.Spec.TimeZone = "5 0 * * *", "Europe/Berlin" })
		AwaitReady(c)
	},
		Entry("a step that does not fit", "5 */30 * * *", "", `hour "*/30": step: "30" is wrong: want 1-24`),
		Entry("a range that runs backwards", "5 3-1 * * *", "", "runs backwards"),
		Entry("a time zone that is none", "5 0 * * *", "Europe/Bielefeld", `there is no time zone "Europe/Bielefeld"`),
	)

	DescribeTable("makes up for nothing once it is valid", func(before string) {
		c := cronTab(func(c *v1alpha1.CronTab) { c.Spec.CronSpec = before })
		Create(c)
		Eventually(Ready(c)).Should(BeElementOf("True Ready", "False InvalidSchedule"))
		Change(c, func(c *v1alpha1.CronTab) { c.Spec.CronSpec = "*/10 3-1 * * *" })
		Eventually(Ready(c)).Should(Equal("False InvalidSchedule"))
		now.SetTime(now.Now().Add(time.Hour))
		Change(c, func(c *v1alpha1.CronTab) { c.Spec.CronSpec = "*/10 * * * *" })
		AwaitReady(c)
		Expect(jobs(c)).To(BeEmpty())
		Expect(c.Status.Missed).To(BeZero())
	},
		Entry("having made sense before", "*/10 * * * *"),
		Entry("for the first time", "*/10 9-2 * * *"),
	)

	It("that never fires is accepted and reports it", func() {
		c := created(cronTab(func(c *v1alpha1.CronTab) { c.Spec.CronSpec = "0 0 30 2 *" }))
		Expect(Ready(c)()).To(Equal("True NeverFires"))
		Expect(c.Status.NextRuns).To(BeEmpty())
		Eventually(EventsOf(c)).Should(ContainElement(HavePrefix("Warning NeverFires: ")))
	})

	It("is rejected by the webhook at once", func() {
		startOperator(func(o *operator.Options) { o.WebhookPort = 0 })
		c := cronTab(func(c *v1alpha1.CronTab) { c.Spec.TimeZone = "Europe/Bielefeld" })
		Expect(Admin.Create(ctx, c)).To(MatchError(ContainSubstring(`spec.timeZone: Invalid value: "Europe/Bielefeld"`)))
		c.Spec.TimeZone = "Europe/Berlin"
		Create(c)
		patch := client.RawPatch(client.Merge.Type(), []byte(`{"spec":{"cronSpec":"5 3-1 * * *"}}`))
		Expect(Admin.Patch(ctx, c, patch)).To(MatchError(ContainSubstring(`hour "3-1": range 3-1 runs backwards: write "3-23,0-1"`)))
	})

	It("leaves another owner's Job of the wanted name alone", func() {
		c := created(cronTab())
		foreign := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: nameOf(c, c.Status.NextRuns[0].Time)},
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "theirs"}},
			}}},
		}
		Create(foreign)
		now.SetTime(c.Status.NextRuns[0].Time)
		Poke(c)
		Eventually(Ready(c)).Should(Equal("False NameTaken"))
		Expect(job(c, foreign.Name).ResourceVersion).To(Equal(foreign.ResourceVersion))
		Remove(foreign, client.PropagationPolicy(metav1.DeletePropagationBackground))
		Poke(c)
		Eventually(active).WithArguments(c).Should(ConsistOf(foreign.Name))
	})

	It("records how runs ended also while the next one is rejected", func() {
		c := created(cronTab(with(v1alpha1.ConcurrencyAllow)))
		first := come(c)
		Change(c, func(c *v1alpha1.CronTab) {
			c.Spec.VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/data"}}
		})
		now.SetTime(c.Status.NextRuns[0].Time)
		Poke(c)
		Eventually(Ready(c)).Should(Equal("False JobRefused"))
		end(c, first, true)
		Eventually(active).WithArguments(c).Should(BeEmpty())
		Expect(c.Status.LastRun.Outcome).To(Equal(v1alpha1.OutcomeSucceeded))
		Expect(Ready(c)()).To(Equal("False JobRefused"))
	})

	It("reports why the API server rejects its Job, and starts it when the cause is removed", func() {
		c := created(cronTab(func(c *v1alpha1.CronTab) {
			c.Spec.VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/data"}}
		}))
		slot := c.Status.NextRuns[0]
		now.SetTime(slot.Time)
		Poke(c)
		Eventually(Ready(c)).Should(Equal("False JobRefused"))
		Expect(Message(c, "Ready")).To(ContainSubstring("volumeMounts[0].name"))
		Change(c, func(c *v1alpha1.CronTab) { c.Spec.VolumeMounts = nil })
		Eventually(active).WithArguments(c).Should(ConsistOf(nameOf(c, slot.Time)))
		AwaitReady(c)
	})
})

// removeNow deletes a CronTab now: the API server takes the time of that from its own clock.
func removeNow(c *v1alpha1.CronTab) {
	GinkgoHelper()
	now.SetTime(time.Now())
	Remove(c)
}

var _ = Describe("A CronTab that is deleted", Ordered, ContinueOnFailure, func() {
	BeforeAll(func() { startOperator() })
	BeforeEach(func() { now.SetTime(time.Now()) })

	It("is removed at once without runs in progress, and its ended runs with it", func() {
		c := created(cronTab())
		j := job(c, come(c))
		end(c, j.Name, true)
		Eventually(active).WithArguments(c).Should(BeEmpty())
		removeNow(c)
		Eventually(Gone(c)).Should(Succeed())
		// The garbage collector looks for kinds that are new to it every 30 seconds.
		Eventually(Gone(j), "3m").Should(Succeed())
	})

	It("stops runs in progress first", func() {
		c := created(cronTab())
		j := job(c, come(c))
		removeNow(c)
		Eventually(Gone(c)).Should(Succeed())
		Expect(Gone(j)()).To(Succeed())
	})

	It("awaits runs in progress with the policy Await, until that is changed", func() {
		c := created(cronTab(func(c *v1alpha1.CronTab) {
			c.Spec.DeletionPolicy, c.Spec.ConcurrencyPolicy = v1alpha1.DeletionAwait, v1alpha1.ConcurrencyAllow
		}))
		first, second := come(c), come(c)
		removeNow(c)
		Eventually(Ready(c)).Should(Equal("False RunsGoingOn"))
		Expect(Message(c, "Ready")).To(And(ContainSubstring("2 runs"), ContainSubstring("set it to Stop")))
		end(c, first, true)
		Eventually(func() string { Ready(c)(); return Message(c, "Ready") }).Should(ContainSubstring("1 runs"))
		Expect(jobs(c)).To(ConsistOf(first, second))
		Change(c, func(c *v1alpha1.CronTab) { c.Spec.DeletionPolicy = v1alpha1.DeletionStop })
		Eventually(Gone(c)).Should(Succeed())
	})

	It("is removed when all runs that it awaits have ended", func() {
		c := created(cronTab(func(c *v1alpha1.CronTab) { c.Spec.DeletionPolicy = v1alpha1.DeletionAwait }))
		name := come(c)
		removeNow(c)
		Eventually(Ready(c)).Should(Equal("False RunsGoingOn"))
		end(c, name, false)
		Eventually(Gone(c)).Should(Succeed())
	})

	It("does not wait forever for runs that cannot be stopped", func() {
		c := created(cronTab())
		j := job(c, come(c))
		j.Finalizers = append(j.Finalizers, "test.example.com/stuck")
		Expect(Admin.Update(ctx, j)).To(Succeed())
		removeNow(c)
		Eventually(Ready(c)).Should(Equal("False RunsGoingOn"))
		Expect(Message(c, "Ready")).To(ContainSubstring("5m0s after its deletion"))
		now.SetTime(c.DeletionTimestamp.Add(5 * time.Minute))
		nudge := client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"annotations":{"test/poke":"late"}}}`))
		Expect(client.IgnoreNotFound(Admin.Patch(ctx, c, nudge))).To(Succeed()) // the Job's own end may have woken it already
		Eventually(Gone(c)).Should(Succeed())
		Expect(job(c, j.Name).DeletionTimestamp).NotTo(BeNil())
		Patch(j, `{"metadata":{"finalizers":null}}`)
	})
})
