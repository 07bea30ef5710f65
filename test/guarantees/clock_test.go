// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"sync"
	"time"
)

// now is the operator's time in all specs. It is the real one until a spec steps it.
var now = &stepped{}

// stepped is a clock that continues from where it was set, or stands there.
type stepped struct {
	mu     sync.Mutex
	stands bool
	at     time.Time     // of one that stands
	ahead  time.Duration // of one that does not
	last   time.Time     // the last minute that was given away
}

// reset begins a spec.
func (c *stepped) reset(stands bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stands, c.at, c.ahead, c.last = stands, time.Now(), 0, time.Time{}
}

// step lets an instant come, unless it has.
func (c *stepped) step(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := to.Sub(c.now()); d > 0 {
		c.at, c.ahead = c.at.Add(d), c.ahead+d
	}
}

// freeMinute is a minute of one object's own, which comes by a step alone: where time stands soon after that of the object
// before, so that what the API server does by the real time is not long ago then; else not while a spec takes.
func (c *stepped) freeMinute() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	lead, apart := time.Hour, time.Hour
	if c.stands {
		lead, apart = 2*time.Minute, time.Minute
	}
	at := c.now()
	if theirs := time.Now(); theirs.After(at) {
		at = theirs
	}
	at = at.Add(lead).Truncate(time.Minute)
	if next := c.last.Add(apart); !c.last.IsZero() && at.Before(next) {
		at = next
	}
	c.last = at
	return at.UTC()
}

func (c *stepped) now() time.Time {
	if c.stands {
		return c.at
	}
	return time.Now().Add(c.ahead)
}

// Now implements clock.PassiveClock.
func (c *stepped) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

// Since implements clock.PassiveClock.
func (c *stepped) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
