// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

const (
	// podsAppear is how long after its start a run has all its pods, unless they are rejected.
	podsAppear = time.Minute
	// podsStart is how long after its start at least one of its pods is running, unless something prevents it.
	podsStart = 5 * time.Minute
)

// everMade returns the number of pods that a Job has, or had.
func everMade(s batchv1.JobStatus) int32 {
	n := s.Active + s.Succeeded + s.Failed
	if s.Terminating != nil {
		n += *s.Terminating
	}
	if u := s.UncountedTerminatedPods; u != nil {
		n += int32(len(u.Succeeded) + len(u.Failed)) //nolint:gosec // There are few.
	}
	return n
}

// late returns why the pods of a run in progress are late: it has too few, or none that has ever run. The
// reason is empty otherwise, and again is when to look again.
func (j job) late(now time.Time) (reason string, again time.Time) {
	limit := podsStart
	switch {
	case j.outcome != v1alpha1.OutcomeRunning || j.deleting || j.taken.IsZero():
		return "", time.Time{}
	case j.ever < j.pods:
		reason, limit = ReasonPodsMissing, podsAppear
	case !j.begun:
		reason = ReasonPodsNotStarting
	default:
		return "", time.Time{}
	}
	if at := j.taken.Add(limit); now.Before(at) {
		return "", at
	}
	return reason, time.Time{}
}

// stuck returns the first run whose pods are late, as a reason and a message for the user. If there is none,
// again is when to look again.
func stuck(v view) (reason, message string, again time.Time) {
	for _, j := range v.jobs {
		reason, at := j.late(v.now)
		switch reason {
		case ReasonPodsMissing:
			return reason, fmt.Sprintf("the run %s has %d of %d pods %s after its start: they are rejected, for instance because of "+
				"Pod Security, a quota or a missing ServiceAccount. \"kubectl describe job %s -n %s\" shows why",
				j.name, j.ever, j.pods, podsAppear, j.name, v.tab.Namespace), time.Time{}
		case ReasonPodsNotStarting:
			return reason, fmt.Sprintf("no pod of the run %s is running %s after its start: for instance, the image cannot be "+
				"pulled, or no node has room. \"kubectl describe pods -l job-name=%s -n %s\" shows why",
				j.name, podsStart, j.name, v.tab.Namespace), time.Time{}
		}
		again = sooner(again, at)
	}
	return "", "", again
}

// checkPods reports pods that cannot be created or cannot start. The Job controller keeps trying, and the Job's
// status requeues the CronTab. The cache does not hold pods that have ended and are not counted yet, so a run
// that seems late is read from the API server.
func (r *run) checkPods(ctx context.Context) (engine.Outcome, error) {
	for i, j := range r.view.jobs {
		if reason, _ := j.late(r.view.now); reason == "" {
			continue
		}
		live := &batchv1.Job{}
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Obj.Namespace, Name: j.name}, live)
		switch {
		case apierrors.IsNotFound(err):
			r.view.jobs[i].deleting = true
		case err != nil:
			return engine.Outcome{}, fmt.Errorf("reading the Job %s: %w", j.name, err)
		default:
			r.view.jobs[i] = observed(live, j.slot)
		}
	}
	reason, message, again := stuck(r.view)
	if reason != "" {
		return engine.Wait(0, reason, message).Warning(), nil
	}
	return engine.Done().Due(again), nil
}
