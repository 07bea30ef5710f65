// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

// CacheOptions bounds how long, and how many, answers are cached. The zero value of each field means its
// default.
type CacheOptions struct {
	// Known is how long the answer "found" is cached. Default 10 minutes.
	Known time.Duration
	// Unknown is how long the answer "not found" is cached; shorter, so that new users are found soon. Default
	// 30 seconds.
	Unknown time.Duration
	// Pause is how long a directory is not queried after a time-out: names that are not cached get the same
	// error at once, so that a hanging directory does not block every caller for a time-out each. Other errors
	// are never cached. Default 5 seconds.
	Pause time.Duration
	// Size is the number of names whose answers are cached; the least recently used is removed first. Default
	// 4096.
	Size int
	// Clock measures the age of an answer. Default: the real one.
	Clock clock.PassiveClock
}

// Cached puts a bounded cache in front of d. Concurrent look-ups of one name share one query. The query
// continues when the callers that wait for it give up: d's own time-out bounds it, and the next caller finds
// its answer.
func Cached(d Directory, opts CacheOptions) Directory {
	opts.Known = cmp.Or(opts.Known, 10*time.Minute)
	opts.Unknown = cmp.Or(opts.Unknown, 30*time.Second)
	opts.Pause = cmp.Or(opts.Pause, 5*time.Second)
	opts.Size = cmp.Or(opts.Size, 4096)
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	return &cached{directory: d, opts: opts, answers: lru.New(opts.Size)}
}

type cached struct {
	directory Directory
	opts      CacheOptions
	answers   *lru.Cache // username -> answer
	queries   singleflight.Group
	pause     atomic.Pointer[pause]
}

type answer struct {
	found bool
	until time.Time
}

type pause struct {
	err   error
	until time.Time
}

func (c *cached) Lookup(ctx context.Context, username string) (bool, error) {
	kept, _ := c.answers.Get(username)
	if a, ok := kept.(answer); ok && c.opts.Clock.Now().Before(a.until) {
		return a.found, nil
	}
	if p := c.pause.Load(); p != nil && c.opts.Clock.Now().Before(p.until) {
		return false, p.err
	}
	// The shared query has the first caller's values (trace, logger), but not its cancellation.
	result := c.queries.DoChan(username, func() (any, error) { return c.ask(context.WithoutCancel(ctx), username) })
	select {
	case r := <-result:
		found, _ := r.Val.(bool)
		return found, r.Err
	case <-ctx.Done():
		return false, fmt.Errorf("waiting for the directory to answer: %w", context.Cause(ctx))
	}
}

func (c *cached) ask(ctx context.Context, username string) (bool, error) {
	found, err := c.directory.Lookup(ctx, username)
	now := c.opts.Clock.Now()
	if err != nil {
		// ctx has no deadline here, so this one was the directory's own.
		if errors.Is(err, context.DeadlineExceeded) {
			c.pause.Store(&pause{err: err, until: now.Add(c.opts.Pause)})
		}
		return false, err
	}
	keep := c.opts.Unknown
	if found {
		keep = c.opts.Known
	}
	c.answers.Add(username, answer{found: found, until: now.Add(keep)})
	return found, nil
}
