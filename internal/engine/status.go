// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/internal/names"
)

// The conditions that the engine itself sets.
const (
	// Ready summarizes all steps: True if every one is done.
	Ready = "Ready"
	// Stalled is present, and True, while a user has to change something before the object can become ready.
	// Tools that read kstatus show such an object as failed instead of in progress.
	Stalled = "Stalled"
	// Paused is present, and True, while the annotation platform.acme.com/paused stops the object.
	Paused = "Paused"
)

// set sets a condition from an outcome.
func (s Scope[T]) set(condition string, out Outcome) {
	s.setCondition(condition, out.status(), out.reason, out.message)
}

func (s Scope[T]) setCondition(condition string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.Obj.CommonStatus().Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: clip(message, maxMessage),
		ObservedGeneration: s.Obj.GetGeneration(), LastTransitionTime: metav1.NewTime(s.Clock.Now()),
	})
}

// notReached sets the conditions of the steps that a run did not reach.
func (s Scope[T]) notReached(steps []Step) {
	for _, step := range steps {
		s.setCondition(step.Condition, metav1.ConditionUnknown, "NotReached", "an earlier step is not done")
	}
}

// setReady derives the summary from the step that ended the run.
func (s Scope[T]) setReady(condition string, out Outcome) {
	s.Obj.CommonStatus().ObservedGeneration = s.Obj.GetGeneration()
	if condition != "" {
		out.message = condition + ": " + out.message
	}
	s.set(Ready, out)
	*s.wrong = out.isWrong()
	if out.state == blocked {
		s.setCondition(Stalled, metav1.ConditionTrue, out.reason, out.message)
	} else {
		meta.RemoveStatusCondition(&s.Obj.CommonStatus().Conditions, Stalled)
	}
}

func (s Scope[T]) setPaused() {
	s.setCondition(Paused, metav1.ConditionTrue, "PausedByAnnotation",
		"this object is not reconciled, not even its deletion, while the annotation "+names.AnnotationPaused+" is \"true\"")
}

func (s Scope[T]) clearPaused() {
	meta.RemoveStatusCondition(&s.Obj.CommonStatus().Conditions, Paused)
}

// report makes events and metrics from the transitions between two versions of an object: one event
// when Ready or Paused changes its status or reason, one count for every condition. The event is a warning when Ready tells
// of something wrong.
func (r *runner[T]) report(before, after T, wrong bool) {
	for _, c := range after.CommonStatus().Conditions {
		was := meta.FindStatusCondition(before.CommonStatus().Conditions, c.Type)
		if was != nil && was.Status == c.Status && was.Reason == c.Reason {
			continue
		}
		transitions.WithLabelValues(r.Name, c.Type, string(c.Status)).Inc()
		switch c.Type {
		case Ready:
			r.event(after, c, wrong)
			if c.Status == metav1.ConditionTrue && neverReady(before) {
				timeToReady.WithLabelValues(r.Name).Observe(r.Clock.Since(after.GetCreationTimestamp().Time).Seconds())
			}
		case Paused:
			r.event(after, c, false)
		}
	}
}

// neverReady reports whether an object has not been ready so far. A Ready that became False within a few
// seconds of the object's creation is its first state, not a loss of readiness.
func neverReady[T Object](obj T) bool {
	c := meta.FindStatusCondition(obj.CommonStatus().Conditions, Ready)
	return c == nil || (c.Status != metav1.ConditionTrue &&
		c.LastTransitionTime.Sub(obj.GetCreationTimestamp().Time) < 5*time.Second)
}

func (r *runner[T]) event(obj T, c metav1.Condition, wrong bool) {
	eventType := corev1.EventTypeNormal
	if wrong {
		eventType = corev1.EventTypeWarning
	}
	r.recorder.Eventf(obj, nil, eventType, c.Reason, "Reconcile", "%s", clip(c.Message, maxNote))
}

// The API server rejects conditions and events whose texts have more bytes than this.
const (
	maxMessage = 32768
	maxNote    = 1024
)

// clip shortens a text to at most n bytes of whole characters.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
