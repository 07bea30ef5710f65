// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// readRuns reads all runs. A run that is in progress according to the status and missing in the cache is read
// from the API server: the cache may be late, and a run in progress must not be considered gone.
func (r *run) readRuns(ctx context.Context) error {
	r.view = view{now: r.Clock.Now(), tab: r.Obj.DeepCopy()}
	r.live = map[string]*batchv1.Job{}
	if err := r.EachOwned(ctx, func(o client.Object) error {
		r.add(o.(*batchv1.Job))
		return nil
	}); err != nil {
		return err
	}
	for _, a := range r.Obj.Status.Active {
		if r.live[a.Job] != nil {
			continue
		}
		live := &batchv1.Job{}
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Obj.Namespace, Name: a.Job}, live)
		switch {
		case err == nil && r.Owned(live):
			r.add(live)
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("reading the Job %s: %w", a.Job, err)
		}
	}
	slices.SortFunc(r.view.jobs, func(a, b job) int { return strings.Compare(a.name, b.name) })
	return nil
}

// isRun reports whether an object has the name of a run. A copy of a run has another name.
func isRun(tab *v1alpha1.CronTab, o client.Object) bool {
	_, ok := runOf(tab.Name, o.GetName())
	return ok
}

func (r *run) add(live *batchv1.Job) {
	slot, _ := runOf(r.Obj.Name, live.Name)
	r.live[live.Name] = live
	r.view.jobs = append(r.view.jobs, observed(live, slot))
}

// observed returns the relevant part of a Job.
func observed(live *batchv1.Job, slot time.Time) job {
	j := job{
		name: live.Name, slot: slot, started: live.CreationTimestamp.Time, outcome: v1alpha1.OutcomeRunning,
		deleting: !live.DeletionTimestamp.IsZero(), pods: 1, ever: everMade(live.Status), begun: live.Status.Ready != nil && *live.Status.Ready > 0 ||
			live.Status.Succeeded+live.Status.Failed > 0,
	}
	if live.Spec.Parallelism != nil {
		j.pods = *live.Spec.Parallelism
	}
	if live.Status.StartTime != nil {
		j.taken = live.Status.StartTime.Time
	}
	for _, c := range live.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			j.outcome, j.ended = v1alpha1.OutcomeSucceeded, c.LastTransitionTime.Time
		case c.Type == batchv1.JobFailed:
			j.outcome, j.ended = v1alpha1.OutcomeFailed, c.LastTransitionTime.Time
		}
	}
	return j
}

// stop stops runs. Their Jobs remain until the pods are gone, so that the next run does not meet them.
func (r *run) stop(ctx context.Context, names ...string) error {
	return r.discard(ctx, names, metav1.DeletePropagationForeground)
}

// discard deletes the Jobs of runs. A Job that cannot be deleted does not prevent the deletion of the others.
func (r *run) discard(ctx context.Context, names []string, propagation metav1.DeletionPropagation) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, r.Discard(ctx, r.live[name].DeepCopy(), propagation))
	}
	return errors.Join(errs...)
}

// prune deletes ended runs that are no longer kept, with their pods.
func (r *run) prune(ctx context.Context) (engine.Outcome, error) {
	again, err := r.discardOld(ctx)
	return engine.Done().Due(again), err
}

// discardOld deletes the runs that are no longer kept, and returns when the next of the others will be too old.
func (r *run) discardOld(ctx context.Context) (again time.Time, err error) {
	gone, again := prunable(r.view)
	return again, r.discard(ctx, gone, metav1.DeletePropagationBackground)
}

// requester is who set the annotation that asks for a run by hand, and when, as the API server has recorded it.
func requester(fields []metav1.ManagedFieldsEntry, now time.Time) (by string, at metav1.Time) {
	by, at = "unknown", metav1.NewTime(now.Truncate(time.Second))
	for _, f := range fields {
		if f.FieldsV1 == nil || f.Time == nil {
			continue
		}
		var owned struct {
			Metadata struct {
				Annotations map[string]any `json:"f:annotations"`
			} `json:"f:metadata"`
		}
		if json.Unmarshal(f.FieldsV1.GetRawBytes(), &owned) != nil {
			continue
		}
		if _, sets := owned.Metadata.Annotations["f:"+names.AnnotationRunNow]; sets {
			by, at = f.Manager, *f.Time
		}
	}
	return by, at
}
