// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tenancy"
)

const (
	// LabelMigration is on the pods of migrations, which are no endpoints of the application.
	LabelMigration = "workloads.apps.acme.com/migration"

	migrationSuffix    = "migrate-"
	migrationContainer = "migrate"
)

// migrationName is the name of the Job that has to succeed before the present version is rolled out; empty when none has to.
// It follows from what the Job runs, so that it runs once for each.
func migrationName(app *v1alpha1.WebApp) string {
	m := app.Spec.Migration
	if m == nil {
		return ""
	}
	text, _ := json.Marshal([]any{app.Spec.WebAppImage, m.Command, m.Args}) // strings can be encoded
	return names.Job(app.Name, migrationSuffix+names.Digest(string(text)))
}

// migrationJob runs the image of the application, with its environment, files, account and volumes. A pod that fails is not
// tried again, for nobody knows how far it came; one that a node's drain ends is.
func (in input) migrationJob() (*batchv1.Job, error) {
	template, err := in.template()
	if err != nil {
		return nil, err
	}
	labels := map[string]string{LabelMigration: in.name()}
	pod := &corev1.PodTemplateSpec{}
	if err := convert(template, pod); err != nil {
		return nil, err
	}
	app := pod.Spec.Containers[0]
	app.Name, app.Command, app.Args = migrationContainer, in.app.Spec.Migration.Command, in.app.Spec.Migration.Args
	app.Ports, app.ReadinessProbe, app.LivenessProbe, app.StartupProbe, app.Lifecycle = nil, nil, nil, nil, nil
	app.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	pod.Labels, pod.Spec.Containers, pod.Spec.InitContainers = labels, []corev1.Container{app}, nil
	pod.Spec.TopologySpreadConstraints, pod.Spec.RestartPolicy = nil, corev1.RestartPolicyNever
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: in.app.Namespace, Name: migrationName(in.app), Labels: labels},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)), Template: *pod,
			PodReplacementPolicy: new(batchv1.Failed),
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{
					Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				}},
			}}},
		},
	}, nil
}

// migrations are the Jobs that a WebApp has, and what has to happen next.
type migrations struct {
	current *batchv1.Job // that of the present version
	running *batchv1.Job // one of an earlier version that has not ended
	ended   []*batchv1.Job
}

// sortOut sorts Jobs by what is to be done about them.
func sortOut(jobs []*batchv1.Job, current string) (m migrations) {
	for _, j := range jobs {
		switch {
		case j.Name == current:
			m.current = j
		case endOf(j) == "": // also while it is being deleted: its pod may still run
			m.running = j
		default:
			m.ended = append(m.ended, j)
		}
	}
	return m
}

// endOf is how a Job has ended: Complete, Failed, or empty while it has not.
func endOf(j *batchv1.Job) batchv1.JobConditionType {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

// holds reports whether no pod of the present version may start yet.
func (m migrations) holds(app *v1alpha1.WebApp) bool {
	current := migrationName(app)
	return m.running != nil || current != "" && !hasMigrated(&app.Status, current)
}

// hasMigrated reports whether a migration has succeeded: the last one, or that of a revision on record.
func hasMigrated(status *v1alpha1.WebAppStatus, migration string) bool {
	return status.Migrated == migration || migratedFor(status, migration) != 0
}

// migratedFor is a revision on record for which a migration has succeeded; 0 when there is none.
func migratedFor(status *v1alpha1.WebAppStatus, migration string) int64 {
	for _, r := range status.Revisions {
		if r.Migrated == migration {
			return r.Number
		}
	}
	return 0
}

// unended reports whether any migration has not ended.
func (m migrations) unended() bool {
	return m.running != nil || m.current != nil && endOf(m.current) == ""
}

// findMigrations lists the Jobs of the WebApp, and its revisions.
func (r *run) findMigrations(ctx context.Context) (migrations, error) {
	var jobs []*batchv1.Job
	err := r.EachOwned(ctx, func(o client.Object) error {
		switch o := o.(type) {
		case *batchv1.Job:
			jobs = append(jobs, o)
		case *appsv1.ControllerRevision:
			r.records = append(r.records, o)
		}
		return nil
	})
	return sortOut(jobs, migrationName(r.Obj)), err
}

// migrate runs the migration of the present version, once, after those of earlier versions have ended.
func (r *run) migrate(ctx context.Context) (engine.Outcome, error) {
	m, current := r.migrations, migrationName(r.Obj)
	if m.running != nil {
		return r.awaitMigration(ctx, m.running, "the migration of an earlier version has not ended: ")
	}
	for _, j := range m.ended {
		if err := r.Discard(ctx, j, metav1.DeletePropagationBackground); err != nil {
			return engine.Outcome{}, err
		}
	}
	switch earlier := migratedFor(&r.Obj.Status, current); {
	case r.course.why != bySpec:
		return r.migrateNothing(ctx)
	case current == "":
		r.Obj.Status.Migrated = ""
		return engine.Done().Saying("no migration is asked for"), nil
	case r.Obj.Status.Migrated == current:
		return engine.Done().Saying("the migration of the present version has succeeded"), nil
	case earlier != 0:
		return engine.Done().Saying(fmt.Sprintf("the migration to %s has succeeded earlier, for revision %d, and does not run again; "+
			"what later migrations have changed is not undone", r.Obj.Spec.WebAppImage, earlier)), nil
	case m.current == nil:
		return r.startMigration(ctx)
	default:
		return r.finishMigration(ctx)
	}
}

// finishMigration records that the migration of the present version has ended, or reports what it does.
func (r *run) finishMigration(ctx context.Context) (engine.Outcome, error) {
	current := r.migrations.current
	switch endOf(current) {
	case batchv1.JobComplete:
		r.Obj.Status.Migrated = current.Name
		return engine.Wait(0, ReasonMigrating, "the migration has succeeded; the present version is rolled out").Due(r.Clock.Now()), nil
	case batchv1.JobFailed:
		pods, err := r.podsOf(ctx, current)
		return engine.Block(ReasonMigrationFailed, "the migration to "+r.Obj.Spec.WebAppImage+" has failed, and the version of before "+
			"continues to serve"+pods.said+". It is tried again when spec.webAppImage or spec.migration changes"), err
	default:
		return r.watchMigration(ctx, current, "", "")
	}
}

// startMigration makes the Job, once nothing of an earlier one runs.
func (r *run) startMigration(ctx context.Context) (engine.Outcome, error) {
	if what, err := r.findUnended(ctx); err != nil || what != "" {
		return engine.Wait(lookAgain, ReasonMigrating, "the migration to "+r.Obj.Spec.WebAppImage+" waits for "+what+
			" of an earlier one, which has not ended; delete it by force only if its node is gone"), err
	}
	job, err := input{app: r.Obj}.migrationJob()
	if err != nil {
		return engine.Outcome{}, err
	}
	_, out, err := r.CreateOnce(ctx, job)
	if err != nil || !out.GoesOn() {
		return out, err
	}
	return engine.Wait(lookAgain, ReasonMigrating, "the migration to "+r.Obj.Spec.WebAppImage+" runs"), nil
}

// awaitMigration reports a migration whose result nobody wants any more. Another one starts only after it, and only its user knows
// whether it may be broken off.
func (r *run) awaitMigration(ctx context.Context, j *batchv1.Job, before string) (engine.Outcome, error) {
	return r.watchMigration(ctx, j, before, fmt.Sprintf(`. If it can never end, "kubectl delete job %s" gives it up`, j.Name))
}

// watchMigration reports a migration that has not ended, with what is to be said before and after it.
func (r *run) watchMigration(ctx context.Context, j *batchv1.Job, before, after string) (engine.Outcome, error) {
	pods, err := r.podsOf(ctx, j)
	if err != nil {
		return engine.Outcome{}, err
	}
	wrong, err := r.conclude(ctx, pods.examination)
	if !pods.any && r.Clock.Since(j.CreationTimestamp.Time) > soon {
		wrong, err = r.findRefusal(ctx, j)
	}
	if wrong.rank > 0 {
		return engine.Wait(lookAgain, wrong.reason, before+wrong.message+after), err
	}
	return engine.Wait(lookAgain, ReasonMigrating, before+"the Job "+j.Name+" runs; the version of before continues to serve"+after), err
}

// soon is when a Job should have a pod.
const soon = 5 * time.Second

// ofMigration is what can be told of the pods of a migration.
type ofMigration struct {
	examination // of those that have not failed
	any         bool
	said        string // by one that has failed
}

// podsOf reads the pods of a migration.
func (r *run) podsOf(ctx context.Context, j *batchv1.Job) (of ofMigration, err error) {
	_, err = tenancy.Each(ctx, r.Live, j.Namespace, &corev1.PodList{}, maxPods, func(p *corev1.Pod) {
		if of.any = true; p.Status.Phase != corev1.PodFailed {
			of.see(p)
		}
		for _, s := range p.Status.ContainerStatuses {
			if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
				of.said = lastEnd(". It has ended with", s.State)
			}
		}
	}, client.MatchingLabels{batchv1.JobNameLabel: j.Name})
	if err != nil {
		return ofMigration{}, fmt.Errorf("listing the pods of the migration: %w", err)
	}
	return of, nil
}

// findRefusal finds out why a Job has no pod. The status of a Job does not say that, and events may be missing: so the API server
// is asked whether it would create the pod.
func (r *run) findRefusal(ctx context.Context, j *batchv1.Job) (finding, error) {
	whole := &batchv1.Job{} // the cache has no templates of Jobs
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(j), whole); err != nil {
		return finding{}, client.IgnoreNotFound(err)
	}
	pod := &corev1.Pod{ObjectMeta: whole.Spec.Template.ObjectMeta, Spec: whole.Spec.Template.Spec}
	pod.Namespace, pod.Name = j.Namespace, j.Name
	err := r.Client.Create(ctx, pod, client.DryRunAll)
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		return finding{5, ReasonPodsRefused, "the API server refuses to create the pod of the migration: " + quoted(err.Error())}, nil
	}
	return finding{1, ReasonMigrating, fmt.Sprintf("the Job %s has no pod yet; \"kubectl describe job %s\" shows why", j.Name, j.Name)}, nil
}

// findUnended asks the API server for what still runs of any migration: a Job that the cache does not have yet, or a pod that is
// there longer than its Job. It is empty when nothing does.
func (r *run) findUnended(ctx context.Context) (what string, err error) {
	ours := client.MatchingLabels{LabelMigration: nameOf(r.Obj)}
	_, err = tenancy.Each(ctx, r.Live, r.Obj.Namespace, &batchv1.JobList{}, maxPods, func(j *batchv1.Job) {
		if metav1.IsControlledBy(j, r.Obj) && j.Name != migrationName(r.Obj) && endOf(j) == "" {
			what = "the Job " + j.Name
		}
	}, ours)
	if err != nil {
		return "", fmt.Errorf("listing the Jobs of migrations: %w", err)
	}
	_, err = tenancy.Each(ctx, r.Live, r.Obj.Namespace, &corev1.PodList{}, maxPods, func(p *corev1.Pod) {
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			what = "the pod " + p.Name
		}
	}, ours)
	if err != nil {
		return "", fmt.Errorf("listing the pods of migrations: %w", err)
	}
	return what, nil
}
