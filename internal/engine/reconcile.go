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

// conflictRetry is when a run is repeated that lost against another writer.
const conflictRetry = 200 * time.Millisecond

// cutRecheck is how often an object is looked at of which the cache holds only a part: the indexes by which changes of
// what it refers to lead to it do not know it.
const cutRecheck = 10 * time.Minute

// runTimeout bounds one run of one object, stepsTimeout its steps: a run that takes too long has still
// time to say so.
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
	outside   *outside
	overruled overrulings
}

// Reconcile implements reconcile.ObjectReconciler: one run of one object.
func (r *runner[T]) Reconcile(ctx context.Context, obj T) (ctrl.Result, error) {
	ctx = context.WithValue(ctx, kindKey{}, r.Name)
	cut := IsCut(obj)
	obj, err := Whole(ctx, r.live, obj)
	if err != nil {
		return resultOf(ctx, r.Clock, Outcome{}, client.IgnoreNotFound(err))
	}
	s := Scope[T]{Client: r.client, Live: r.live, Obj: obj, Clock: r.Clock, Log: ctrl.LoggerFrom(ctx), runner: r, told: new([]func()), wrong: new(bool)}
	act := r.proceed
	switch {
	case obj.GetAnnotations()[names.AnnotationPaused] == "true":
		act = r.pause
	case !obj.GetDeletionTimestamp().IsZero():
		act = r.finalize
	}
	out, err := act(ctx, s)
	if cut {
		out.after = sooner(out.after, cutRecheck)
	}
	return resultOf(ctx, r.Clock, out, err)
}

// pause does nothing but say so.
func (r *runner[T]) pause(ctx context.Context, s Scope[T]) (Outcome, error) {
	before := s.Obj.DeepCopyObject().(T)
	s.setPaused()
	return Outcome{}, r.writeStatus(ctx, before, s, nil)
}

// proceed works towards what the spec says.
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

// finalize undoes what has to be undone and lets the object go.
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

// run walks the steps and sets their conditions and Ready.
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

// walk runs the steps in order until one does not let the next one run, and tells of each but one that wants the
// run repeated. Its outcome is that of the last one, or the summary of all, to be looked at again when the
// first of them wants it.
func walk(ctx context.Context, steps []Step, tell func(i int, out Outcome)) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, stepsTimeout)
	defer cancel()
	all := Outcome{reason: reasonReady, message: "all steps are done"}
	for i, step := range steps {
		out, err := step.Run(ctx)
		if err != nil {
			out = failed(err)
		}
		if out.state == again {
			return out, nil
		}
		tell(i, out)
		all.after, all.due = sooner(all.after, out.after), earlier(all.due, out.due)
		if !out.GoesOn() {
			out.after, out.due = all.after, all.due
			return out, err
		}
		all.add(out)
	}
	return all, nil
}

// sooner is the earlier of two delays, of which zero means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// lostRace tells whether an error only means that somebody else was faster: the next run sees what they
// wrote. That another manager holds a field, or what a step explains, is no such thing.
func lostRace(err error) bool {
	return apierrors.IsConflict(err) && !errors.As(err, new(explained)) &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// resultOf turns the end of a run into what the queue shall do. A lost race is no news.
func resultOf(ctx context.Context, c clock.PassiveClock, out Outcome, err error) (ctrl.Result, error) {
	switch {
	case lostRace(err):
		ctrl.LoggerFrom(ctx).V(1).Info("Conflict, trying again", "error", err.Error())
		return ctrl.Result{RequeueAfter: jitter(conflictRetry)}, nil
	case err != nil:
		return ctrl.Result{}, err
	default:
		return ctrl.Result{RequeueAfter: out.delay(c)}, nil
	}
}

// jitter spreads a delay by a tenth, so that objects that began together do not come back together.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d + time.Duration(rand.Int64N(int64(d)/10+1))
}

// patchFinalizer adds or removes the finalizer when it is not already so.
func (r *runner[T]) patchFinalizer(ctx context.Context, obj T, change func(client.Object, string) bool) error {
	before := obj.DeepCopyObject().(T)
	if !change(obj, r.Finalizer) {
		return nil
	}
	return r.client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// writeStatus writes the status when it differs from what was read, then reports the transitions and what the run
// has to tell. It passes on the error of the run. After a lost race there is nothing to tell.
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
		// With the version: a status that was made for an object that is gone, and was made anew, would end up on the new one.
		// The API server heeds no UID in a patch of a status.
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
