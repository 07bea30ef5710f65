// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/schedule"
)

// timing is when a policy allows restarts.
type timing struct {
	debounce, minInterval time.Duration
	maxPerHour            int
	windows               []schedule.Window
}

// readTiming reads a policy. The seed decides what H stands for in schedules.
func readTiming(p common.RestartPolicy, seed string) (timing, error) {
	t := timing{debounce: 2 * time.Second, maxPerHour: 12}
	if p.Debounce != nil {
		t.debounce = p.Debounce.Duration
	}
	if p.MinInterval != nil {
		t.minInterval = p.MinInterval.Duration
	}
	if p.MaxPerHour > 0 {
		t.maxPerHour = int(p.MaxPerHour)
	}
	for i, w := range p.Windows {
		window, err := schedule.ParseWindow(w.Schedule, w.Duration.Duration, w.TimeZone, seed)
		if err != nil {
			return timing{}, fmt.Errorf("restart.windows[%d]: %w", i, err)
		}
		if window.NeverOpens() {
			return timing{}, neverOpens{i, w.Schedule}
		}
		t.windows = append(t.windows, window)
	}
	return t, nil
}

// neverOpens is the error about a window without any opening.
type neverOpens struct {
	index    int
	schedule string
}

func (n neverOpens) Error() string {
	return fmt.Sprintf("restart.windows[%d]: the schedule %.80q never fires, so that nothing would ever be restarted: name days that exist",
		n.index, n.schedule)
}

// due reports whether a pending restart may happen now: then the reason is empty. Otherwise it may at the
// given time, unless something changes.
func (t timing) due(s *common.RestartStatus, now time.Time) (reason string, at time.Time) {
	if !s.Pending.Started {
		reason, at = t.earliest(s, now)
	}
	if !at.After(now) {
		reason, at = "", now
	}
	opens, ok := t.opens(at)
	switch {
	case !ok:
		return ReasonOutsideWindow, time.Time{}
	case opens.After(at) && reason != ReasonSuspended:
		reason = ReasonOutsideWindow
	}
	return reason, opens
}

// earliest is when a restart may begin, were a window open all the time.
func (t timing) earliest(s *common.RestartStatus, now time.Time) (reason string, at time.Time) {
	reason, at = t.quiet(s.Pending)
	if s.LastRestart != nil && t.minInterval > 0 {
		if next := s.LastRestart.Add(t.minInterval); next.After(at) {
			reason, at = ReasonMinInterval, next
		}
	}
	if recent := within(s.Recent, now); len(recent) >= t.maxPerHour {
		if next := recent[len(recent)-t.maxPerHour].Add(time.Hour); next.After(at) {
			reason, at = ReasonSuspended, next
		}
	}
	return reason, at
}

// quiet is when the content has been quiet for long enough.
func (t timing) quiet(p *common.PendingRestart) (string, time.Time) {
	at := p.Changed.Add(t.debounce)
	if limit := p.Since.Add(patience * t.debounce); limit.Before(at) {
		at = limit
	}
	return ReasonDebounce, at
}

// opens is the first time, from one on, at which a window is open.
func (t timing) opens(from time.Time) (first time.Time, ok bool) {
	if len(t.windows) == 0 {
		return from, true
	}
	for _, w := range t.windows {
		if at, opens := w.NextOpen(from); opens && (!ok || at.Before(first)) {
			first, ok = at, true
		}
	}
	return first, ok
}

// within are the times that are less than an hour ago. A time that is still to come, after the clock was
// set back, counts too (see correctClock).
func within(times []metav1.Time, now time.Time) []metav1.Time {
	return slices.DeleteFunc(slices.Clone(times), func(t metav1.Time) bool { return !t.After(now.Add(-time.Hour)) })
}
