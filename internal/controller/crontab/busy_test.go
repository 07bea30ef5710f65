// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab_test

import (
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const runNow = "batch.acme.com/run-now"

// lastRequest is the record of the last request for a run by hand.
func lastRequest(c *v1alpha1.CronTab) func() v1alpha1.RunNow {
	return func() v1alpha1.RunNow {
		if Expect(Reload(c)).To(Succeed()); c.Status.RunNow == nil {
			return v1alpha1.RunNow{}
		}
		return *c.Status.RunNow
	}
}

// ask requests a run by hand, and waits until that is recorded.
func ask(c *v1alpha1.CronTab, request string) {
	GinkgoHelper()
	Annotate(c, runNow, request)
	Eventually(lastRequest(c)).Should(HaveField("Request", request))
}

// limited lets a namespace have as many Jobs as it has. The API server knows that late, so it is asked.
func limited(c *v1alpha1.CronTab, jobs string) *corev1.ResourceQuota {
	GinkgoHelper()
	q := Create(&corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "jobs", Namespace: c.Namespace},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/jobs.batch": resource.MustParse(jobs)}},
	})
	another := func() error {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "another", Namespace: c.Namespace}}
		j.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "a", Image: "a"}}}
		return Admin.Create(ctx, j, client.DryRunAll)
	}
	Eventually(another).Should(MatchError(ContainSubstring("exceeded quota: jobs")))
	return q
}

// held gives a run a pod that does not go before its finalizer does.
func held(c *v1alpha1.CronTab, run string) *corev1.Pod {
	GinkgoHelper()
	ref := *metav1.NewControllerRef(job(c, run), batchv1.SchemeGroupVersion.WithKind("Job"))
	return Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "of-" + run, Namespace: c.Namespace, OwnerReferences: []metav1.OwnerReference{ref}, Finalizers: []string{"test.example.com/held"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	})
}

func letGo(p *corev1.Pod) { Patch(p, `{"metadata":{"finalizers":null}}`) }

var _ = Describe("A CronTab that is busy", Ordered, ContinueOnFailure, func() {
	var op *Operator
	BeforeAll(func() { op = startOperator() })
	BeforeEach(func() { now.SetTime(time.Now()) })

	DescribeTable("runs each of four requests, with the policy", func(p v1alpha1.ConcurrencyPolicy) {
		c := created(cronTab(with(p)))
		busy := come(c)
		requests := []string{"a", "b", "c", "d"}
		for _, r := range requests {
			ask(c, r)
		}
		if p != v1alpha1.ConcurrencyReplace {
			Expect(c.Status.Requests).To(HaveLen(4))
			end(c, busy, true)
		}
		var answered []string
		for range requests {
			Eventually(runs(c)).Should(And(HaveLen(1), Not(ContainElement(busy)), Not(BeElementOf(answered))))
			run := active(c)[0]
			answered = append(answered, job(c, run).Annotations[runNow])
			Consistently(runs(c), "300ms").Should(ConsistOf(run), "a run by hand is not stopped for another")
			end(c, run, true)
			Eventually(runs(c)).ShouldNot(ContainElement(run))
		}
		Expect(answered).To(Equal(requests))
		Expect(c.Status.Requests).To(BeEmpty())
		Eventually(EventsOf(c)).Should(ContainElement(HavePrefix("Normal Started: ")))
	},
		Entry("Forbid", v1alpha1.ConcurrencyForbid),
		Entry("Queue", v1alpha1.ConcurrencyQueue),
		Entry("Replace", v1alpha1.ConcurrencyReplace),
	)

	It("does not replace a run by hand that has just begun", func() {
		c := created(cronTab(with(v1alpha1.ConcurrencyReplace)))
		slot := c.Status.NextRuns[0].UTC()
		now.SetTime(slot)
		Annotate(c, runNow, "one")
		Eventually(settledUntil).WithArguments(c).Should(BeTemporally("==", slot))
		Eventually(runs(c)).Should(HaveLen(1))
		hand := active(c)[0]
		Expect(hand).To(HavePrefix("report-run-"))
		Poke(c)
		Consistently(runs(c)).Should(ConsistOf(hand))
		end(c, hand, true)
		Eventually(runs(c)).Should(ConsistOf(nameOf(c, slot)), "what waited is run then")
	})

	It("replaces a run when its pods are gone, and not before", func() {
		c := created(cronTab(with(v1alpha1.ConcurrencyReplace)))
		first := come(c)
		pod := held(c, first)
		second := come(c)
		Eventually(func() *metav1.Time { return job(c, first).DeletionTimestamp }).ShouldNot(BeNil())
		Poke(c)
		Consistently(jobs).WithArguments(c).Should(BeEmpty(), "the pods of the first are still there")
		letGo(pod)
		Eventually(jobs).WithArguments(c).Should(ConsistOf(second))
	})

	It("is removed when the pods of the runs that it stops are gone, and not before", func() {
		c := created(cronTab())
		pod := held(c, come(c))
		removeNow(c)
		Eventually(Ready(c)).Should(Equal("False RunsGoingOn"))
		Consistently(Reload).WithArguments(c).Should(Succeed())
		letGo(pod)
		Eventually(Gone(c)).Should(Succeed())
	})

	It("continues the schedule when the name for a run by hand is taken", func() {
		c := created(cronTab())
		ask(c, "one")
		Eventually(runs(c)).Should(HaveLen(1))
		name := active(c)[0]
		end(c, name, true)
		Eventually(runs(c)).Should(BeEmpty())
		Remove(job(c, name), client.PropagationPolicy(metav1.DeletePropagationBackground))
		foreign := forOwner(c, name)
		foreign.OwnerReferences = nil
		Create(foreign)
		ask(c, "two")
		Eventually(runs(c)).Should(HaveLen(1))
		end(c, active(c)[0], true)
		Eventually(runs(c)).Should(BeEmpty())

		Annotate(c, runNow, "one")
		Eventually(lastRequest(c)).Should(HaveField("Dropped", ContainSubstring("ask again with another value")))
		Eventually(EventsOf(c)).Should(ContainElement(And(HavePrefix("Warning Dropped: "), ContainSubstring(name))))
		slot := come(c)
		Expect(runs(c)()).To(ConsistOf(slot))
		Expect(Ready(c)()).To(Equal("True Ready"))
		Expect(job(c, name).ResourceVersion).To(Equal(foreign.ResourceVersion))
	})

	It("prunes its history also while no Job can be started", func() {
		c := created(cronTab())
		first, second := come(c), ""
		end(c, first, true)
		Eventually(runs(c)).Should(BeEmpty())
		second = come(c)
		end(c, second, true)
		Eventually(runs(c)).Should(BeEmpty())
		limited(c, "2")
		slot := c.Status.NextRuns[0].Time
		now.SetTime(slot)
		Poke(c)
		Eventually(Ready(c)).Should(Equal("False Forbidden"))
		Expect(Message(c, "Ready")).To(ContainSubstring("exceeded quota"))
		Change(c, func(c *v1alpha1.CronTab) { c.Spec.History.Succeeded = new(int32(1)) })
		Eventually(jobs).WithArguments(c).Should(ConsistOf(second, nameOf(c, slot)))
	})

	It("prunes its history also while the schedule is invalid, and runs later requests", func() {
		c := created(cronTab())
		first := come(c)
		Change(c, func(c *v1alpha1.CronTab) { c.Spec.CronSpec, c.Spec.History.Succeeded = "5 3-1 * * *", new(int32(0)) })
		Eventually(Ready(c)).Should(Equal("False InvalidSchedule"))
		end(c, first, true)
		Eventually(runs(c)).Should(BeEmpty())
		Expect(c.Status.LastRun.Outcome).To(Equal(v1alpha1.OutcomeSucceeded))
		Eventually(jobs).WithArguments(c).Should(BeEmpty())
		ask(c, "one")
		ask(c, "two")
		Expect(c.Status.Requests).To(HaveLen(2))
		Change(c, func(c *v1alpha1.CronTab) { c.Spec.CronSpec = "0 0 1 1 *" })
		Eventually(runs(c)).Should(HaveLen(1))
		end(c, active(c)[0], true)
		Eventually(lastRequest(c)).Should(HaveField("Job", Not(BeEmpty())))
	})

	It("reports a run once that failed while the operator was down, also when its start was never recorded", func() {
		c := created(cronTab(with(v1alpha1.ConcurrencyAllow)))
		ns := c.Namespace
		fault := op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool {
			return w.For(ns) && strings.HasSuffix(w.Path, "/status")
		}})
		first, second := c.Status.NextRuns[0].Time, c.Status.NextRuns[1].Time
		now.SetTime(first)
		Poke(c)
		Eventually(jobs).WithArguments(c).Should(ConsistOf(nameOf(c, first)))
		op.Stop()
		fault.Heal()
		end(c, nameOf(c, first), false)
		now.SetTime(second)
		op.Start()
		Eventually(runs(c)).Should(ConsistOf(nameOf(c, second)))
		Expect(c.Status.LastFailure).NotTo(BeNil())
		Eventually(EventsOf(c)).Should(ContainElement(And(HavePrefix("Warning Failed: "), ContainSubstring(nameOf(c, first)))))
		op.Restart()
		Poke(c)
		Consistently(func(g Gomega) {
			list := &eventsv1.EventList{}
			g.Expect(Admin.List(ctx, list, client.InNamespace(c.Namespace))).To(Succeed())
			g.Expect(list.Items).To(HaveEach(HaveField("Series", BeNil())), "nothing is reported twice")
		}).Should(Succeed())
	})

	It("reports which run has no pods", func() {
		c := created(cronTab())
		first := job(c, come(c))
		begin := metav1.NewTime(now.Now().Truncate(time.Second))
		first.Status.StartTime, first.Status.Ready = &begin, new(int32(0)) // as the Job controller leaves it when pods are rejected
		Expect(Admin.Status().Update(ctx, first)).To(Succeed())
		AwaitRun(c)
		Expect(Ready(c)()).To(Equal("True Ready"))
		now.SetTime(begin.Add(time.Minute))
		Poke(c)
		Eventually(Ready(c)).Should(Equal("False PodsMissing"))
		Expect(Message(c, "Ready")).To(ContainSubstring("kubectl describe job " + first.Name))
		Expect(Reload(first)).To(Succeed())
		first.Status.Active = 1
		Expect(Admin.Status().Update(ctx, first)).To(Succeed())
		Eventually(Ready(c)).Should(Equal("True Ready"))
	})

	It("is retried at least as often as configured", func() {
		op.Stop()
		DeferCleanup(func() { op.Start() })
		quick := startOperator(Configured("cronTab: {retryMax: 300ms}\n"), func(o *operator.Options) { o.Clock = now })
		c := created(cronTab())
		limited(c, "0")
		come := c.Status.NextRuns[0].Time
		now.SetTime(come)
		Poke(c)
		// By the doubling alone, ten tries take 51 seconds, and fifteen half an hour.
		Eventually(func() int {
			return len(quick.Wire.Writes(func(w testenv.Write) bool { return w.Method == http.MethodPost && w.For(c.Namespace) }))
		}).Should(BeNumerically(">=", 15))
	})
})

var _ = Describe("A CronTab with deletionPolicy Await that is deleted in the foreground", Ordered, func() {
	BeforeAll(func() { startOperator() })

	It("cannot await its runs: Kubernetes deletes them itself, as documented", func() {
		now.SetTime(time.Now())
		c := created(cronTab(func(c *v1alpha1.CronTab) { c.Spec.DeletionPolicy = v1alpha1.DeletionAwait }))
		first := job(c, come(c))
		pod := held(c, first.Name)
		now.SetTime(time.Now())
		Remove(c, client.PropagationPolicy(metav1.DeletePropagationForeground))
		Eventually(func() *metav1.Time { Expect(Reload(pod)).To(Succeed()); return pod.DeletionTimestamp }).ShouldNot(BeNil())
		letGo(pod)
		Eventually(Gone(c)).Should(Succeed())
		Expect(Gone(first)()).To(Succeed())
	})
})
