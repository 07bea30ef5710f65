// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crontab reconciles CronTabs: for each slot of a schedule it creates a Job, once, under a name that is
// derived from the slot.
//
// It owns these Jobs by owner references, so that they are deleted with their CronTab, and identifies them by
// these and by their names: labels and annotations may be copied and overwritten. A Job is neither changed nor
// created again, whatever happens to it. It is deleted only to make room for the next run, when it is no longer
// kept as history, or with its CronTab. All state that this needs is in the status.
package crontab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/schedule"
)

// The conditions of a CronTab, in the order of its steps.
const (
	// Scheduled: cronSpec and timeZone are valid.
	Scheduled = "Scheduled"
	// Started: every slot so far was run, skipped, missed or queued.
	Started = "Started"
	// HistoryKept: the ended runs are limited as spec.history asks.
	HistoryKept = "HistoryKept"
	// PodsStarted: the runs in progress have their pods.
	PodsStarted = "PodsStarted"
	// LastRunSucceeded: the last run that ended has succeeded.
	LastRunSucceeded = "LastRunSucceeded"
	// RunsEnded: no run is in progress. While deleting only.
	RunsEnded = "RunsEnded"
)

// The reasons of conditions and events, in addition to those of the engine.
const (
	ReasonInvalidSchedule = "InvalidSchedule"
	ReasonNeverFires      = "NeverFires"
	ReasonSuspended       = "Suspended"
	ReasonJobRefused      = "JobRefused"
	ReasonPodsMissing     = "PodsMissing"
	ReasonPodsNotStarting = "PodsNotStarting"
	ReasonRunFailed       = "RunFailed"
	ReasonRunsGoingOn     = "RunsGoingOn"
	ReasonCannotStop      = "CannotStop"

	EventStarted = "Started"
	EventSkipped = "Skipped"
	EventMissed  = "Missed"
	EventQueued  = "Queued"
	EventFailed  = "Failed"
	EventDropped = "Dropped"
)

const (
	// Name is the kind in lower case.
	Name = "crontab"
	// Finalizer keeps a CronTab that is being deleted until its runs have ended.
	Finalizer = "finalizer.batch.acme.com"

	// lookAgain is how often the clock is checked while a run is far off: timers do not notice that it was set.
	lookAgain = 10 * time.Minute
	// recheck is how often a Job that the API server rejects is tried again.
	recheck = time.Minute
)

// Options configures the kind.
type Options struct {
	// MaxConcurrentReconciles is how many objects are reconciled at once.
	MaxConcurrentReconciles int
	// RetryMax is the longest time between two tries after errors.
	RetryMax time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=create;delete;get;list;watch
// +kubebuilder:rbac:groups=batch.acme.com,resources=crontabs,verbs=get;list;patch;watch
// +kubebuilder:rbac:groups=batch.acme.com,resources=crontabs/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch.acme.com,resources=crontabs/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Holds are the Jobs of runs.
var Holds = []engine.Held{{Of: &batchv1.Job{}}}

// Register adds the kind to the manager.
func Register(mgr ctrl.Manager, o Options) error {
	if err := observeActive(mgr.GetCache()); err != nil {
		return fmt.Errorf("registering the metrics of %s: %w", Name, err)
	}
	return engine.Register(mgr, &v1alpha1.CronTab{}, engine.Config[*v1alpha1.CronTab]{
		Name:                    Name,
		Finalizer:               Finalizer,
		Owns:                    []client.Object{&batchv1.Job{}},
		Proves:                  isRun,
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		RetryMax:                o.RetryMax,
		Clock:                   o.Clock,
	}, kind{})
}

type kind struct{}

// Steps returns the steps of a CronTab.
func (kind) Steps(s engine.Scope[*v1alpha1.CronTab]) []engine.Step {
	r := &run{Scope: s}
	return []engine.Step{
		{Condition: Scheduled, Run: r.parse},
		{Condition: Started, Run: r.start},
		{Condition: HistoryKept, Run: r.prune},
		{Condition: PodsStarted, Run: r.checkPods},
		{Condition: LastRunSucceeded, Run: r.checkLastRun},
	}
}

// run is one reconcile of one object, with the results that its steps share.
type run struct {
	engine.Scope[*v1alpha1.CronTab]

	view view
	live map[string]*batchv1.Job
}

// parse reads the schedule. The webhook makes the same checks.
func (r *run) parse(ctx context.Context) (engine.Outcome, error) {
	if err := r.readRuns(ctx); err != nil {
		return engine.Outcome{}, err
	}
	spec := r.Obj.Spec
	parsed, err := schedule.Parse(spec.CronSpec, spec.TimeZone, string(r.Obj.UID))
	if err != nil {
		r.Obj.Status.Schedule = ""
		return r.postpone(ctx, postponed(closed(r.view.tab), byHandOnly(r.view)), engine.Block(ReasonInvalidSchedule, err.Error()), nil)
	}
	r.view.schedule = parsed
	r.Obj.Status.Schedule = parsed.String()
	switch {
	case parsed.NeverFires():
		return engine.Done().Because(ReasonNeverFires).Warning().Saying(fmt.Sprintf(
			"no day matches %q, so that it never fires; change spec.cronSpec, or start runs by hand", spec.CronSpec)), nil
	case spec.Suspend:
		return engine.Done().Because(ReasonSuspended).Saying("spec.suspend is true: only runs by hand are started"), nil
	}
	return engine.Done().Saying(fmt.Sprintf("the schedule in effect is %q", parsed)), nil
}

// start starts, stops and queues runs for the slots so far. The status is written last: after an interruption,
// the next reconcile computes the same names and finds the Jobs that exist already. A reconcile that creates
// Jobs leaves the status to the next one: when many CronTabs fire together, all Jobs are created before any
// status is written.
func (r *run) start(ctx context.Context) (engine.Outcome, error) {
	d := decide(r.view)
	made, out, err := r.carryOut(ctx, d)
	switch {
	case errors.As(err, new(nameTaken)): // so that the request is dropped and does not block later ones
		return r.start(ctx)
	case err != nil || !out.GoesOn():
		return r.postpone(ctx, postponed(r.view.tab.Status.Ledger, d), out, err)
	case made:
		return engine.Again(time.Second), nil
	}
	if err := r.record(ctx, d); err != nil {
		return engine.Outcome{}, err
	}
	return r.dueAt(engine.Done().Saying(
		fmt.Sprintf("runs: %d in progress, %d waiting", r.Obj.Status.ActiveRuns, len(d.ledger.Queue)+len(d.waiting))), r.next(d)), nil
}

// nameTaken is the error of a request for a run by hand whose Job's name belongs to another object.
type nameTaken struct{ error }

// carryOut stops and starts runs, and reports whether it created Jobs.
func (r *run) carryOut(ctx context.Context, d decision) (made bool, out engine.Outcome, err error) {
	if err := r.stop(ctx, d.stops...); err != nil {
		return false, engine.Outcome{}, err
	}
	for _, st := range d.starts {
		if r.live[st.job] != nil {
			continue
		}
		created, out, err := r.startJob(ctx, st)
		if err != nil || !out.GoesOn() {
			return made, out, err
		}
		made = made || created
	}
	return made, engine.Done(), nil
}

// postpone returns the outcome of a decision that could not be carried out. It still records how earlier runs
// ended and prunes their history, which may be the obstacle, for instance if a quota limits Jobs.
func (r *run) postpone(ctx context.Context, d decision, out engine.Outcome, cause error) (engine.Outcome, error) {
	if err := r.record(ctx, d); err != nil {
		return engine.Outcome{}, errors.Join(cause, err)
	}
	again, err := r.discardOld(ctx)
	return r.dueAt(out, sooner(r.next(d), again)), errors.Join(cause, err)
}

// next returns when to look again because of the next run; zero means never.
func (r *run) next(d decision) time.Time {
	if len(d.next) == 0 {
		return time.Time{}
	}
	return sooner(d.next[0], r.view.now.Add(lookAgain))
}

// dueAt adds the instant at which to look again to an outcome, if there is one.
func (r *run) dueAt(out engine.Outcome, at time.Time) engine.Outcome {
	if at.IsZero() {
		return out
	}
	return out.Due(at)
}

// startJob creates the Job of one run. A run whose Job the API server rejects stays due: it is tried again
// until the Job is created, or the next slot arrives.
func (r *run) startJob(ctx context.Context, st start) (made bool, out engine.Outcome, err error) {
	made, out, err = r.CreateOnce(ctx, desiredJob(r.Obj.DeepCopy(), st))
	byHand := st.slot.IsZero()
	switch {
	case apierrors.IsInvalid(err):
		return false, engine.BlockFor(recheck, ReasonJobRefused, err.Error()), nil
	case err == nil && byHand && out.Reason() == engine.ReasonNameTaken:
		r.view.taken = append(r.view.taken, st.request)
		return false, out, nameTaken{fmt.Errorf("the name %s is taken", st.job)}
	case err != nil || !made:
		return false, out, err
	case byHand:
		r.Event(corev1.EventTypeNormal, EventStarted, "Started Job %s by hand, for the request %q", st.job, st.request)
	default:
		startDelay.Observe(r.Clock.Since(st.slot.Add(r.view.jitter())).Seconds())
		r.Event(corev1.EventTypeNormal, EventStarted, "Started Job %s for the slot %s", st.job, st.slot.UTC().Format(time.RFC3339))
	}
	return true, out, nil
}

// record updates the status after a decision, and emits events for what is new.
func (r *run) record(ctx context.Context, d decision) error {
	asked, err := r.asked(ctx, d)
	if err != nil {
		return err
	}
	status, failed := settle(r.view, d)
	recordRequests(&status, d, asked)
	status.Selector, status.Schedule = selector(r.Obj.Name), r.Obj.Status.Schedule
	status.Status = r.Obj.Status.Status
	r.Obj.Status = status
	r.Told(func() { r.emitEvents(d, failed) })
	return nil
}

// asked returns the record of a new request for a run by hand. The field manager that made it is in the
// object's managed fields, which the cache does not hold.
func (r *run) asked(ctx context.Context, d decision) (*v1alpha1.RunNow, error) {
	if d.asked == "" {
		return nil, nil
	}
	live := &v1alpha1.CronTab{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(r.Obj), live); err != nil {
		return nil, fmt.Errorf("reading the field manager that requested a run by hand: %w", err)
	}
	record := &v1alpha1.RunNow{Request: d.asked}
	record.By, record.At = requester(live.ManagedFields, r.view.now)
	return record, nil
}

// emitEvents emits events for slots and requests that were not started, and for runs that have failed.
func (r *run) emitEvents(d decision, failed []string) {
	missedRuns.Add(float64(d.missed))
	if d.missed > 0 {
		r.Event(corev1.EventTypeWarning, EventMissed, "Missed %d runs: they could not be started in time. "+
			"spec.startingDeadline and spec.missedRuns decide which runs are made up for", d.missed)
	}
	for _, slot := range d.skipped {
		r.Event(corev1.EventTypeWarning, EventSkipped, "Skipped the slot %s because of other runs (concurrencyPolicy %s)",
			slot.UTC().Format(time.RFC3339), r.Obj.Spec.ConcurrencyPolicy)
	}
	for _, slot := range d.queued {
		r.Event(corev1.EventTypeNormal, EventQueued, "The slot %s waits for runs in progress", slot.UTC().Format(time.RFC3339))
	}
	if slices.Contains(d.waiting, d.asked) {
		r.Event(corev1.EventTypeNormal, EventQueued, "The request %q for a run by hand waits for runs in progress", d.asked)
	}
	for _, x := range d.dropped {
		r.Event(corev1.EventTypeWarning, EventDropped, "Dropped the request %q for a run by hand: %s", x.request, x.why)
	}
	for _, name := range failed {
		r.Event(corev1.EventTypeWarning, EventFailed, "The run %s has failed. \"kubectl describe job %s -n %s\" and the logs of its pods show why",
			name, name, r.Obj.Namespace)
	}
}

// checkLastRun reports whether the last run that ended has succeeded.
func (r *run) checkLastRun(context.Context) (engine.Outcome, error) {
	success, failure := r.Obj.Status.LastSuccess, r.Obj.Status.LastFailure
	switch {
	case failure != nil && (success == nil || success.Before(failure)):
		return engine.Wait(0, ReasonRunFailed, "the last run that ended has failed; this clears after the next successful run. "+
			"The event Failed names its Job, whose pods and logs show why").Warning(), nil
	case success == nil:
		return engine.Done().Saying("no run has ended yet"), nil
	default:
		return engine.Done().Saying("the last run that ended has succeeded"), nil
	}
}
