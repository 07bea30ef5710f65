// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"k8s.io/utils/clock"
)

// Due has the object looked at again at an instant. Unlike a delay, which is a safety net, it is not spread:
// it is for what is to happen to the second. Of several instants the earliest counts; delays count beside it.
func (o Outcome) Due(at time.Time) Outcome {
	o.due = at
	return o
}

// earlier is the earlier of two instants, of which the zero one means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// delay is how long to wait for the next look at the object; zero means for ever.
func (o Outcome) delay(c clock.PassiveClock) time.Duration {
	if o.due.IsZero() {
		return jitter(o.after)
	}
	return sooner(jitter(o.after), max(o.due.Sub(c.Now()), time.Millisecond))
}
