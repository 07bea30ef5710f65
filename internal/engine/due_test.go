// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestDue(t *testing.T) {
	now := time.Date(2027, time.March, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return now.Add(d) }
	for name, c := range map[string]struct {
		out       Outcome
		low, high time.Duration
	}{
		"never":                       {out: Done()},
		"a delay is spread":           {DoneUntil(time.Minute), time.Minute, 66 * time.Second},
		"an instant is not":           {Done().Due(at(time.Hour)), time.Hour, time.Hour},
		"one that is now is at once":  {Done().Due(at(0)), time.Millisecond, time.Millisecond},
		"so is one that is past":      {Done().Due(at(-time.Hour)), time.Millisecond, time.Millisecond},
		"the sooner counts, instant":  {DoneUntil(time.Hour).Due(at(time.Second)), time.Second, time.Second},
		"the sooner counts, delay":    {DoneUntil(time.Second).Due(at(time.Hour)), time.Second, 1100 * time.Millisecond},
		"waiting for an instant":      {Wait(0, "R", "m").Due(at(time.Second)), time.Second, time.Second},
		"blocked, and at an instant":  {Block("R", "m").Due(at(time.Second)), time.Second, time.Second},
		"Then keeps the first's":      {then(Done().Due(at(1)), Done().Due(at(2))), time.Millisecond, time.Millisecond},
		"Then keeps the second's":     {then(Done().Due(at(time.Hour)), Done().Due(at(time.Second))), time.Second, time.Second},
		"the earliest of all steps":   {ran(Done().Due(at(time.Hour)), Done().Due(at(time.Minute)), Done()), time.Minute, time.Minute},
		"also when a later one stops": {ran(Done().Due(at(time.Minute)), Block("R", "m"), Done().Due(at(1))), time.Minute, time.Minute},
	} {
		if got := c.out.delay(clocktesting.NewFakePassiveClock(now)); got < c.low || got > c.high {
			t.Errorf("%s: %v, want %v to %v", name, got, c.low, c.high)
		}
	}
}

// then is what comes of two steps under one condition.
func then(first, second Outcome) Outcome {
	out, _ := always(first).Then(always(second).Run).Run(context.Background())
	return out
}

func always(out Outcome) Step {
	return Step{"C", func(context.Context) (Outcome, error) { return out, nil }}
}

// ran is what comes of a run with these steps.
func ran(outcomes ...Outcome) Outcome {
	out, _, _ := result(outcomes...)
	return out
}

// result is the outcome of a run, and what Ready says then.
func result(outcomes ...Outcome) (out Outcome, reason, message string) {
	var steps []Step
	for _, o := range outcomes {
		steps = append(steps, always(o))
	}
	r := &runner[*thing]{Config: Config[*thing]{}.withDefaults()}
	s := Scope[*thing]{Obj: &thing{}, Clock: r.Clock, runner: r, wrong: new(bool)}
	out, _ = s.run(context.Background(), steps)
	for _, c := range s.Obj.CommonStatus().Conditions {
		if c.Type == Ready {
			reason, message = c.Reason, c.Message
		}
	}
	return out, reason, message
}

func TestReadyTellsWhatIsPeculiar(t *testing.T) {
	for name, c := range map[string]struct {
		steps           []Outcome
		reason, message string
	}{
		"nothing":                     {[]Outcome{Done(), Done()}, "Ready", "all steps are done"},
		"the last message":            {[]Outcome{Done().Saying("a"), Done().Saying("b"), Done()}, "Ready", "b"},
		"a reason, with its message":  {[]Outcome{Done().Saying("a").Because("Odd"), Done().Saying("b")}, "Odd", "a"},
		"the last reason":             {[]Outcome{Done().Saying("a").Because("Odd"), Done().Saying("b").Because("Odder")}, "Odder", "b"},
		"not that of doubt":           {[]Outcome{Uncertain(1, "R", "m"), Done()}, "Ready", "m"},
		"not that of a lack":          {[]Outcome{Done().Saying("m"), Lacking("R", "l")}, "Ready", "m"},
		"not when a later step waits": {[]Outcome{Done().Saying("a").Because("Odd"), Wait(1, "R", "m")}, "R", "C: m"},
	} {
		if _, reason, message := result(c.steps...); reason != c.reason || message != c.message {
			t.Errorf("%s: Ready is %s %q, want %s %q", name, reason, message, c.reason, c.message)
		}
	}
}

func TestAgainSaysNothing(t *testing.T) {
	out, reason, message := result(Done(), Again(time.Second), Done())
	if reason != "" || message != "" || out.GoesOn() {
		t.Errorf("Ready is %s %q, and the next step runs: %t", reason, message, out.GoesOn())
	}
	if got := out.delay(clocktesting.NewFakePassiveClock(time.Now())); got < time.Second || got > 1100*time.Millisecond {
		t.Errorf("it is requeued after %v", got)
	}
}
