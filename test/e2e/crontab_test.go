// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
)

// nightly is the namespace of the CronTabs.
const nightly = "nightly"

// slots is how long two slots of a schedule that fires each minute take at most, and what comes with them.
const slots = 2*time.Minute + soon

// policies are the concurrency policies, each with a CronTab of its own whose runs never end by themselves.
var policies = []batchv1alpha1.ConcurrencyPolicy{
	batchv1alpha1.ConcurrencyForbid, batchv1alpha1.ConcurrencyAllow, batchv1alpha1.ConcurrencyReplace, batchv1alpha1.ConcurrencyQueue,
}

var _ = withOperator("CronTab", func() {
	It("fires on time, whatever the policy", func(ctx SpecContext) {
		for _, policy := range policies {
			eventually(ctx, string(policy)+" has fired and its pod runs", slots, func(g Gomega) {
				c := cronTab(ctx, g, policy)
				g.Expect(c.Status.LastRun).NotTo(BeNil())
				job := &batchv1.Job{}
				g.Expect(lab.client.Get(ctx, client.ObjectKey{Namespace: nightly, Name: c.Status.LastRun.Job}, job)).To(Succeed())
				g.Expect(job.Status.Ready).To(HaveValue(BeEquivalentTo(1)))
			})
			run := cronTab(ctx, NewWithT(GinkgoT()), policy).Status.LastRun
			say("%s: the slot %s was started after %s, to the second", policy, run.Slot.UTC().Format(time.TimeOnly), run.Started.Sub(run.Slot.Time))
		}
	}, NodeTimeout(slots+soon))

	It("does at the next slot what the policy says, while the first run is in progress", func(ctx SpecContext) {
		for policy, want := range map[batchv1alpha1.ConcurrencyPolicy]func(Gomega, *batchv1alpha1.CronTab){
			batchv1alpha1.ConcurrencyForbid: func(g Gomega, c *batchv1alpha1.CronTab) {
				g.Expect(c.Status.Skipped).To(BeNumerically(">", 0))
				g.Expect(c.Status.Active).To(HaveLen(1))
			},
			batchv1alpha1.ConcurrencyAllow: func(g Gomega, c *batchv1alpha1.CronTab) {
				g.Expect(len(c.Status.Active)).To(BeNumerically(">", 1))
			},
			batchv1alpha1.ConcurrencyReplace: func(g Gomega, c *batchv1alpha1.CronTab) {
				g.Expect(c.Status.Active).To(HaveLen(1))
				g.Expect(c.Status.Active[0].Slot.After(c.CreationTimestamp.Add(time.Minute))).To(BeTrue(), "it is the first run still")
			},
			batchv1alpha1.ConcurrencyQueue: func(g Gomega, c *batchv1alpha1.CronTab) {
				g.Expect(c.Status.Active).To(HaveLen(1))
				g.Expect(c.Status.Ledger.Queue).NotTo(BeEmpty())
			},
		} {
			eventually(ctx, string(policy), slots, func(g Gomega) { want(g, cronTab(ctx, g, policy)) })
		}
		out, err := lab.kubectl(ctx, lab.cluster.KubeconfigPath(), "get", "crontabs", "-n", nightly)
		Expect(err).NotTo(HaveOccurred(), out)
		say("kubectl get crontabs:\n%s", out)
	}, NodeTimeout(2*slots))

	It("runs by hand, and tells when a run succeeded", func(ctx SpecContext) {
		c := everyMinute(batchv1alpha1.ConcurrencyForbid)
		c.Name, c.Spec.CronSpec, c.Spec.Args = "by-hand", "0 0 1 1 *", []string{"write", "/dev/null"}
		Expect(lab.client.Create(ctx, c)).To(Succeed())
		out, err := lab.kubectl(ctx, lab.cluster.KubeconfigPath(), "annotate", "crontab", "by-hand", "-n", nightly, "batch.acme.com/run-now=first")
		Expect(err).NotTo(HaveOccurred(), out)
		eventually(ctx, "the run by hand has succeeded", soon, func(g Gomega) {
			g.Expect(lab.client.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(c.Status.LastSuccess).NotTo(BeNil())
			g.Expect(c.Status.RunNow).NotTo(BeNil())
			g.Expect(c.Status.RunNow.By).To(Equal("kubectl-annotate"))
		})
		say("run by hand, asked for by %s: %s", c.Status.RunNow.By, c.Status.LastRun.Outcome)
	}, NodeTimeout(2*soon))

	It("stops what runs when it is deleted", func(ctx SpecContext) {
		start := time.Now()
		Expect(lab.client.DeleteAllOf(ctx, &batchv1alpha1.CronTab{}, client.InNamespace(nightly))).To(Succeed())
		eventually(ctx, "no CronTab and no Job is left", soon, func(g Gomega) {
			cronTabs, jobs := &batchv1alpha1.CronTabList{}, &batchv1.JobList{}
			g.Expect(lab.client.List(ctx, cronTabs, client.InNamespace(nightly))).To(Succeed())
			g.Expect(cronTabs.Items).To(BeEmpty())
			g.Expect(lab.client.List(ctx, jobs, client.InNamespace(nightly))).To(Succeed())
			g.Expect(jobs.Items).To(BeEmpty())
		})
		say("all CronTabs and their runs are gone, after %s", since(start))
		Expect(lab.client.Delete(ctx, namespaceOf(nightly))).To(Succeed())
	}, NodeTimeout(2*soon))
}, func(ctx context.Context) {
	Expect(lab.client.Create(ctx, namespaceOf(nightly))).To(Succeed())
	for _, policy := range policies {
		Expect(lab.client.Create(ctx, everyMinute(policy))).To(Succeed())
	}
})

// everyMinute is a CronTab whose runs last until they are stopped.
func everyMinute(policy batchv1alpha1.ConcurrencyPolicy) *batchv1alpha1.CronTab {
	return &batchv1alpha1.CronTab{
		ObjectMeta: metav1.ObjectMeta{Namespace: nightly, Name: nameOf(policy)},
		Spec: batchv1alpha1.CronTabSpec{
			CronSpec: "* * * * *", Image: lab.app, Args: []string{"serve"}, ConcurrencyPolicy: policy,
		},
	}
}

func nameOf(policy batchv1alpha1.ConcurrencyPolicy) string { return strings.ToLower(string(policy)) }

func cronTab(ctx context.Context, g Gomega, policy batchv1alpha1.ConcurrencyPolicy) *batchv1alpha1.CronTab {
	c := &batchv1alpha1.CronTab{}
	g.Expect(lab.client.Get(ctx, client.ObjectKey{Namespace: nightly, Name: nameOf(policy)}, c)).To(Succeed())
	return c
}
