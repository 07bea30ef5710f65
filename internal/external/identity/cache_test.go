// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/acme/platform-operator/internal/external/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// directory answers as its function does, and counts the questions.
type directory struct {
	answer func(ctx context.Context, username string) (bool, error)
	asked  atomic.Int32
}

func (d *directory) Lookup(ctx context.Context, username string) (bool, error) {
	d.asked.Add(1)
	return d.answer(ctx, username)
}

func onlySam(_ context.Context, username string) (bool, error) { return username == "sam", nil }

func lookup(t *testing.T, d identity.Directory, username string, want bool) {
	t.Helper()
	if got, err := d.Lookup(t.Context(), username); err != nil || got != want {
		t.Fatalf("Lookup(%q) = %v, %v; want %v, nil", username, got, err, want)
	}
}

func expectAsked(t *testing.T, d *directory, want int32) {
	t.Helper()
	if got := d.asked.Load(); got != want {
		t.Fatalf("the directory was asked %d times, want %d", got, want)
	}
}

func TestCacheKeepsAnswersForTheirTime(t *testing.T) {
	for _, tt := range []struct {
		reason, username string
		opts             identity.CacheOptions
		found            bool
		ttl              time.Duration
	}{
		{"found, default", "sam", identity.CacheOptions{}, true, 10 * time.Minute},
		{"found, set", "sam", identity.CacheOptions{Known: time.Hour, Unknown: time.Second}, true, time.Hour},
		{"not found, default", "eve", identity.CacheOptions{}, false, 30 * time.Second},
		{"not found, set", "eve", identity.CacheOptions{Known: time.Hour, Unknown: time.Second}, false, time.Second},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
			tt.opts.Clock = clock
			d := &directory{answer: onlySam}
			cached := identity.Cached(d, tt.opts)
			lookup(t, cached, tt.username, tt.found)
			clock.SetTime(clock.Now().Add(tt.ttl - 1))
			lookup(t, cached, tt.username, tt.found)
			expectAsked(t, d, 1)
			clock.SetTime(clock.Now().Add(1))
			lookup(t, cached, tt.username, tt.found)
			expectAsked(t, d, 2)
		})
	}
}

func TestCacheIsBounded(t *testing.T) {
	d := &directory{answer: onlySam}
	cached := identity.Cached(d, identity.CacheOptions{Size: 2})
	lookup(t, cached, "sam", true)
	lookup(t, cached, "eve", false)
	lookup(t, cached, "sam", true) // now eve is the longest unused
	lookup(t, cached, "tom", false)
	expectAsked(t, d, 3)
	lookup(t, cached, "sam", true)
	expectAsked(t, d, 3)
	lookup(t, cached, "eve", false)
	expectAsked(t, d, 4)
}

func TestCacheNeverKeepsErrors(t *testing.T) {
	down := errors.New("down")
	d := &directory{answer: func(context.Context, string) (bool, error) { return false, down }}
	cached := identity.Cached(d, identity.CacheOptions{})
	for range 3 {
		if found, err := cached.Lookup(t.Context(), "sam"); found || !errors.Is(err, down) {
			t.Fatalf("Lookup = %v, %v; want false and the directory's error", found, err)
		}
	}
	expectAsked(t, d, 3)
	d.answer = onlySam
	lookup(t, cached, "sam", true)
}

func TestCacheServesWhatItKnowsWhileTheDirectoryIsDown(t *testing.T) {
	d := &directory{answer: onlySam}
	cached := identity.Cached(d, identity.CacheOptions{})
	lookup(t, cached, "sam", true)
	d.answer = func(context.Context, string) (bool, error) { return false, errors.New("down") }
	lookup(t, cached, "sam", true)
}

func TestCacheLeavesAHangingDirectoryAlone(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	d := &directory{answer: func(context.Context, string) (bool, error) {
		return false, fmt.Errorf("asking: %w", context.DeadlineExceeded)
	}}
	cached := identity.Cached(d, identity.CacheOptions{Pause: 5 * time.Second, Clock: clock})
	for _, username := range []string{"sam", "sam", "eve"} {
		if _, err := cached.Lookup(t.Context(), username); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Lookup(%q) = %v, want the directory's time-out", username, err)
		}
	}
	expectAsked(t, d, 1)
	d.answer = onlySam
	clock.SetTime(clock.Now().Add(5 * time.Second))
	lookup(t, cached, "sam", true)
	lookup(t, cached, "eve", false)
}

func TestCacheSharesAQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := &directory{answer: func(_ context.Context, username string) (bool, error) {
			<-release
			return username == "sam", nil
		}}
		cached := identity.Cached(d, identity.CacheOptions{})
		var callers sync.WaitGroup
		for i := range 20 {
			username := []string{"sam", "eve"}[i%2]
			callers.Go(func() {
				if found, err := cached.Lookup(t.Context(), username); err != nil || found != (username == "sam") {
					t.Errorf("Lookup(%q) = %v, %v", username, found, err)
				}
			})
		}
		synctest.Wait() // all wait for the two queries
		expectAsked(t, d, 2)
		close(release)
		callers.Wait()
	})
}

func TestCacheCallersGiveUpAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := &directory{answer: func(ctx context.Context, _ string) (bool, error) {
			select {
			case <-release:
				return true, nil
			case <-ctx.Done():
				return false, ctx.Err()
			}
		}}
		cached := identity.Cached(d, identity.CacheOptions{})
		first, cancel := context.WithCancel(t.Context())
		firstErr, second := make(chan error), make(chan bool)
		go func() {
			_, err := cached.Lookup(first, "sam")
			firstErr <- err
		}()
		synctest.Wait() // the query is the first caller's
		go func() {
			found, err := cached.Lookup(t.Context(), "sam")
			second <- found && err == nil
		}()
		synctest.Wait()
		cancel()
		if err := <-firstErr; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller who gave up got %v, want its own cancellation", err)
		}
		close(release)
		if !<-second {
			t.Error("the other caller did not get the answer")
		}
		lookup(t, cached, "sam", true)
		expectAsked(t, d, 1)
	})
}
