// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// breaker keeps callers away from a source that cannot be reached. Its zero value lets all callers through.
type breaker struct {
	mu       sync.Mutex
	failures int
	probing  bool
	until    time.Time
	last     error
}

// enter lets a caller through, which then has to call leave, or returns the error of the last attempt.
func (b *breaker) enter(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failures == 0:
		return nil
	case b.probing || now.Before(b.until):
		return b.last
	default:
		b.probing = true
		return nil
	}
}

// leave records the result: nil, or the outage that the caller met.
func (b *breaker) leave(now time.Time, outage error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case outage == nil:
		b.failures, b.probing, b.last = 0, false, nil
	case !b.probing && b.failures > 0:
		// Another caller, which was let through at the same time, has recorded it already.
	default:
		b.failures, b.probing, b.last = b.failures+1, false, outage
		b.until = now.Add(pause(b.failures))
	}
}

// pause returns how long a source is not connected to after a number of failures. It doubles with each failure;
// half of it is random, so that the callers of one server do not retry together.
func pause(failures int) time.Duration {
	d := maxPause
	if failures < 7 {
		d = min(maxPause, firstPause<<(failures-1))
	}
	return d/2 + rand.N(d/2)
}
