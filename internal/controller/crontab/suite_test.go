/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package crontab_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
)

// aMoment is how long specs look whether something does not happen.
const aMoment = 500 * time.Millisecond

var (
	plane *testenv.ControlPlane
	admin client.Client // a cluster administrator's, not cached
	ctx   = context.Background()
	// now is the operator's time. It stands still unless a spec moves it.
	now = clocktesting.NewFakePassiveClock(time.Now())
)

func TestController(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	SetDefaultConsistentlyDuration(aMoment)
	SetDefaultConsistentlyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "CronTab")
}

var _ = BeforeSuite(func() {
	logf.SetLogger(logr.Discard())
	var err error
	plane, err = testenv.Start(testenv.Options{WithControllers: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(plane.Stop()).To(Succeed()) })
	Expect(testenv.InstallConfig(plane)).To(Succeed())
	admin, err = client.New(plane.Config, client.Options{Scheme: operator.Scheme()})
	Expect(err).NotTo(HaveOccurred())
})

// startOperator starts an operator whose time is now.
func startOperator(mutate ...func(*operator.Options)) *testenv.Operator {
	return testenv.StartOperator(GinkgoT(), plane, append([]func(*operator.Options){func(o *operator.Options) { o.Clock = now }}, mutate...)...)
}

// namespace makes a namespace of the spec's own.
func namespace() string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}}
	Expect(admin.Create(ctx, ns)).To(Succeed())
	return ns.Name
}

// cronTab is a CronTab of every ten minutes in a namespace of its own.
func cronTab(with ...func(*v1alpha1.CronTab)) *v1alpha1.CronTab {
	GinkgoHelper()
	c := &v1alpha1.CronTab{ObjectMeta: metav1.ObjectMeta{Name: "report", Namespace: namespace()}}
	c.Spec = v1alpha1.CronTabSpec{CronSpec: "*/10 * * * *", Image: "registry.acme.com/report"}
	for _, w := range with {
		w(c)
	}
	return c
}

// created creates a CronTab and waits until the operator has opened its ledger.
func created(c *v1alpha1.CronTab) *v1alpha1.CronTab {
	GinkgoHelper()
	Expect(admin.Create(ctx, c)).To(Succeed())
	Eventually(func() *v1alpha1.Ledger { Expect(reload(c)).To(Succeed()); return c.Status.Ledger }).ShouldNot(BeNil())
	return c
}

func with(p v1alpha1.ConcurrencyPolicy) func(*v1alpha1.CronTab) {
	return func(c *v1alpha1.CronTab) { c.Spec.ConcurrencyPolicy = p }
}

func reload(o client.Object) error { return admin.Get(ctx, client.ObjectKeyFromObject(o), o) }

// change changes a CronTab, whoever else changes it meanwhile.
func change(c *v1alpha1.CronTab, do func(*v1alpha1.CronTab)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(reload(c)).To(Succeed())
		do(c)
		g.Expect(admin.Update(ctx, c)).To(Succeed())
	}).Should(Succeed())
}

var pokes int

// poke makes the operator look at a CronTab, and waits for the answer when the spec looks at it.
func poke(c *v1alpha1.CronTab) {
	GinkgoHelper()
	pokes++
	annotate(c, "test/poke", fmt.Sprint(pokes))
}

func annotate(c *v1alpha1.CronTab, key, value string, opts ...client.PatchOption) {
	GinkgoHelper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	Expect(admin.Patch(ctx, c, client.RawPatch(client.Merge.Type(), []byte(patch)), opts...)).To(Succeed())
}

// come lets the next slot of a CronTab come, and gives the name of its Job.
func come(c *v1alpha1.CronTab) string {
	GinkgoHelper()
	Expect(reload(c)).To(Succeed())
	Expect(c.Status.NextRuns).NotTo(BeEmpty())
	slot := c.Status.NextRuns[0].UTC()
	now.SetTime(slot.Add(20 * time.Millisecond))
	poke(c)
	Eventually(settledUntil).WithArguments(c).Should(BeTemporally("==", slot))
	return nameOf(c, slot)
}

func nameOf(c *v1alpha1.CronTab, slot time.Time) string {
	return c.Name + "-" + slot.UTC().Format("200601021504")
}

func settledUntil(c *v1alpha1.CronTab) time.Time {
	Expect(reload(c)).To(Succeed())
	return c.Status.Ledger.SettledUntil.UTC()
}

// jobs lists the names of the Jobs in the namespace of a CronTab that are not being deleted.
func jobs(c *v1alpha1.CronTab) []string {
	list := &batchv1.JobList{}
	Expect(admin.List(ctx, list, client.InNamespace(c.Namespace))).To(Succeed())
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
	Expect(reload(j)).To(Succeed())
	return j
}

// active lists the Jobs that go on according to the status.
func active(c *v1alpha1.CronTab) []string {
	Expect(reload(c)).To(Succeed())
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
	Expect(admin.Status().Update(ctx, j)).To(Succeed())
}

// ready gives status and reason of Ready, once it speaks of the latest version of the spec.
func ready(c *v1alpha1.CronTab) string {
	if err := reload(c); err != nil {
		return err.Error()
	}
	r := meta.FindStatusCondition(c.Status.Conditions, "Ready")
	if r == nil || r.ObservedGeneration != c.Generation {
		return "not yet"
	}
	return string(r.Status) + " " + r.Reason
}

// message is what Ready says.
func message(c *v1alpha1.CronTab) string {
	if r := meta.FindStatusCondition(c.Status.Conditions, "Ready"); r != nil {
		return r.Message
	}
	return ""
}

func gone(o client.Object) func() error {
	return func() error {
		err := reload(o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("%s is there", o.GetName()))
	}
}

// eventsOf lists type and reason of the events about an object.
func eventsOf(o client.Object) func() []string {
	return func() []string {
		list := &eventsv1.EventList{}
		Expect(admin.List(ctx, list, client.InNamespace(o.GetNamespace()))).To(Succeed())
		var all []string
		for _, e := range list.Items {
			if e.Regarding.UID == o.GetUID() {
				all = append(all, e.Type+" "+e.Reason)
			}
		}
		return all
	}
}
