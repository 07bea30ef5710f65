// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab_test

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// copyOf returns a copy of a Job, under another name or in another namespace, as "kubectl get -o yaml" and
// "create" make it.
func copyOf(j *batchv1.Job, namespace, name string) *batchv1.Job {
	c := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: j.Labels, Annotations: j.Annotations, OwnerReferences: j.OwnerReferences,
	}, Spec: *j.Spec.DeepCopy()}
	c.Spec.Selector, c.Spec.Template.Labels = nil, nil
	return c
}

// forOwner is a Job that anybody may have made, with a reference to a CronTab and no other mark of it.
func forOwner(c *v1alpha1.CronTab, name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(c, v1alpha1.GroupVersion.WithKind("CronTab")),
		}},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
		}}},
	}
}

func runs(c *v1alpha1.CronTab) func() []string { return func() []string { return active(c) } }

var _ = Describe("The runs of a CronTab", Ordered, ContinueOnFailure, func() {
	var op *Operator
	BeforeAll(func() { op = startOperator() })
	BeforeEach(func() { now.SetTime(time.Now()) })

	It("are not Jobs in another namespace, whatever their marks", func() {
		c := created(cronTab())
		first := job(c, come(c))
		end(c, first.Name, true)
		Eventually(runs(c)).Should(BeEmpty())
		elsewhere := Namespace()
		var forged []*batchv1.Job
		for _, name := range []string{"copy", nameOf(c, c.Status.NextRuns[0].Time), nameOf(c, c.Status.NextRuns[1].Time)} {
			j := copyOf(first, elsewhere, name)
			j.OwnerReferences = nil // the garbage collector would delete it
			forged = append(forged, Create(j))
		}
		second := come(c)
		Expect(runs(c)()).To(ConsistOf(second), "a slot is started, although another owner has a Job of that name")
		end(c, second, true)
		Eventually(runs(c)).Should(BeEmpty())
		Change(c, func(c *v1alpha1.CronTab) { c.Spec.History = v1alpha1.History{Succeeded: new(int32(0))} })
		Eventually(jobs).WithArguments(c).Should(BeEmpty())
		removeNow(c)
		Eventually(Gone(c)).Should(Succeed())
		for _, j := range forged {
			Expect(job(&v1alpha1.CronTab{ObjectMeta: j.ObjectMeta}, j.Name).ResourceVersion).To(Equal(j.ResourceVersion))
		}
	})

	It("are not copies in the same namespace, owner reference included", func() {
		c := created(cronTab(with(v1alpha1.ConcurrencyReplace), func(c *v1alpha1.CronTab) {
			c.Spec.History = v1alpha1.History{Succeeded: new(int32(0)), Failed: new(int32(0))}
		}))
		first := come(c)
		copied := Create(copyOf(job(c, first), c.Namespace, first+"-copy"))
		ended := Create(copyOf(job(c, first), c.Namespace, "copy-of-"+first))
		end(c, ended.Name, false)
		end(c, first, true)
		Eventually(jobs).WithArguments(c).Should(ConsistOf(copied.Name, ended.Name))
		second := come(c)
		Expect(runs(c)()).To(ConsistOf(second), "a copy is not a run in progress")
		third := come(c)
		Eventually(runs(c)).Should(ConsistOf(third))
		Expect(jobs(c)).To(ConsistOf(copied.Name, ended.Name, third), "a copy is none that is replaced or pruned")
		Expect(c.Status.LastFailure).To(BeNil())
		removeNow(c)
		Eventually(Gone(c)).Should(Succeed(), "a copy is none that is waited for")
	})

	It("are identified by name and owner when admission removes their marks", func() {
		c := created(cronTab())
		slot := c.Status.NextRuns[0].Time
		Create(forOwner(c, nameOf(c, slot))) // what CreateOnce has made, had all marks been taken from it
		op.Wire.Forget()
		first := come(c)
		Eventually(runs(c)).Should(ConsistOf(first))
		Consistently(func() int {
			return len(op.Wire.Writes(func(w testenv.Write) bool { return w.Method == http.MethodPost && w.For(c.Namespace) }))
		}).
			Should(BeNumerically("<", 2), "it is not retried endlessly")
		second := come(c)
		Expect(jobs(c)).To(ConsistOf(first), "with Forbid %s is skipped", second)
		Expect(c.Status.Skipped).To(BeEquivalentTo(1))
		end(c, first, false)
		Poke(c)
		Eventually(runs(c)).Should(BeEmpty())
		Expect(c.Status.LastRun.Outcome).To(Equal(v1alpha1.OutcomeFailed))
	})

	It("are identified when their marks are overwritten while they are in progress", func() {
		c := created(cronTab())
		first := job(c, come(c))
		Patch(first, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"helm","platform.acme.com/owner-uid":"x","batch.acme.com/crontab":null},`+
			`"annotations":{"platform.acme.com/owner":"crontab/x/y","batch.acme.com/slot":"2001-01-01T00:00:00Z"}}}`)
		Expect(come(c)).NotTo(BeElementOf(jobs(c)), "with Forbid it is skipped")
		Expect(runs(c)()).To(ConsistOf(first.Name))
	})

	It("are deleted only by their UID", func() {
		c := created(cronTab(with(v1alpha1.ConcurrencyReplace), func(c *v1alpha1.CronTab) { c.Spec.History.Succeeded = new(int32(0)) }))
		replaced := job(c, come(c))
		second := come(c)
		Eventually(runs(c)).Should(ConsistOf(second))
		pruned := job(c, second)
		end(c, pruned.Name, true)
		Eventually(jobs).WithArguments(c).Should(BeEmpty())
		stopped := job(c, come(c))
		removeNow(c)
		Eventually(Gone(c)).Should(Succeed())
		for _, j := range []*batchv1.Job{replaced, pruned, stopped} {
			deletions := op.Wire.Writes(func(w testenv.Write) bool {
				return w.Method == http.MethodDelete && w.For(j.Name) && w.For(c.Namespace)
			})
			Expect(deletions).NotTo(BeEmpty())
			for _, d := range deletions {
				Expect(string(d.Body)).To(ContainSubstring(string(j.UID)))
			}
		}
	})

	It("are all stopped, except one that cannot be", func() {
		c := created(cronTab(with(v1alpha1.ConcurrencyAllow)))
		first, second := come(c), come(c)
		fault := op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool { return w.Method == http.MethodDelete && w.For(first) && w.For(c.Namespace) }})
		removeNow(c)
		Eventually(jobs).WithArguments(c).Should(ConsistOf(first), "%s is stopped", second)
		fault.Heal()
		Eventually(Gone(c)).Should(Succeed())
	})

	It("hold the deletion of their CronTab while they cannot be stopped", func() {
		c := created(cronTab())
		first := job(c, come(c))
		fault := op.Wire.Inject(testenv.Fault{Count: 1 << 20, Match: func(w testenv.Write) bool { return w.Method == http.MethodDelete && w.For(c.Namespace) }})
		removeNow(c)
		Eventually(Ready(c)).Should(Equal("False CannotStop"))
		Expect(Message(c, "Ready")).To(ContainSubstring("retried until 5m0s after the deletion"))
		Consistently(Reload).WithArguments(c).Should(Succeed(), "the finalizer stays while a Job cannot be stopped")
		Expect(c.Finalizers).To(ContainElement("finalizer.batch.acme.com"))
		Expect(fault.Tripped()).To(BeNumerically(">", 1))
		fault.Heal()
		Eventually(Gone(c)).Should(Succeed())
		Expect(client.IgnoreNotFound(Reload(first))).To(Succeed())
	})
})
