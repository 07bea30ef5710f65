// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"testing"
	"time"
)

type until time.Duration

func (u until) Deadline() (time.Time, bool) { return time.Now().Add(time.Duration(u)), u != 0 }

func TestOf(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{
		0:                time.Hour, // no deadline: Ginkgo's own limit
		10 * time.Minute: 8 * time.Minute,
		40 * time.Minute: 35 * time.Minute,
		90 * time.Minute: time.Hour,
	} {
		if got := Of(until(limit)).Timeout; got > want || got < want-time.Minute {
			t.Errorf("of %s Ginkgo has %s, want %s", limit, got, want)
		}
	}
}

func TestOfTakesSeedAndLabels(t *testing.T) {
	t.Setenv("SEED", "")
	t.Setenv("LABELS", "")
	if got := Of(until(0)); got.RandomSeed != 1 || got.LabelFilter != "" {
		t.Errorf("without variables the seed is %d and the filter %q, want 1 and none", got.RandomSeed, got.LabelFilter)
	}
	t.Setenv("SEED", "42")
	t.Setenv("LABELS", "!Slow")
	if got := Of(until(0)); got.RandomSeed != 42 || got.LabelFilter != "!Slow" {
		t.Errorf("the seed is %d and the filter %q, want 42 and !Slow", got.RandomSeed, got.LabelFilter)
	}
}

func TestSeedIsANumber(t *testing.T) {
	t.Setenv("SEED", "monday")
	defer func() {
		if recover() == nil {
			t.Error("a SEED that is no number is accepted")
		}
	}()
	Seed()
}

func TestLabeled(t *testing.T) {
	for _, test := range []struct {
		filter string
		runs   bool
	}{
		{"", true}, {"Slow", true}, {"Slow || Timed", true}, {"!Slow && !Timed", false}, {"Timed", false},
	} {
		t.Setenv("LABELS", test.filter)
		if got := Selected(Slow); got != test.runs {
			t.Errorf("with LABELS=%q slow tests are selected: %t, want %t", test.filter, got, test.runs)
		}
		runs := false
		t.Run(test.filter, func(t *testing.T) {
			Labeled(t, Slow)
			runs = true
		})
		if runs != test.runs {
			t.Errorf("with LABELS=%q a slow test runs: %t, want %t", test.filter, runs, test.runs)
		}
	}
}
