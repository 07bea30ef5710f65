// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Step is one part of a reconcile. It owns one condition, which the engine sets from its outcome.
type Step struct {
	// Condition is the type of the condition, a positive name such as Deployed.
	Condition string
	// Run does the work. An error means that something unexpected failed: the step is retried with back-off.
	Run func(ctx context.Context) (Outcome, error)
}

// run runs the step in a span of its own. An error has an outcome, too.
func (s Step) run(ctx context.Context) (out Outcome, err error) {
	ctx, span := startStep(ctx, s.Condition)
	defer func() { endStep(span, out, err) }()
	if out, err = s.Run(ctx); err != nil {
		out = failed(err)
	}
	return out, err
}

// Then returns the step followed by more work under the same condition, if the step lets the run continue.
func (s Step) Then(next func(ctx context.Context) (Outcome, error)) Step {
	return Step{s.Condition, func(ctx context.Context) (Outcome, error) {
		first, err := s.Run(ctx)
		if err != nil || !first.GoesOn() {
			return first, err
		}
		out, err := next(ctx)
		after, due := sooner(first.after, out.after), earlier(first.due, out.due)
		if out.state == done && first.state != done {
			out = first
		}
		out.after, out.due, out.repeat = after, due, first.repeat || out.repeat
		return out, err
	}}
}

// Outcome is the result of a step when nothing unexpected happened.
type Outcome struct {
	state           state
	reason, message string
	after           time.Duration
	due             time.Time
	wrong           bool
	repeat, yields  bool
}

type state int

const (
	done state = iota
	uncertain
	lacking
	waiting
	blocked
	again
)

// reasonDone is the reason of a step that is done and has no reason of its own.
const reasonDone = "Done"

// reasonReady is the reason of Ready when no step has a reason of its own.
const reasonReady = "Ready"

// Done lets the next step run.
func Done() Outcome { return Outcome{reason: reasonDone} }

// Because is the outcome with a reason of its own. That of a step that is done is also the reason of Ready, with
// the step's message, when all steps are done: it tells what is peculiar about an object.
func (o Outcome) Because(reason string) Outcome {
	o.reason = reason
	return o
}

// Warning is the outcome of a step that has found something wrong, although it is done, or waits for the world: the event
// that tells of it is a warning. Those of errors and of what a user has to change are warnings anyway.
func (o Outcome) Warning() Outcome {
	o.wrong = true
	return o
}

// isWrong reports whether an administrator or user should look into it.
func (o Outcome) isWrong() bool { return o.wrong || o.state == blocked }

// Saying is the outcome with a message for the reader of the condition.
func (o Outcome) Saying(message string) Outcome {
	o.message = message
	return o
}

// DoneUntil lets the next step run, and looks again after d at the latest.
func DoneUntil(d time.Duration) Outcome { return Outcome{reason: reasonDone, after: d} }

// Uncertain lets the next step run although this one could not determine its result: its condition becomes
// Unknown, and it runs again after d.
func Uncertain(d time.Duration, reason, message string) Outcome {
	return Outcome{state: uncertain, reason: reason, message: message, after: d}
}

// Lacking lets the next step run although something is missing that the object does not need: its condition
// becomes False, and Ready does not depend on it.
func Lacking(reason, message string) Outcome {
	return Outcome{state: lacking, reason: reason, message: message}
}

// Wait ends the run: something in the cluster has to change first. A watch requeues the object; d is a safety
// net.
func Wait(d time.Duration, reason, message string) Outcome {
	return Outcome{state: waiting, reason: reason, message: message, after: d}
}

// Block ends the run until a user changes something: the object, or one that it refers to.
func Block(reason, message string) Outcome {
	return Outcome{state: blocked, reason: reason, message: message}
}

// Again ends the run without a status write: the watch event of a child that was created requeues the object,
// and the next run reports both. d is a safety net.
func Again(d time.Duration) Outcome { return Outcome{state: again, after: d} }

// Yield is Again, with its turn only after the objects that have changed: the rest is not urgent.
func Yield(d time.Duration) Outcome { return Outcome{state: again, after: d, yields: true} }

// BlockFor is Block for what no watch reports: the engine looks again after d.
func BlockFor(d time.Duration, reason, message string) Outcome {
	return Outcome{state: blocked, reason: reason, message: message, after: d}
}

// Repeat has the object reconciled once more as soon as the status is written, before any other object has its turn: the next
// run acts on what this one has recorded.
func (o Outcome) Repeat() Outcome {
	o.repeat = true
	return o
}

// add merges the outcome of a step that is done into a summary.
func (o *Outcome) add(step Outcome) {
	switch {
	case step.state == lacking: // Ready does not depend on it
	case step.state == done && step.reason != reasonDone:
		o.reason, o.message, o.wrong = step.reason, step.message, step.wrong
	case o.reason == reasonReady:
		o.message = cmp.Or(step.message, o.message)
	}
}

// GoesOn reports whether the next step runs.
func (o Outcome) GoesOn() bool { return o.state == done || o.state == uncertain || o.state == lacking }

// status returns the status of the step's condition.
func (o Outcome) status() metav1.ConditionStatus {
	switch o.state {
	case done:
		return metav1.ConditionTrue
	case uncertain:
		return metav1.ConditionUnknown
	default:
		return metav1.ConditionFalse
	}
}

// Reason returns the reason of the condition of a step with this outcome.
func (o Outcome) Reason() string { return o.reason }

// Message is what the condition will say.
func (o Outcome) Message() string { return o.message }

// explained is an error with a reason and a message for a condition.
type explained struct {
	error
	reason, message string
}

func (e explained) Unwrap() error { return e.error }

// Explain gives an error the reason and the message that the condition shows instead of its text. The step is
// retried with back-off, as after any error.
func Explain(err error, reason, message string) error { return explained{err, reason, message} }

// failed returns the outcome of an error.
func failed(err error) Outcome {
	o := Outcome{state: waiting, reason: "Error", message: err.Error(), wrong: true}
	if r := apierrors.ReasonForError(err); r != metav1.StatusReasonUnknown {
		o.reason = string(r)
	}
	if e := (explained{}); errors.As(err, &e) {
		o.reason, o.message = e.reason, e.message
	}
	return o
}

// refused adds to an error by which the API server rejects a request, as invalid or as forbidden, when it is
// retried: nothing reports that the obstacle is gone.
func (s Scope[T]) refused(err error) error {
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		return err
	}
	return Explain(err, string(apierrors.ReasonForError(err)),
		fmt.Sprintf("%v. This is retried with growing delays, at least every %s", err, s.runner.RetryMax))
}

// RejectedFields returns the fields that an error of the API server names, for instance "metadata.uid".
func RejectedFields(err error) (fields []string) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	for _, c := range status.Status().Details.Causes {
		if c.Field != "" {
			fields = append(fields, c.Field)
		}
	}
	return fields
}
