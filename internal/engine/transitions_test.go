// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
		{"the condition of a step", func(c *metav1.Condition) { c.Type, c.Reason = "First", "Eating" }, nil},
		{"a pause", func(c *metav1.Condition) { c.Type = Paused }, []string{"Normal Cooking the soup is cold"}},
	} {
		recorder := events.NewFakeRecorder(10)
		r := &runner[*thing]{Config: Config[*thing]{Name: "thing", Clock: clock.RealClock{}}, recorder: recorder}
		after := ready
		tc.change(&after)
		r.report(object(ready), object(after), false)
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

// TestWhatIsWrongIsAWarning: whatever a step is, done or not, the event of Ready is a warning when somebody should look into it.
func TestWhatIsWrongIsAWarning(t *testing.T) {
	for name, tc := range map[string]struct {
		steps []Outcome
		err   error // of the last step
		want  string
	}{
		"all is well":                     {[]Outcome{Done(), Done()}, nil, "Normal Ready all steps are done"},
		"something is peculiar":           {[]Outcome{Done().Because("Vegan").Saying("no meat"), Done()}, nil, "Normal Vegan no meat"},
		"something is wrong, and is done": {[]Outcome{Done().Because("Cold").Saying("eat it soon").Warning(), Done()}, nil, "Warning Cold eat it soon"},
		"the world moves":                 {[]Outcome{Wait(0, "Cooking", "soon")}, nil, "Normal Cooking C0: soon"},
		"the world does not move":         {[]Outcome{Done(), Wait(0, "NoGas", "no flame").Warning()}, nil, "Warning NoGas C1: no flame"},
		"a user has to do something":      {[]Outcome{Block("NoPot", "buy one")}, nil, "Warning NoPot C0: buy one"},
		"an error":                        {[]Outcome{Done(), {}}, errors.New("on fire"), "Warning Error C1: on fire"},
		"an error that is explained":      {[]Outcome{{}}, Explain(errors.New("on fire"), "Burnt", "call us"), "Warning Burnt C0: call us"},
		"the API server refuses":          {[]Outcome{{}}, apierrors.NewForbidden(pods, "p", nil), `Warning Forbidden C0: pods "p" is forbidden: <nil>`},
		"what is peculiar comes last":     {[]Outcome{Done().Because("Cold").Warning(), Done().Because("Vegan").Saying("no meat")}, nil, "Normal Vegan no meat"},
		"something is lacking":            {[]Outcome{Lacking("NoSalt", "it has no salt"), Done()}, nil, "Normal Ready all steps are done"},
	} {
		recorder := events.NewFakeRecorder(1)
		r := &runner[*thing]{Config: Config[*thing]{Name: "thing", Clock: clock.RealClock{}}, recorder: recorder}
		s := Scope[*thing]{Obj: &thing{}, Clock: r.Clock, wrong: new(bool)}
		var steps []Step
		for i, out := range tc.steps {
			var err error
			if i == len(tc.steps)-1 {
				err = tc.err
			}
			steps = append(steps, Step{fmt.Sprintf("C%d", i), func(context.Context) (Outcome, error) { return out, err }})
		}
		if _, err := s.run(t.Context(), steps); !errors.Is(err, tc.err) {
			t.Errorf("%s: error %v", name, err)
		}
		r.report(&thing{}, s.Obj, *s.wrong)
		if got := <-recorder.Events; got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
