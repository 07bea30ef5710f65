// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/acme/platform-operator/internal/names"
)

// The states of an object, the worst first.
const (
	// Failed means that a user has to change something.
	Failed = "Failed"
	// NotReady means that the operator is working, or waits for something in the cluster.
	NotReady = "NotReady"
	// Deleting means that the object is being deleted.
	Deleting = "Deleting"
	// Unseen means that the operator has not acted on the present spec.
	Unseen = "Unseen"
	// Paused means that an annotation stops the operator.
	Paused = "Paused"
	// Ready means that all is as the spec wants it.
	Ready = "Ready"
	// Plain means that objects of the kind have no status: they are data.
	Plain = "-"
)

var severity = map[string]int{Failed: 0, NotReady: 1, Deleting: 2, Unseen: 3, Paused: 4, Ready: 5, Plain: 6}

// words are the states in the middle of a sentence.
var words = map[string]string{
	Failed: "failed", NotReady: "not ready", Deleting: "being deleted", Unseen: "not served yet", Paused: "paused", Ready: "ready",
}

// Condition types that every kind has.
const (
	conditionReady   = "Ready"
	conditionStalled = "Stalled"
	conditionPaused  = "Paused"
)

// State is how an object is, in a word and a sentence.
type State struct {
	// State is one of the constants above.
	State string `json:"state"`
	// Reason is the reason of the condition that decides.
	Reason string `json:"reason,omitempty"`
	// Message is its sentence.
	Message string `json:"message,omitempty"`
	// Since is when that began; zero if unknown.
	Since metav1.Time `json:"since,omitzero"`
}

// Conditions returns the conditions of an object. What is not a condition is left out.
func Conditions(o *unstructured.Unstructured) []metav1.Condition {
	items, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	var all []metav1.Condition
	for _, item := range items {
		fields, ok := item.(map[string]any)
		c := metav1.Condition{}
		if ok && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) == nil && c.Type != "" {
			all = append(all, c)
		}
	}
	return all
}

func find(conditions []metav1.Condition, kind string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

// StateOf returns the state of an object, of a kind whose objects have a status or have none.
func StateOf(o *unstructured.Unstructured, withStatus bool) State {
	conditions := Conditions(o)
	ready, stalled, paused := find(conditions, conditionReady), find(conditions, conditionStalled), find(conditions, conditionPaused)
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	switch {
	case o.GetAnnotations()[names.AnnotationPaused] == "true":
		return State{Paused, "PausedByAnnotation", pausedMessage, since(paused)}
	case o.GetDeletionTimestamp() != nil:
		return deleting(o, conditions)
	case !withStatus:
		return State{State: Plain}
	case ready == nil || observed < o.GetGeneration():
		return State{State: Unseen, Message: "the operator has not acted on this version of the object yet"}
	case stalled != nil && stalled.Status == metav1.ConditionTrue:
		return from(Failed, *stalled)
	case ready.Status == metav1.ConditionTrue:
		return from(Ready, *ready)
	}
	return from(NotReady, *ready)
}

const pausedMessage = "the annotation " + names.AnnotationPaused + " stops everything for this object, its deletion included"

// deleting returns the state of an object that is being deleted: the first condition that holds it up, else its finalizers.
func deleting(o *unstructured.Unstructured, conditions []metav1.Condition) State {
	for _, c := range conditions {
		if c.Status == metav1.ConditionFalse && c.Type != conditionReady && c.ObservedGeneration >= o.GetGeneration() {
			return State{Deleting, c.Reason, c.Type + ": " + c.Message, *o.GetDeletionTimestamp()}
		}
	}
	message := "it goes once nothing holds it"
	if finalizers := o.GetFinalizers(); len(finalizers) > 0 {
		message = "these finalizers hold it: " + strings.Join(finalizers, ", ")
	}
	return State{Deleting, "", message, *o.GetDeletionTimestamp()}
}

func from(state string, c metav1.Condition) State {
	return State{state, c.Reason, c.Message, c.LastTransitionTime}
}

func since(c *metav1.Condition) metav1.Time {
	if c == nil {
		return metav1.Time{}
	}
	return c.LastTransitionTime
}

// Ago returns how long ago a time is, as kubectl writes it; "-" for none.
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(now.Sub(t), 0))
}

func isWord(status metav1.ConditionStatus) string {
	switch status {
	case metav1.ConditionTrue:
		return "is true"
	case metav1.ConditionFalse:
		return "is not true"
	default:
		return "is unknown"
	}
}

// Sentence returns a condition as a sentence.
func Sentence(c metav1.Condition, now time.Time) string {
	text := c.Type + " " + isWord(c.Status)
	if c.Reason != "" && c.Reason != "Done" && c.Reason != c.Type {
		text += fmt.Sprintf(" (%s)", c.Reason)
	}
	if !c.LastTransitionTime.IsZero() {
		text += " since " + Ago(c.LastTransitionTime.Time, now)
	}
	if c.Message != "" {
		text += ": " + oneLine(c.Message)
	}
	return text
}
