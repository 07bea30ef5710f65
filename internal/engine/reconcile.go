// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/acme/platform-operator/internal/names"
)

// cutRecheck is how often an object is reconciled of which the cache holds only a part: the indexes by which
// changes of referenced objects requeue it do not contain it.
const cutRecheck = 10 * time.Minute

// runTimeout bounds one run of one object, stepsTimeout its steps: a run that takes too long still has time to
// report it.
const (
	runTimeout   = time.Minute
	stepsTimeout = 50 * time.Second
)

// runner reconciles the objects of one kind.
type runner[T Object] struct {
	Config[T]
	gvk       schema.GroupVersionKind
	kind      Kind[T]
	client    client.Client
	live      client.Reader
	recorder  recorder.EventRecorder
	queue     *queue
	outside   *outside
	overruled overrulings
	fresh     fresh
}

// Reconcile implements reconcile.ObjectReconciler: one run of one object.
func (r *runner[T]) Reconcile(ctx context.Context, obj T) (_ ctrl.Result, err error) {
	if IsCut(obj) && !runOf(ctx).hasLargePlace() {
		return ctrl.Result{}, nil
	}
	defer reportRun(ctx, r.Name, client.ObjectKeyFromObject(obj), obj.GetResourceVersion())
	ctx, span := startRun(ctx, r.Name, obj)
	defer func() { endSpan(span, err) }()
	return r.reconcile(ctx, obj)
}

// reconcile is a run that has its place among the large ones, if it needs one.
func (r *runner[T]) reconcile(ctx context.Context, obj T) (ctrl.Result, error) {
	cut := IsCut(obj)
	obj, err := Whole(ctx, r.live, obj)
	if err != nil {
		return resultOf(ctx, r.Clock, Outcome{}, client.IgnoreNotFound(err))
	}
	s := Scope[T]{
		Client: look(r.client), Live: r.live, Obj: obj, Clock: r.Clock, Log: ctrl.LoggerFrom(ctx),
		runner: r, told: new([]func()), wrong: new(bool),
	}
	act := r.proceed
	switch {
	case obj.GetAnnotations()[names.AnnotationPaused] == "true":
		act = r.pause
	case !obj.GetDeletionTimestamp().IsZero():
		act = r.finalize
	}
	out, err := act(ctx, s)
	if err == nil && out.repeat {
		return r.repeat(ctx, obj)
	}
	if cut {
		out.after = sooner(out.after, cutRecheck)
	}
	return resultOf(ctx, r.Clock, out, err)
}

// repeat reconciles an object once more that has just been written. The cache answers once it holds what was written.
func (r *runner[T]) repeat(ctx context.Context, obj T) (ctrl.Result, error) {
	version := obj.GetResourceVersion()
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return resultOf(ctx, r.Clock, Outcome{}, client.IgnoreNotFound(err))
	}
	if obj.GetResourceVersion() == version { // nothing was written, so that the next run would decide the same
		return ctrl.Result{}, nil
	}
	return r.reconcile(ctx, obj)
}

// pause only sets the condition Paused.
func (r *runner[T]) pause(ctx context.Context, s Scope[T]) (Outcome, error) {
	before := s.Obj.DeepCopyObject().(T)
	s.setPaused()
	return Outcome{}, r.writeStatus(ctx, before, s, nil)
}

// proceed runs the kind's steps.
func (r *runner[T]) proceed(ctx context.Context, s Scope[T]) (Outcome, error) {
	if _, ok := r.kind.(Finalizing[T]); ok {
		if err := r.patchFinalizer(ctx, s.Obj, controllerutil.AddFinalizer); err != nil {
			return Outcome{}, client.IgnoreNotFound(err)
		}
	}
	before := s.Obj.DeepCopyObject().(T)
	s.clearPaused()
	out, err := s.run(ctx, r.kind.Steps(s))
	if out.state == again {
		return out, nil
	}
	return out, r.writeStatus(ctx, before, s, err)
}

// finalize undoes what has to be undone and removes the finalizer.
func (r *runner[T]) finalize(ctx context.Context, s Scope[T]) (Outcome, error) {
	fin, ok := r.kind.(Finalizing[T])
	if !ok || !controllerutil.ContainsFinalizer(s.Obj, r.Finalizer) {
		return Outcome{}, nil
	}
	before := s.Obj.DeepCopyObject().(T)
	s.clearPaused()
	out, err := s.run(ctx, fin.Finalize(s))
	if err == nil && out.GoesOn() {
		return Outcome{}, client.IgnoreNotFound(r.patchFinalizer(ctx, s.Obj, controllerutil.RemoveFinalizer))
	}
	return out, r.writeStatus(ctx, before, s, err)
}

// run runs the steps and sets their conditions and Ready.
func (s Scope[T]) run(ctx context.Context, steps []Step) (Outcome, error) {
	out, err := walk(ctx, steps, func(i int, out Outcome) {
		s.set(steps[i].Condition, out)
		if !out.GoesOn() {
			s.notReached(steps[i+1:])
			s.setReady(steps[i].Condition, out)
		}
	})
	if err == nil && out.GoesOn() {
		s.setReady("", out)
	}
	return out, err
}

// walk runs the steps in order until one does not let the next one run, and records each but one that requests
// a repetition of the run. Its outcome is that of the last one, or the summary of all, with the earliest time
// to look again.
func walk(ctx context.Context, steps []Step, record func(i int, out Outcome)) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, stepsTimeout)
	defer cancel()
	all := Outcome{reason: reasonReady, message: "all steps are done"}
	for i, step := range steps {
		out, err := step.run(ctx)
		if out.state == again {
			return out, nil
		}
		record(i, out)
		all.after, all.due, all.repeat = sooner(all.after, out.after), earlier(all.due, out.due), all.repeat || out.repeat
		if !out.GoesOn() {
			out.after, out.due, out.repeat = all.after, all.due, all.repeat
			return out, err
		}
		all.add(out)
	}
	return all, nil
}

// sooner returns the earlier of two delays, of which zero means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// lostRace reports whether an error only means that another writer was faster: the next run sees what was
// written. A field that another manager holds, or an explained error, is not a lost race.
func lostRace(err error) bool {
	return apierrors.IsConflict(err) && !errors.As(err, new(explained)) &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// resultOf converts the end of a run into a result for the queue. A lost race is not reported; the queue repeats it.
func resultOf(ctx context.Context, c clock.PassiveClock, out Outcome, err error) (ctrl.Result, error) {
	switch {
	case lostRace(err):
		ctrl.LoggerFrom(ctx).V(1).Info("Conflict, trying again", "error", err.Error())
		runOf(ctx).lost = true
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, err
	case out.yields:
		return ctrl.Result{RequeueAfter: out.delay(c), Priority: new(-1)}, nil
	default:
		return ctrl.Result{RequeueAfter: out.delay(c)}, nil
	}
}

// jitter changes a delay by up to a tenth, so that objects that began together are not requeued together.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d + time.Duration(rand.Int64N(int64(d)/10+1))
}

// patchFinalizer adds or removes the finalizer if that is needed.
func (r *runner[T]) patchFinalizer(ctx context.Context, obj T, change func(client.Object, string) bool) error {
	before := obj.DeepCopyObject().(T)
	if !change(obj, r.Finalizer) {
		return nil
	}
	return r.client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// writeStatus writes the status if it differs from what was read, then reports the transitions and runs the
// functions of Told. It passes on the error of the run. After a lost race there is nothing to report.
func (r *runner[T]) writeStatus(ctx context.Context, before T, s Scope[T], runErr error) error {
	if lostRace(runErr) {
		return runErr
	}
	if k, ok := r.kind.(Summarizing[T]); ok {
		k.Summarize(s.Obj)
	}
	if !equality.Semantic.DeepEqual(before, s.Obj) {
		// The patch answers with the stored object; transitions are read from our own copy.
		written := s.Obj.DeepCopyObject().(T)
		// With the version: the status of an object that was deleted and created again would otherwise be
		// written to the new one. The API server ignores the UID in a patch of a status.
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := r.client.Status().Patch(ctx, written, patch); err != nil {
			return errors.Join(runErr, client.IgnoreNotFound(err))
		}
		r.report(before, s.Obj, *s.wrong)
	}
	for _, tell := range *s.told {
		tell()
	}
	return runErr
}
