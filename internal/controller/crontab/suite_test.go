// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var (
	ctx = context.Background()
	// now is the operator's time. It stands still unless a spec moves it.
	now = clocktesting.NewFakePassiveClock(time.Now())
)

func TestController(t *testing.T) { Run(t, "CronTab") }

// startOperator starts an operator whose time is now.
func startOperator(mutate ...func(*operator.Options)) *Operator {
	return StartOperator(append([]func(*operator.Options){func(o *operator.Options) { o.Clock = now }}, mutate...)...)
}

// cronTab is a CronTab of every ten minutes in a namespace of its own.
func cronTab(with ...func(*v1alpha1.CronTab)) *v1alpha1.CronTab {
	GinkgoHelper()
	c := &v1alpha1.CronTab{ObjectMeta: metav1.ObjectMeta{Name: "report", Namespace: Namespace()}}
	c.Spec = v1alpha1.CronTabSpec{CronSpec: "*/10 * * * *", Image: "registry.acme.com/report"}
	for _, w := range with {
		w(c)
	}
	return c
}

// created creates a CronTab and waits until the operator has opened its ledger.
func created(c *v1alpha1.CronTab) *v1alpha1.CronTab {
	GinkgoHelper()
	Create(c)
	Eventually(func() *v1alpha1.Ledger { Expect(Reload(c)).To(Succeed()); return c.Status.Ledger }).ShouldNot(BeNil())
	return c
}

func with(p v1alpha1.ConcurrencyPolicy) func(*v1alpha1.CronTab) {
	return func(c *v1alpha1.CronTab) { c.Spec.ConcurrencyPolicy = p }
}

// come lets the next slot of a CronTab come, and gives the name of its Job.
func come(c *v1alpha1.CronTab) string {
	GinkgoHelper()
	AwaitRun(c) // else a run in progress may start the slot for the version before
	Expect(c.Status.NextRuns).NotTo(BeEmpty())
	slot := c.Status.NextRuns[0].UTC()
	now.SetTime(slot.Add(20 * time.Millisecond))
	Poke(c)
	Eventually(settledUntil).WithArguments(c).Should(BeTemporally("==", slot))
	return nameOf(c, slot)
}

func nameOf(c *v1alpha1.CronTab, slot time.Time) string {
	return c.Name + "-" + slot.UTC().Format("200601021504")
}

func settledUntil(c *v1alpha1.CronTab) time.Time {
	Expect(Reload(c)).To(Succeed())
	return c.Status.Ledger.SettledUntil.UTC()
}

// jobs lists the names of the Jobs in the namespace of a CronTab that are not being deleted.
func jobs(c *v1alpha1.CronTab) []string {
	list := &batchv1.JobList{}
	Expect(Admin.List(ctx, list, client.InNamespace(c.Namespace))).To(Succeed())
	all := []string{}
	for _, j := range list.Items {
		if j.DeletionTimestamp.IsZero() {
			all = append(all, j.Name)
		}
	}
	return all
}

func job(c *v1alpha1.CronTab, name string) *batchv1.Job {
	GinkgoHelper()
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}
	Expect(Reload(j)).To(Succeed())
	return j
}

// active lists the Jobs in progress according to the status.
func active(c *v1alpha1.CronTab) []string {
	Expect(Reload(c)).To(Succeed())
	all := []string{}
	for _, a := range c.Status.Active {
		all = append(all, a.Job)
	}
	return all
}

// end lets a run end, as the Job controller would.
func end(c *v1alpha1.CronTab, name string, success bool) {
	GinkgoHelper()
	j := job(c, name)
	at := metav1.NewTime(now.Now().Truncate(time.Second))
	if at.Time.Before(j.CreationTimestamp.Time) {
		at = j.CreationTimestamp
	}
	j.Status.StartTime = &j.CreationTimestamp
	first, last := batchv1.JobFailureTarget, batchv1.JobFailed
	if success {
		first, last = batchv1.JobSuccessCriteriaMet, batchv1.JobComplete
		j.Status.CompletionTime = &at
	}
	for _, t := range []batchv1.JobConditionType{first, last} {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	Expect(Admin.Status().Update(ctx, j)).To(Succeed())
}
