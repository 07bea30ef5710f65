// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"time"
)

// Window is a recurring span of time: it opens at each slot of a schedule and stays open for a duration. It is
// an immutable value, returned by ParseWindow; the zero Window never opens.
type Window struct {
	opens    Schedule
	duration time.Duration
}

// ParseWindow parses the expression, time zone and seed like Parse. The duration is real time, independent of
// clock changes, and at least a minute. It may be longer than the time from one slot to the next: such openings
// overlap. A window that never opens is not an error: see NeverOpens.
func ParseWindow(expression string, duration time.Duration, timeZone, seed string) (Window, error) {
	if duration < time.Minute {
		return Window{}, fmt.Errorf("window %.80q: duration %v is too short: want at least 1m", expression, duration)
	}
	opens, err := Parse(expression, timeZone, seed)
	if err != nil {
		return Window{}, err
	}
	return Window{opens: opens, duration: duration}, nil
}

// NeverOpens reports whether the window is never open.
func (w Window) NeverOpens() bool { return w.opens.NeverFires() }

// Open reports whether the window is open at an instant, and if so, until when. The end is excluded. Later
// openings are ignored: if they overlap, the window is open at its end again.
func (w Window) Open(at time.Time) (bool, time.Time) {
	opened, ok := w.opens.Prev(at)
	closes := opened.Add(w.duration)
	if !ok || !at.Before(closes) {
		return false, time.Time{}
	}
	return true, closes
}

// NextOpen returns the first instant, from one on, at which the window is open: that instant itself, in UTC, if
// it is open then. It returns false if the window does not open any more.
func (w Window) NextOpen(from time.Time) (time.Time, bool) {
	if open, _ := w.Open(from); open {
		return from.UTC(), true
	}
	return w.opens.Next(from)
}
