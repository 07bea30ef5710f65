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

// Package crontab reconciles CronTabs: for each slot of a schedule it makes a Job, once, with a name that follows from
// the slot.
//
// It owns these Jobs by owner references, so that they go with their CronTab. A Job that was made is left as it is:
// it is neither changed nor made again, whatever becomes of it, and deleted only to make room for the next run,
// when it is no longer kept as history, or with its CronTab. All that has to be known for that is in the status.
package crontab

import (
	"context"
	"fmt"
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
	// Scheduled: cronSpec and timeZone make sense.
	Scheduled = "Scheduled"
	// Started: every slot that has come is dealt with.
	Started = "Started"
	// HistoryKept: of the ended runs there are as many as wanted.
	HistoryKept = "HistoryKept"
	// LastRunSucceeded: the last run that ended did so well.
	LastRunSucceeded = "LastRunSucceeded"
	// RunsEnded: nothing goes on any more. While deleting only.
	RunsEnded = "RunsEnded"
)

// The reasons of conditions and events, beside those of the engine.
const (
	ReasonInvalidSchedule = "InvalidSchedule"
	ReasonNeverFires      = "NeverFires"
	ReasonSuspended       = "Suspended"
	ReasonJobRefused      = "JobRefused"
	ReasonRunFailed       = "RunFailed"
	ReasonRunsGoingOn     = "RunsGoingOn"
	ReasonCannotStop      = "CannotStop"

	EventStarted = "Started"
	EventSkipped = "Skipped"
	EventMissed  = "Missed"
	EventQueued  = "Queued"
	EventFailed  = "Failed"
)

const (
	// Name is the kind in lower case.
	Name = "crontab"
	// Finalizer keeps a CronTab until its runs have ended.
	Finalizer = "finalizer.batch.acme.com"

	// lookAgain is how often the clock is looked at while a run is far off: timers do not notice that it was set.
	lookAgain = 10 * time.Minute
	// recheck is how often a Job that the API server refuses is tried again.
	recheck = time.Minute
)

// Options is what the kind needs beside the cluster.
type Options struct {
	// MaxConcurrentReconciles is how many objects are worked on at once.
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

// Steps is the whole life of a CronTab.
func (kind) Steps(s engine.Scope[*v1alpha1.CronTab]) []engine.Step {
	r := &run{Scope: s}
	return []engine.Step{
		{Condition: Scheduled, Run: r.parse},
		{Condition: Started, Run: r.start},
		{Condition: HistoryKept, Run: r.prune},
		{Condition: LastRunSucceeded, Run: r.judge},
	}
}

// run is one run of one object, with what its steps hand on.
type run struct {
	engine.Scope[*v1alpha1.CronTab]

	schedule schedule.Schedule
	view     view
	live     map[string]*batchv1.Job
}

// parse does what the webhook does, too.
func (r *run) parse(context.Context) (engine.Outcome, error) {
	spec := r.Obj.Spec
	var err error
	r.schedule, err = schedule.Parse(spec.CronSpec, spec.TimeZone, string(r.Obj.UID))
	switch {
	case err != nil:
		r.Obj.Status.Schedule, r.Obj.Status.NextRuns = "", nil
		r.Obj.Status.Ledger = closed(r.Obj)
		return engine.Block(ReasonInvalidSchedule, err.Error()), nil
	case r.schedule.NeverFires():
		r.Obj.Status.Schedule = r.schedule.String()
		return engine.Done().Because(ReasonNeverFires).Saying(fmt.Sprintf(
			"there is no day on which %q fires; runs can be started by hand only", spec.CronSpec)), nil
	case spec.Suspend:
		r.Obj.Status.Schedule = r.schedule.String()
		return engine.Done().Because(ReasonSuspended).Saying("spec.suspend is true; runs can be started by hand only"), nil
	}
	r.Obj.Status.Schedule = r.schedule.String()
	return engine.Done().Saying(fmt.Sprintf("%q is %q", spec.CronSpec, r.schedule)), nil
}

// start deals with the slots that have come. The status is written after all else was done: when that is interrupted,
// the next run comes to the same names, and finds what was made already. A run that makes Jobs leaves the status to the
// next one on purpose: when many CronTabs fire together, all are started before anything is written about any.
func (r *run) start(ctx context.Context) (engine.Outcome, error) {
	if err := r.look(ctx); err != nil {
		return engine.Outcome{}, err
	}
	d := decide(r.view)
	for _, name := range d.stops {
		if err := r.stop(ctx, name); err != nil {
			return engine.Outcome{}, err
		}
	}
	made := false
	for _, st := range d.starts {
		if r.live[st.job] != nil {
			continue
		}
		out, err := r.startJob(ctx, st, d.request)
		if err != nil || !out.GoesOn() {
			r.observe(d)
			return r.untilNext(out, d), err
		}
		made = true
	}
	if made {
		return engine.Again(time.Second), nil
	}
	if err := r.record(ctx, d); err != nil {
		return engine.Outcome{}, err
	}
	return r.untilNext(engine.Done().Saying(
		fmt.Sprintf("%d going on, %d waiting", r.Obj.Status.ActiveRuns, len(d.ledger.Queue))), d), nil
}

// untilNext is the outcome with the next run as the time to come back.
func (r *run) untilNext(out engine.Outcome, d decision) engine.Outcome {
	if len(d.next) == 0 {
		return out
	}
	return out.Due(sooner(d.next[0], r.view.now.Add(lookAgain)))
}

// startJob makes the Job of one run. One that the API server does not take stays due: it is tried again until it is
// taken, or the next slot comes.
func (r *run) startJob(ctx context.Context, st start, request string) (engine.Outcome, error) {
	made, out, err := r.CreateOnce(ctx, desiredJob(r.Obj.DeepCopy(), st, request))
	switch {
	case apierrors.IsInvalid(err):
		return engine.BlockFor(recheck, ReasonJobRefused, err.Error()), nil
	case err != nil || !out.GoesOn() || !made:
		return out, err
	case st.slot.IsZero():
		r.Event(corev1.EventTypeNormal, EventStarted, "Started Job %s by hand", st.job)
	default:
		startDelay.Observe(r.Clock.Since(st.slot.Add(r.view.jitter())).Seconds())
		r.Event(corev1.EventTypeNormal, EventStarted, "Started Job %s for the slot %s", st.job, st.slot.UTC().Format(time.RFC3339))
	}
	return out, nil
}

// record writes down what was decided and done, and tells of it.
func (r *run) record(ctx context.Context, d decision) error {
	runNow, err := r.requested(ctx, d)
	if err != nil {
		return err
	}
	r.settle(d)
	r.Obj.Status.RunNow = runNow
	r.Told(func() { r.tell(d) })
	return nil
}

// tell reports what became of slots that were not started.
func (r *run) tell(d decision) {
	missedRuns.Add(float64(d.missed))
	if d.missed > 0 {
		r.Event(corev1.EventTypeWarning, EventMissed, "Missed %d runs: they could not be started in time", d.missed)
	}
	for _, slot := range d.skipped {
		r.Event(corev1.EventTypeWarning, EventSkipped, "Skipped the slot %s because of other runs (concurrencyPolicy %s)",
			slot.UTC().Format(time.RFC3339), r.Obj.Spec.ConcurrencyPolicy)
	}
	for _, slot := range d.queued {
		r.Event(corev1.EventTypeNormal, EventQueued, "The slot %s waits for runs that are going on", slot.UTC().Format(time.RFC3339))
	}
}

// observe writes down what has become of earlier runs while a decision cannot be carried out: the ledger stays as it
// was, so that all of it is decided again.
func (r *run) observe(d decision) {
	if last := r.view.tab.Status.Ledger; last != nil {
		r.settle(decision{ledger: *last, next: d.next})
	}
}

// settle brings the status up to date, and tells which runs have failed.
func (r *run) settle(d decision) {
	status, failed := settle(r.view, d)
	status.Selector = selector(r.Obj.Name)
	r.Obj.Status = status
	for _, name := range failed {
		r.Told(func() {
			r.Event(corev1.EventTypeWarning, EventFailed, "The run %s has failed: see its Job and pods", name)
		})
	}
}

// requested is the record of the last request for a run by hand. Who made it stands in the object's managed fields,
// which the cache does not hold.
func (r *run) requested(ctx context.Context, d decision) (*v1alpha1.RunNow, error) {
	record := r.Obj.Status.RunNow.DeepCopy()
	if d.request == "" {
		return record, nil
	}
	if record == nil || record.Request != d.request {
		live := &v1alpha1.CronTab{}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(r.Obj), live); err != nil {
			return nil, fmt.Errorf("reading who asked for a run by hand: %w", err)
		}
		record = &v1alpha1.RunNow{Request: d.request}
		record.By, record.At = requester(live.ManagedFields, r.view.now)
		if d.waits {
			r.Told(func() {
				r.Event(corev1.EventTypeNormal, EventQueued, "The run by hand %q waits for runs that are going on", d.request)
			})
		}
	}
	if !d.waits {
		record.Job = jobOfRequest(r.Obj.Name, d.request)
	}
	return record, nil
}

// judge tells whether the last run that ended did so well.
func (r *run) judge(context.Context) (engine.Outcome, error) {
	success, failure := r.Obj.Status.LastSuccess, r.Obj.Status.LastFailure
	switch {
	case failure != nil && (success == nil || success.Before(failure)):
		return engine.Wait(0, ReasonRunFailed, "the last run that ended has failed; the next one that succeeds mends this. "+
			"See status.lastRun, and the Job's pods"), nil
	case success == nil:
		return engine.Done().Saying("no run has ended yet"), nil
	default:
		return engine.Done().Saying("the last run that ended has succeeded"), nil
	}
}
