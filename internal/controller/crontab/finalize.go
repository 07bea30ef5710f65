// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// stopFor is how long a deletion waits for the runs that it stops. Their Jobs are being deleted then, and the
// garbage collector deletes them in any case when their owner is gone. So a pod that cannot be removed, for
// instance because its node is lost, does not keep the CronTab.
const stopFor = 5 * time.Minute

// Finalize returns the steps between the deletion of a CronTab and its disappearance.
func (kind) Finalize(s engine.Scope[*v1alpha1.CronTab]) []engine.Step {
	r := &run{Scope: s}
	return []engine.Step{{Condition: RunsEnded, Run: r.end}}
}

// end stops or awaits the runs in progress.
func (r *run) end(ctx context.Context) (engine.Outcome, error) {
	if err := r.readRuns(ctx); err != nil {
		return engine.Outcome{}, err
	}
	running := slices.DeleteFunc(r.view.jobs, func(j job) bool { return j.outcome != v1alpha1.OutcomeRunning })
	deadline := r.Obj.DeletionTimestamp.Add(stopFor)
	switch {
	case len(running) == 0:
		return engine.Done(), nil
	case r.Obj.Spec.DeletionPolicy == v1alpha1.DeletionAwait:
		return engine.Wait(0, ReasonRunsGoingOn, fmt.Sprintf("%d runs are in progress, and deletionPolicy is Await; to stop them, "+
			"set it to Stop or delete their Jobs", len(running))), nil
	case !r.view.now.Before(deadline):
		r.Log.Info("Gave up waiting for the pods of stopped runs; they are deleted with their Jobs", "runs", len(running))
		return engine.Done(), nil
	}
	var stops []string
	for _, j := range running {
		if !j.deleting {
			stops = append(stops, j.name)
		}
	}
	switch err := r.stop(ctx, stops...); {
	case apierrors.IsConflict(err): // A Job has changed meanwhile.
		return engine.Outcome{}, err
	case err != nil:
		return engine.Outcome{}, engine.Explain(err, ReasonCannotStop, fmt.Sprintf("%v; this is retried until %s after the "+
			"deletion, then the garbage collector deletes the Jobs", err, stopFor))
	}
	return engine.Wait(0, ReasonRunsGoingOn, fmt.Sprintf("%d runs are being stopped; this object is removed when their pods are gone, "+
		"or %s after its deletion", len(running), stopFor)).Due(deadline), nil
}
