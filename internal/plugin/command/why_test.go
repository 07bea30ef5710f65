// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/plugin"
)

func testWhy(w *world) {
	w.crontab("well")
	w.settled()
	if out := w.succeed("admin", "why", "crontab/well"); out != "crontab/well is ready\nnothing is wrong with it, and nothing waits\n" {
		w.Errorf("%q", out)
	}
	out := w.succeed("admin", "why", "crontab/invalid")
	w.contains(out, "crontab/invalid is failed (InvalidSchedule) for ", "\nbecause  ", "Nowhere/Land", "\ndo       the message says what is expected\n")
	out = w.succeed("admin", "why", "cw/watcher")
	w.contains(out, "(SourceMissing)", "\nbecause  ", "missing", "\ndo       create it, or remove it from the spec\n")
	w.fail("admin", []string{"KIND/NAME"}, "why")
	w.fail("nobody", []string{"you may not do that"}, "why", "crontab/well")

	w.crontab("suspended", func(t *batchv1alpha1.CronTab) { t.Spec.Suspend = true })
	w.settled()
	w.contains(w.succeed("admin", "why", "ct/suspended"), "crontab/suspended is ready (Suspended)\n", "\ndo       set it to false\n")

	// A run in progress, and another one by hand that waits for it; then the first one fails.
	tab, job := w.ran("busy")
	w.annotate(tab, names.AnnotationRunNow, "second")
	w.eventually("the second run waits", func() (bool, string) {
		out = w.succeed("admin", "why", "ct/busy")
		return strings.Contains(out, "runs by hand wait for runs in progress: 1"), out
	})
	answer := parsed[plugin.Answer](w, "admin", "why", "ct/busy")
	if answer.Object != "crontab/busy" || answer.Is != "ready, and something waits" || answer.Do == "" {
		w.Errorf("%+v", answer)
	}
	w.failJob(job)
	w.eventually("the run has failed", func() (bool, string) {
		out = w.succeed("admin", "why", "ct/busy")
		return strings.Contains(out, "not ready (RunFailed)"), out
	})
	w.contains(out, "\ndo       the event Failed names the Job; read the logs of its pods\n", "\nalso     Job "+job.Name+": failed: BackoffLimitExceeded\n")
}

func (w *world) annotate(o client.Object, key, value string) {
	w.Helper()
	before := o.DeepCopyObject().(client.Object)
	o.SetAnnotations(map[string]string{key: value})
	w.must(w.admin.Patch(w.Context(), o, client.MergeFrom(before)))
}

// failJob says of a Job what the Job controller says of one whose pods have failed.
func (w *world) failJob(job *batchv1.Job) {
	w.Helper()
	w.must(w.admin.Get(w.Context(), client.ObjectKeyFromObject(job), job))
	now := metav1.Now()
	job.Status.StartTime = &now
	job.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobFailureTarget, Status: "True", Reason: "BackoffLimitExceeded", LastTransitionTime: now},
		{Type: batchv1.JobFailed, Status: "True", Reason: "BackoffLimitExceeded", LastTransitionTime: now},
	}
	w.must(w.admin.Status().Update(w.Context(), job))
}
