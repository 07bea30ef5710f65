// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A CronTab", Ordered, ContinueOnFailure, func() {
	var op *Operator
	BeforeAll(func() { op = startOperator() })
	BeforeEach(func() { now.SetTime(time.Now()) })

	It("of a minimal manifest is scheduled, with its defaults", func() {
		objects, err := testenv.ReadObjects("testdata/seeds/crontab.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(objects).To(HaveLen(1))
		objects[0].SetNamespace(Namespace())
		Create(objects[0])
		c := &v1alpha1.CronTab{ObjectMeta: metav1.ObjectMeta{Name: objects[0].GetName(), Namespace: objects[0].GetNamespace()}}
		AwaitReady(c)
		Expect(c.Finalizers).To(Equal([]string{"finalizer.batch.acme.com"}))
		Expect(c.Spec.Replicas).To(BeEquivalentTo(1))
		Expect(c.Spec.ConcurrencyPolicy).To(Equal(v1alpha1.ConcurrencyForbid))
		Expect(c.Status.Schedule).To(Equal("* * * * */5"))
		Expect(c.Status.NextRuns).To(HaveLen(5))
		for _, next := range c.Status.NextRuns {
			Expect(next.UTC().Weekday()).To(Or(Equal(time.Sunday), Equal(time.Friday)))
		}
		Expect(c.Status.Selector).To(Equal("batch.acme.com/crontab=my-new-cron-object"))
	})

	It("creates one Job for a slot, and reports it", func() {
		c := created(cronTab(func(c *v1alpha1.CronTab) { c.Spec.Replicas = 3 }))
		slot := c.Status.NextRuns[0]
		now.SetTime(slot.Add(-time.Second))
		Poke(c)
		Consistently(jobs).WithArguments(c).Should(BeEmpty())

		name := come(c)
		Expect(jobs(c)).To(Equal([]string{name}))
		j := job(c, name)
		Expect(metav1.IsControlledBy(j, c)).To(BeTrue())
		Expect(*j.Spec.CompletionMode).To(Equal(batchv1.IndexedCompletion))
		Expect([]int32{*j.Spec.Completions, *j.Spec.Parallelism}).To(Equal([]int32{3, 3}))
		Expect(j.Annotations).To(HaveKeyWithValue("batch.acme.com/slot", slot.UTC().Format(time.RFC3339)))
		Expect(j.Spec.Template.Labels).To(HaveKeyWithValue("batch.acme.com/crontab", "report"))
		Expect(active(c)).To(Equal([]string{name}))
		Expect([]int32{c.Status.ActiveRuns, c.Status.Replicas}).To(Equal([]int32{1, 3}))
		Expect(c.Status.LastRun.Job).To(Equal(name))
		Expect(c.Status.LastRun.Slot.Equal(&slot)).To(BeTrue())
		Expect(c.Status.LastRun.Outcome).To(Equal(v1alpha1.OutcomeRunning))
		Expect(c.Status.NextRuns[0].Time).To(BeTemporally("==", slot.Add(10*time.Minute)))
		Expect(Ready(c)()).To(Equal("True Ready"))
		Eventually(EventsOf(c)).Should(ContainElement(HavePrefix("Normal Started: ")))

		end(c, name, true)
		Eventually(active).WithArguments(c).Should(BeEmpty())
		Expect(c.Status.LastRun.Outcome).To(Equal(v1alpha1.OutcomeSucceeded))
		Expect(c.Status.LastSuccess).NotTo(BeNil())
		Expect(c.Status.Replicas).To(BeZero())
	})

	DescribeTable("has a slot while a run is in progress, with the policy", func(p v1alpha1.ConcurrencyPolicy, check func(c *v1alpha1.CronTab, first, second string)) {
		c := created(cronTab(with(p)))
		first := come(c)
		second := come(c)
		check(c, first, second)
	},
		Entry("Forbid: it is skipped", v1alpha1.ConcurrencyForbid, func(c *v1alpha1.CronTab, first, _ string) {
			Expect(jobs(c)).To(ConsistOf(first))
			Expect(c.Status.Skipped).To(BeEquivalentTo(1))
			Eventually(EventsOf(c)).Should(ContainElement(HavePrefix("Warning Skipped: ")))
			end(c, first, true)
			Eventually(active).WithArguments(c).Should(BeEmpty())
			Expect(jobs(c)).To(ConsistOf(first))
		}),
		Entry("Allow: it is started beside", v1alpha1.ConcurrencyAllow, func(c *v1alpha1.CronTab, first, second string) {
			Expect(jobs(c)).To(ConsistOf(first, second))
			Expect(active(c)).To(ConsistOf(first, second))
			Expect(c.Status.Replicas).To(BeEquivalentTo(2))
		}),
		Entry("Replace: the run is stopped, and the next one started when it is gone", v1alpha1.ConcurrencyReplace, func(c *v1alpha1.CronTab, _, second string) {
			Eventually(active).WithArguments(c).Should(ConsistOf(second))
			Expect(jobs(c)).To(ConsistOf(second))
			Expect(c.Status.Ledger.Queue).To(BeEmpty())
		}),
		Entry("Queue: it waits, and is started when the run has ended", v1alpha1.ConcurrencyQueue, func(c *v1alpha1.CronTab, first, second string) {
			Expect(jobs(c)).To(ConsistOf(first))
			Expect(c.Status.Ledger.Queue).To(HaveLen(1))
			Eventually(EventsOf(c)).Should(ContainElement(HavePrefix("Normal Queued: ")))
			end(c, first, false)
			Eventually(active).WithArguments(c).Should(ConsistOf(second))
			Expect(c.Status.Ledger.Queue).To(BeEmpty())
		}),
	)

	DescribeTable("whose three slots arrived while the operator was down runs, with the policy", func(missed v1alpha1.MissedRuns, started, waiting, lost int) {
		c := created(cronTab(func(c *v1alpha1.CronTab) { c.Spec.MissedRuns = missed }))
		op.Stop()
		now.SetTime(c.Status.NextRuns[2].Add(5 * time.Minute))
		op.Start()
		last := c.Status.NextRuns[2].UTC()
		Eventually(settledUntil).WithArguments(c).Should(BeTemporally("==", last))
		Expect(jobs(c)).To(HaveLen(started))
		Expect(c.Status.Ledger.Queue).To(HaveLen(waiting))
		Expect(c.Status.Missed).To(BeEquivalentTo(lost))
		if lost > 0 {
			Eventually(EventsOf(c)).Should(ContainElement(HavePrefix("Warning Missed: ")))
		}
		for range waiting {
			Eventually(active).WithArguments(c).Should(HaveLen(1))
			running := active(c)
			end(c, running[0], true)
			Eventually(active).WithArguments(c).ShouldNot(Equal(running))
		}
		Eventually(jobs).WithArguments(c).Should(HaveLen(started + waiting))
		Consistently(jobs).WithArguments(c).Should(HaveLen(started + waiting))
	},
		Entry("RunLatest: the latest", v1alpha1.MissedRuns{Policy: v1alpha1.MissedRunLatest}, 1, 0, 2),
		Entry("Skip: none", v1alpha1.MissedRuns{Policy: v1alpha1.MissedSkip}, 0, 0, 3),
		Entry("RunAll: all, one after the other", v1alpha1.MissedRuns{Policy: v1alpha1.MissedRunAll}, 1, 2, 0),
		Entry("RunAll with a cap: at most that many", v1alpha1.MissedRuns{Policy: v1alpha1.MissedRunAll, Max: 2}, 1, 1, 1),
	)

	It("is started once by two operators that overlap", func() {
		c := created(cronTab(with(v1alpha1.ConcurrencyAllow)))
		startOperator()
		for range 4 {
			Expect(come(c)).To(BeElementOf(jobs(c)))
		}
		op.Stop()
		Expect(come(c)).To(BeElementOf(jobs(c)), "the second operator does nothing")
		op.Start()
		Poke(c)
		Consistently(jobs).WithArguments(c).Should(HaveLen(5))
		made := 0
		list := &batchv1.JobList{}
		Expect(Admin.List(ctx, list, client.InNamespace(c.Namespace))).To(Succeed())
		for _, j := range list.Items {
			made += int(j.Generation)
		}
		Expect(made).To(Equal(5), "a Job was changed after it was made")
	})

	It("is not run again when the clock is set back", func() {
		c := created(cronTab(with(v1alpha1.ConcurrencyAllow)))
		first := come(c)
		now.SetTime(now.Now().Add(-15 * time.Minute))
		Poke(c)
		Consistently(jobs).WithArguments(c).Should(ConsistOf(first))
		second := come(c)
		Expect(jobs(c)).To(ConsistOf(first, second))
	})

	It("makes up for nothing after an edit, or after half a year of suspension", func() {
		c := created(cronTab(func(c *v1alpha1.CronTab) { c.Spec.Suspend = true }))
		Expect(Ready(c)()).To(Equal("True Suspended"))
		Expect(c.Status.NextRuns).To(BeEmpty())
		now.SetTime(now.Now().AddDate(0, 6, 0))
		Change(c, func(c *v1alpha1.CronTab) { c.Spec.Suspend = false })
		AwaitReady(c)
		Expect(jobs(c)).To(BeEmpty())
		Expect(c.Status.Missed).To(BeZero())

		now.SetTime(c.Status.NextRuns[0].Add(-time.Second))
		Change(c, func(c *v1alpha1.CronTab) { c.Spec.CronSpec = "* * * * *" })
		Eventually(func() string { Ready(c)(); return c.Status.Schedule }).Should(Equal("* * * * *"))
		Expect(jobs(c)).To(BeEmpty())
		Expect(come(c)).To(BeElementOf(jobs(c)))
	})

	It("is started by hand once for each request, which is recorded", func() {
		c := created(cronTab(func(c *v1alpha1.CronTab) { c.Spec.Suspend = true }))
		Annotate(c, "batch.acme.com/run-now", "incident-4711", client.FieldOwner("kubectl-sam"))
		Eventually(active).WithArguments(c).Should(HaveLen(1))
		first := active(c)[0]
		Expect(first).To(HavePrefix("report-run-"))
		Expect(c.Status.RunNow.Request).To(Equal("incident-4711"))
		Expect(c.Status.RunNow.By).To(Equal("kubectl-sam"))
		Expect(c.Status.RunNow.At.Time).To(BeTemporally("~", time.Now(), 5*time.Minute))
		Expect(c.Status.RunNow.Job).To(Equal(first))
		Expect(job(c, first).Annotations).To(HaveKeyWithValue("batch.acme.com/run-now", "incident-4711"))

		Annotate(c, "batch.acme.com/run-now", "another", client.FieldOwner("others"))
		Eventually(func() string { Expect(Reload(c)).To(Succeed()); return c.Status.RunNow.Request }).Should(Equal("another"))
		Expect(c.Status.RunNow.Job).To(BeEmpty(), "with Forbid it waits")
		Eventually(EventsOf(c)).Should(ContainElement(HavePrefix("Normal Queued: ")))
		Patch(c, `{"metadata":{"annotations":null}}`)
		end(c, first, true)
		Eventually(active).WithArguments(c).Should(And(HaveLen(1), Not(ContainElement(first))))
		Expect(c.Status.RunNow.Job).To(Equal(active(c)[0]))
		Expect(c.Status.RunNow.By).To(Equal("others"))
		op.Restart()
		Poke(c)
		Consistently(jobs).WithArguments(c).Should(HaveLen(2))
	})

	It("keeps ended runs by count and by age, and deletes the others with their pods", func() {
		c := created(cronTab(func(c *v1alpha1.CronTab) {
			c.Spec.History = v1alpha1.History{Succeeded: new(int32(1)), Failed: new(int32(0)), MaxAge: &metav1.Duration{Duration: time.Hour}}
		}))
		ran := func(success bool) string {
			name := come(c)
			end(c, name, success)
			Eventually(active).WithArguments(c).Should(BeEmpty())
			return name
		}
		first := ran(true)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "of-first", Namespace: c.Namespace, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(job(c, first), batchv1.SchemeGroupVersion.WithKind("Job")),
		}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		Create(pod)
		Expect(jobs(c)).To(ConsistOf(first))
		second := ran(true)
		Eventually(jobs).WithArguments(c).Should(ConsistOf(second))
		Eventually(Gone(pod)).Should(Succeed())
		ran(false)
		Eventually(jobs).WithArguments(c).Should(ConsistOf(second))
		// Slots come with the time that passes now; none of them is to start a run.
		Change(c, func(c *v1alpha1.CronTab) { c.Spec.Suspend = true })
		Eventually(func() []metav1.Time { Expect(Reload(c)).To(Succeed()); return c.Status.NextRuns }).Should(BeEmpty())
		now.SetTime(now.Now().Add(40 * time.Minute))
		Poke(c)
		Consistently(jobs).WithArguments(c).Should(ConsistOf(second))
		now.SetTime(now.Now().Add(21 * time.Minute))
		Poke(c)
		Eventually(jobs).WithArguments(c).Should(BeEmpty())
	})

	It("is not Ready after a run that failed, until one succeeds", func() {
		c := created(cronTab())
		first := come(c)
		end(c, first, false)
		Eventually(Ready(c)).Should(Equal("False RunFailed"))
		Expect(c.Status.LastRun.Outcome).To(Equal(v1alpha1.OutcomeFailed))
		Eventually(EventsOf(c)).Should(ContainElement(HavePrefix("Warning Failed: ")))
		second := come(c)
		Expect(Ready(c)()).To(Equal("False RunFailed"), "it continues")
		end(c, second, true)
		AwaitReady(c)
	})

	It("continues when a user deletes a run", func() {
		c := created(cronTab(with(v1alpha1.ConcurrencyQueue)))
		first := come(c)
		second := come(c)
		Remove(job(c, first), client.PropagationPolicy(metav1.DeletePropagationBackground))
		Eventually(active).WithArguments(c).Should(ConsistOf(second))
		Remove(job(c, second), client.PropagationPolicy(metav1.DeletePropagationBackground))
		Eventually(active).WithArguments(c).Should(BeEmpty())
		Expect(c.Status.LastRun.Outcome).To(Equal(v1alpha1.OutcomeStopped))
		Expect(jobs(c)).To(BeEmpty(), "what was deleted is not created again")
	})

	It("is scaled from one to ten pods, and not beyond", func() {
		c := created(cronTab())
		scale := func(n int32) error {
			return Admin.SubResource("scale").Update(ctx, c, client.WithSubResourceBody(&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}))
		}
		Expect(scale(4)).To(Succeed())
		Expect(Reload(c)).To(Succeed())
		Expect(*job(c, come(c)).Spec.Parallelism).To(BeEquivalentTo(4))
		for _, n := range []int32{0, 11} {
			Expect(scale(n)).NotTo(Succeed())
		}
		now := &autoscalingv1.Scale{}
		Expect(Admin.SubResource("scale").Get(ctx, c, now)).To(Succeed())
		Expect(now.Status).To(Equal(autoscalingv1.ScaleStatus{Replicas: 4, Selector: "batch.acme.com/crontab=report"}))
	})

	It("may have a name of 253 characters", func() {
		c := cronTab(func(c *v1alpha1.CronTab) {
			c.Name, c.Spec.Replicas = strings.Repeat("a", 61)+strings.Repeat("."+strings.Repeat("b", 63), 3), 10
		})
		slot := created(c).Status.NextRuns[0]
		now.SetTime(slot.Time)
		Poke(c)
		Eventually(jobs).WithArguments(c).Should(HaveLen(1))
		Expect(validation.IsDNS1123Label(jobs(c)[0] + "-9")).To(BeEmpty())
		Expect(jobs(c)[0]).To(HaveSuffix(slot.UTC().Format("-200601021504")))
		AwaitReady(c)
	})
})
