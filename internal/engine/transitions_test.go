// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
)

// TestEventsAreOfTransitions: one event when Ready or Paused changes its status or reason, none for a message or a time.
func TestEventsAreOfTransitions(t *testing.T) {
	object := func(conditions ...metav1.Condition) *thing {
		o := &thing{}
		o.status.Conditions = conditions
		return o
	}
	ready := metav1.Condition{Type: Ready, Status: metav1.ConditionFalse, Reason: "Cooking", Message: "the soup is cold"}
	for _, tc := range []struct {
		reason string
		change func(*metav1.Condition)
		want   []string
	}{
		{"nothing", func(*metav1.Condition) {}, nil},
		{"the message", func(c *metav1.Condition) { c.Message = "the soup is warm" }, nil},
		{"the time and the generation", func(c *metav1.Condition) {
			c.ObservedGeneration, c.LastTransitionTime = 2, metav1.NewTime(time.Unix(1, 0))
		}, nil},
		{"the reason", func(c *metav1.Condition) { c.Reason = "Eating" }, []string{"Normal Eating the soup is cold"}},
		{"the status", func(c *metav1.Condition) { c.Status = metav1.ConditionTrue }, []string{"Normal Cooking the soup is cold"}},
		{"an error", func(c *metav1.Condition) { c.Reason = "Error" }, []string{"Warning Error the soup is cold"}},
		{"the condition of a step", func(c *metav1.Condition) { c.Type, c.Reason = "First", "Eating" }, nil},
		{"a pause", func(c *metav1.Condition) { c.Type = Paused }, []string{"Normal Cooking the soup is cold"}},
	} {
		recorder := events.NewFakeRecorder(10)
		r := &runner[*thing]{Config: Config[*thing]{Name: "thing", Clock: clock.RealClock{}}, recorder: recorder}
		after := ready
		tc.change(&after)
		r.report(object(ready), object(after))
		close(recorder.Events)
		var got []string
		for e := range recorder.Events {
			got = append(got, e)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("a change of %s (-want +got):\n%s", tc.reason, diff)
		}
	}
}
