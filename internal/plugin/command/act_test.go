// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	workloadsv1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// jobs are the Jobs of a CronTab.
func (w *world) jobs(tab *batchv1alpha1.CronTab) []batchv1.Job {
	w.Helper()
	list := &batchv1.JobList{}
	w.must(w.admin.List(w.Context(), list, client.InNamespace("team-a"), client.MatchingLabels{names.LabelOwnerUID: string(tab.UID)}))
	return list.Items
}

// result is what a command did that ran beside the test.
type result struct {
	out, errs string
	code      int
}

func (w *world) start(args ...string) <-chan result {
	ended := make(chan result, 1)
	go func() {
		out, errs, code := w.run("admin", args...)
		ended <- result{out, errs, code}
	}()
	return ended
}

func testRun(w *world) {
	tab := w.crontab("by-hand")
	out := w.succeed("admin", "run", "ct/by-hand", "--reason", "incident 4711")
	w.contains(out, "crontab/by-hand has the request ", "incident 4711")
	w.eventually("the run has a Job", func() (bool, string) { return len(w.jobs(tab)) == 1, "" })
	first := w.jobs(tab)[0]
	w.contains(first.Annotations[names.AnnotationRunNow], "incident 4711")
	w.eventually("the request is recorded with its author", func() (bool, string) {
		w.must(w.admin.Get(w.Context(), client.ObjectKeyFromObject(tab), tab))
		return tab.Status.RunNow != nil && tab.Status.RunNow.By == "kubectl-acme", fmt.Sprintf("%+v", tab.Status.RunNow)
	})

	// The run of another request may end as it likes: each command waits for its own.
	w.failJob(&first)
	ended := w.start("run", "ct/by-hand", "--wait", "--timeout", "5m")
	w.eventually("a second run has a Job", func() (bool, string) { return len(w.jobs(tab)) == 2, "" })
	for _, job := range w.jobs(tab) {
		if job.Name != first.Name {
			w.succeedJob(&job)
		}
	}
	if r := <-ended; r.code != 0 || r.errs != "" || !strings.HasSuffix(r.out, "crontab/by-hand has run\n") {
		w.Errorf("%+v", r)
	}

	ended = w.start("run", "ct/by-hand", "--wait", "--timeout", "5m")
	w.eventually("a third run has a Job", func() (bool, string) { return len(w.jobs(tab)) == 3, "" })
	for _, job := range w.jobs(tab) {
		if len(job.Status.Conditions) == 0 {
			w.failJob(&job)
		}
	}
	if r := <-ended; r.code != 1 || !strings.HasPrefix(r.errs, "error: the run failed: BackoffLimitExceeded; read its logs: kubectl logs job/by-hand-") {
		w.Errorf("%+v", r)
	}

	_, errs, code := w.run("admin", "run", "ct/by-hand", "--wait", "--timeout", "100ms")
	if code != 1 || !strings.Contains(errs, "waited 100ms, and not until the run has ended; `kubectl acme why crontab/by-hand -n team-a` says why") {
		w.Errorf("%d %q", code, errs)
	}
	w.fail("admin", []string{"a configwatcher has no runs", "crontab"}, "run", "cw/watcher")
	w.fail("admin", []string{"too long by", "shorten it"}, "run", "ct/by-hand", "--reason", strings.Repeat("x", 128))
	w.fail("reader", []string{"you may not do that", "patch"}, "run", "ct/by-hand")
}

// succeedJob says of a Job what the Job controller says of one whose pods have succeeded.
func (w *world) succeedJob(job *batchv1.Job) {
	w.Helper()
	now := metav1.Now()
	job.Status.StartTime, job.Status.CompletionTime = &now, &now
	job.Status.Succeeded = *job.Spec.Completions
	job.Status.CompletedIndexes = "0"
	job.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: "True", Reason: "CompletionsReached", LastTransitionTime: now},
		{Type: batchv1.JobComplete, Status: "True", Reason: "CompletionsReached", LastTransitionTime: now},
	}
	w.must(w.admin.Status().Update(w.Context(), job))
}

func testSuspend(w *world) {
	tab := w.crontab("resting")
	w.contains(w.succeed("admin", "suspend", "ct/resting", "--wait"), "crontab/resting is suspended (spec.suspend)\n")
	w.contains(w.succeed("admin", "why", "ct/resting"), "ready (Suspended)")
	w.annotate(tab, names.AnnotationPaused, "true")
	w.contains(w.succeed("admin", "resume", "ct/resting", "--wait"), "crontab/resting is resumed\n")
	w.must(w.admin.Get(w.Context(), client.ObjectKeyFromObject(tab), tab))
	if tab.Spec.Suspend || len(tab.Annotations) > 0 || tab.Status.ObservedGeneration != tab.Generation {
		w.Errorf("after resume --wait: %+v", tab)
	}
	w.contains(w.succeed("admin", "resume", "ct/resting"), "crontab/resting is neither suspended nor paused\n")

	w.contains(w.succeed("admin", "suspend", "cw/watcher", "--wait"), "configwatcher/watcher is paused (annotation platform.acme.com/paused)\n")
	w.contains(w.succeed("admin", "status", "cw/watcher"), "Paused", "\nNext\n  kubectl acme resume configwatcher/watcher -n team-a\n")
	w.contains(w.succeed("admin", "why", "cw/watcher"), "configwatcher/watcher is paused", "do       kubectl acme resume configwatcher/watcher -n team-a\n")
	w.succeed("admin", "resume", "cw/watcher", "--wait")
	w.contains(w.succeed("admin", "status", "cw/watcher"), "Failed (SourceMissing)")
	w.fail("reader", []string{"you may not do that", "patch"}, "suspend", "ct/resting")
}

func testRestart(w *world) {
	app := &workloadsv1alpha1.WebApp{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "shop"}}
	app.Spec = workloadsv1alpha1.WebAppSpec{WebAppImage: "registry.example.com/shop:v1", WebAppHostname: "shop.example.com", DeploymentTier: "dev"}
	app.Spec.Config = map[string]workloadsv1alpha1.FileContent{"secret.txt": canary}
	w.must(w.admin.Create(w.Context(), app))
	d := &appsv1.Deployment{}
	w.eventually("it has a Deployment", func() (bool, string) {
		err := w.admin.Get(w.Context(), client.ObjectKey{Namespace: "team-a", Name: "shop"}, d)
		return err == nil, w.succeed("admin", "status", "webapp/shop")
	})
	out := w.succeed("admin", "status", "webapp/shop", "-o", "json")
	w.contains(out, "Deployment")
	w.lacks(out, canary)

	ended := w.start("restart", "webapp/shop", "--wait", "--timeout", "5m")
	w.eventually("the Deployment has the annotation of a restart", func() (bool, string) {
		w.must(w.admin.Get(w.Context(), client.ObjectKeyFromObject(d), d))
		return d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] != "", ""
	})
	w.eventually("the rollout has ended", func() (bool, string) {
		w.must(w.admin.Get(w.Context(), client.ObjectKeyFromObject(d), d))
		n := *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
		return w.admin.Status().Update(w.Context(), d) == nil, ""
	})
	if r := <-ended; r.code != 0 || r.out != "webapp/shop restarts its Deployment shop\n" {
		w.Errorf("%+v", r)
	}
	w.fail("admin", []string{"crontab/well has no workload to restart"}, "restart", "ct/well")
	_, errs, code := w.run("admin", "restart", "webapp/shop", "--wait", "--timeout", "100ms")
	if code != 1 || !strings.Contains(errs, "waited 100ms, and not until all pods of shop are new and available; `kubectl acme why webapp/shop -n team-a` says why") {
		w.Errorf("%d %q", code, errs)
	}
}
