// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"k8s.io/utils/clock"
)

// Due makes the engine look again at an instant. Unlike a delay, which is a safety net, it is not jittered: it
// is for what has to happen to the second. Of several instants the earliest counts; delays count besides it.
func (o Outcome) Due(at time.Time) Outcome {
	o.due = at
	return o
}

// earlier returns the earlier of two instants, of which the zero one means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// delay returns how long to wait before looking again; zero means for ever.
func (o Outcome) delay(c clock.PassiveClock) time.Duration {
	if o.due.IsZero() {
		return jitter(o.after)
	}
	return sooner(jitter(o.after), max(o.due.Sub(c.Now()), time.Millisecond))
}
