// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// cronTabs is the fixture of CronTab. Every object has a slot of its own, the only one, which comes when a spec steps the
// operator's time, and one run that was asked for by hand. No controller of Jobs runs, so that runs last until somebody
// ends them.
type cronTabs struct{ Ordinary }

var _ = fixture("CronTab", &cronTabs{})

const runNow = "batch.acme.com/run-now"

func cronTab(o engine.Object) *v1alpha1.CronTab { return o.(*v1alpha1.CronTab) }

// cronTabNamed is the CronTab of a unique name.
func cronTabNamed(unique string) *v1alpha1.CronTab {
	return &v1alpha1.CronTab{ObjectMeta: metav1.ObjectMeta{Name: unique, Namespace: unique}}
}

// jobOf is the name of the Job for a request.
func jobOf(unique, request string) string {
	sum := sha256.Sum256([]byte(request))
	return names.Job(unique, "run-"+hex.EncodeToString(sum[:])[:10])
}

// Configuration implements Fixture.
func (cronTabs) Configuration() string { return "cronTab: {retryMax: 1s}\n" }

// Name implements Fixture. H would be another value for each object.
func (cronTabs) Name(sample engine.Object, _ string) {
	c := cronTab(sample)
	c.Spec.CronSpec, c.Spec.ConcurrencyPolicy = "* * * * *", v1alpha1.ConcurrencyAllow
	between(c, now.freeMinute(), 30*time.Second)
	c.Annotations = map[string]string{runNow: "first"}
}

// between bounds the slots of a CronTab.
func between(c *v1alpha1.CronTab, begin time.Time, length time.Duration) {
	c.Spec.NotBefore, c.Spec.NotAfter = &metav1.Time{Time: begin}, &metav1.Time{Time: begin.Add(length)}
}

// Settled implements Fixture: the last request is recorded with its Job, and so is the slot that has come.
func (f cronTabs) Settled(o engine.Object) bool {
	status := cronTab(o).Status
	asked := status.RunNow != nil && status.RunNow.Request == o.GetAnnotations()[runNow] && status.RunNow.Job != ""
	return asked && (now.Now().Before(f.Due(o)) || status.Ledger != nil && !status.Ledger.SettledUntil.Time.Before(f.Due(o)))
}

// TimeStands implements Fixture.
func (cronTabs) TimeStands() bool { return true }

// Due implements Fixture.
func (cronTabs) Due(o engine.Object) time.Time { return cronTab(o).Spec.NotBefore.Time }

// LeavesOut implements Fixture.
func (cronTabs) LeavesOut() map[string]string {
	return map[string]string{
		"G5 children": "a run that was started is left as it is, and one that is deleted is not created again",
	}
}

// Childless implements Fixture: what was started is left as it is.
func (cronTabs) Childless() bool { return true }

// Change implements Fixture: the slot comes. Something has to wake the operator, whose timers are real.
func (f cronTabs) Change(o engine.Object, _ string) {
	now.step(f.Due(o))
	a := o.GetAnnotations()
	a["others.example.com/slot"] = "has come"
	o.SetAnnotations(a)
}

// Absences implements Fixture: three slots, the last of them minutes ago.
func (f cronTabs) Absences() []Absence {
	absence := func(name string, missed v1alpha1.MissedRuns, deadline *metav1.Duration, runs ...int) Absence {
		return Absence{
			Name: name,
			Prepare: func(o engine.Object) {
				c := cronTab(o)
				c.Spec.MissedRuns, c.Spec.StartingDeadline = missed, deadline
				between(c, f.Due(o), 2*time.Minute)
			},
			Pass:   func(o engine.Object) { now.step(cronTab(o).Spec.NotAfter.Add(5 * time.Minute)) },
			MadeUp: func(unique string) error { return ranFor(unique, runs...) },
		}
	}
	return []Absence{
		absence("RunLatest", v1alpha1.MissedRuns{Policy: v1alpha1.MissedRunLatest}, nil, 2),
		absence("RunLatest that is too late", v1alpha1.MissedRuns{Policy: v1alpha1.MissedRunLatest}, &metav1.Duration{Duration: time.Minute}),
		absence("Skip", v1alpha1.MissedRuns{Policy: v1alpha1.MissedSkip}, nil),
		absence("RunAll", v1alpha1.MissedRuns{Policy: v1alpha1.MissedRunAll}, nil, 0, 1, 2),
		absence("RunAll, two at most", v1alpha1.MissedRuns{Policy: v1alpha1.MissedRunAll, Max: 2}, nil, 1, 2),
	}
}

// ranFor tells how the runs of a CronTab differ from those of some of its three slots, by their number, the others of which
// are reported as missed.
func ranFor(unique string, slots ...int) error {
	c := cronTabNamed(unique)
	if err := Reload(c); err != nil {
		return err
	}
	want := []string{jobOf(unique, "first")}
	for _, n := range slots {
		want = append(want, names.Job(unique, c.Spec.NotBefore.Add(time.Duration(n)*time.Minute).UTC().Format("200601021504")))
	}
	jobs := &batchv1.JobList{}
	if err := Admin.List(context.Background(), jobs, client.InNamespace(unique)); err != nil {
		return err
	}
	var got []string
	for _, j := range jobs.Items {
		got = append(got, j.Name)
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) || int(c.Status.Missed) != 3-len(slots) {
		return fmt.Errorf("there are the runs %v, and %d were missed; want the runs %v", got, c.Status.Missed, want)
	}
	return nil
}

// Action implements Fixture. A Job is created, so that its name is not in the path.
func (cronTabs) Action(unique string) string { return "POST namespaces/" + unique + "/jobs" }

// come lets the slot of a CronTab come.
func (f cronTabs) come(unique string) {
	GinkgoHelper()
	Change(cronTabNamed(unique), func(c *v1alpha1.CronTab) { f.Change(c, unique) })
}

// Happenings implements Fixture. A run by hand is part of the creation.
func (f cronTabs) Happenings() []Happening {
	return []Happening{
		{
			Name: "a slot that comes",
			Do:   f.come,
			Done: func(unique string) error {
				c := cronTabNamed(unique)
				if err := Reload(c); err != nil {
					return err
				}
				if last := c.Status.LastRun; last == nil || last.Slot == nil || !last.Slot.Time.Equal(f.Due(c)) {
					return fmt.Errorf("the last run is %+v", last)
				}
				return nil
			},
		},
		{
			Name: "a run that ends and is not kept",
			Do: func(unique string) {
				Patch(cronTabNamed(unique), `{"spec":{"history":{"succeeded":0}}}`)
				endRun(unique, "first", true)
			},
			Done: func(unique string) error {
				job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: unique, Name: jobOf(unique, "first")}}
				if err := Reload(job); client.IgnoreNotFound(err) != nil || err == nil {
					return fmt.Errorf("the Job is there, or cannot be read: %w", err)
				}
				return nil
			},
		},
	}
}

// endRun lets a run end, as the controller of Jobs would.
func endRun(unique, request string, success bool) {
	GinkgoHelper()
	j := &batchv1.Job{}
	Eventually(func() error {
		return Admin.Get(context.Background(), client.ObjectKey{Namespace: unique, Name: jobOf(unique, request)}, j)
	}).Should(Succeed())
	j.Status.StartTime = &j.CreationTimestamp
	conditions := []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed}
	if success {
		conditions = []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete}
		j.Status.CompletionTime = new(metav1.Now())
	}
	for _, c := range conditions {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
	Expect(Admin.Status().Update(context.Background(), j)).To(Succeed())
}

// countPods has a run that began long ago have so many pods, as the controller of Jobs would count them.
func countPods(unique, request string, n int32) {
	GinkgoHelper()
	j := &batchv1.Job{}
	Eventually(func(g Gomega) {
		g.Expect(Admin.Get(context.Background(), client.ObjectKey{Namespace: unique, Name: jobOf(unique, request)}, j)).To(Succeed())
		j.Status.StartTime = &metav1.Time{Time: time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)}
		j.Status.Active, j.Status.Ready = n, &n
		g.Expect(Admin.Status().Update(context.Background(), j)).To(Succeed())
	}).Should(Succeed())
}

// Deletions implements Fixture.
func (cronTabs) Deletions() []Deletion {
	return []Deletion{{Name: "Stop", Prepare: func(engine.Object) {}}}
}

// Lingering implements Fixture.
func (cronTabs) Lingering() string { return "are being stopped" }

// Invalidate implements Fixture.
func (cronTabs) Invalidate(o *unstructured.Unstructured) {
	for path, value := range map[string]any{"cronSpec": "nonsense", "image": "", "replicas": int64(11), "concurrencyPolicy": "Maybe"} {
		Expect(unstructured.SetNestedField(o.Object, value, "spec", path)).To(Succeed())
	}
}

// Breakages implements Fixture.
func (f cronTabs) Breakages() []Breakage {
	return []Breakage{
		{
			Name: "that there is no such time zone", Unborn: true,
			Prepare: func(o engine.Object) { cronTab(o).Spec.TimeZone = "Europe/Bielefeld" },
			Break:   func(string) {},
			Mend: func(unique string) {
				Patch(cronTabNamed(unique), `{"spec":{"timeZone":"Europe/Berlin"}}`)
			},
			Reason: "InvalidSchedule", Status: status.FailedStatus,
		},
		{
			Name:  "that a run has failed",
			Break: func(unique string) { endRun(unique, "first", false) },
			Mend: func(unique string) {
				Annotate(cronTabNamed(unique), runNow, "repaired")
				endRun(unique, "repaired", true)
			},
			Reason: "RunFailed", Status: status.InProgressStatus,
		},
		{
			Name:   "that a run has no pods",
			Break:  func(unique string) { countPods(unique, "first", 0) },
			Mend:   func(unique string) { countPods(unique, "first", 1) },
			Reason: "PodsMissing", Status: status.InProgressStatus,
		},
		{
			Name: "that the operator may not do what it has to",
			Break: func(unique string) {
				takeAway("create", foreignJob(unique))
				f.come(unique)
			},
			Mend:   func(string) { giveBackRole() },
			Reason: "Forbidden", Status: status.InProgressStatus,
		},
	}
}

// foreignJob is a Job as anybody may have made it, of the name that the first run would have.
func foreignJob(unique string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: unique, Name: jobOf(unique, "first")},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "theirs"}},
		}}},
	}
}
