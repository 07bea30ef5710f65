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
