// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"time"
)

// Schedule is a cron expression in a time zone: a set of instants, its slots. It is an immutable value,
// returned by Parse; the zero Schedule never fires. A slot is in UTC and identifies a run: it does not depend
// on where its computation starts. It is a whole minute (before 1972, some zones differed from UTC by seconds).
// Slots lie in the years 1 to 9999.
type Schedule struct {
	text     string
	location *time.Location
	pattern  pattern
	fires    bool
	seeded   bool
}

// String returns the expression with its macro written out and each H replaced by its values, in upper case.
// Parse parses it, in the same time zone and with any seed, as a schedule with the same slots.
func (s Schedule) String() string { return s.text }

// NeverFires reports whether there is no slot at all, as for "0 0 30 2 *". "0 0 29 2 *" fires.
func (s Schedule) NeverFires() bool { return !s.fires }

// Seeded reports whether the slots depend on the seed: the expression has an H.
func (s Schedule) Seeded() bool { return s.seeded }

// Next returns the first slot after an instant; false when there is none.
func (s Schedule) Next(after time.Time) (time.Time, bool) {
	from := following(after)
	if !s.fires || from > latest {
		return time.Time{}, false
	}
	for p := s.period(from); ; p = s.period(p.end) {
		if p.makeUp && p.start >= from {
			return instant(p.start), true
		}
		if reading, ok := s.pattern.first(max(p.first, from+p.offset), p.end+p.offset); ok {
			return instant(reading - p.offset), true
		}
		if p.end > latest {
			return time.Time{}, false
		}
	}
}

// NextN returns the first n slots after an instant, the earliest first; fewer when there are no more.
func (s Schedule) NextN(after time.Time, n int) []time.Time {
	var slots []time.Time
	for slot, ok := s.Next(after); ok && len(slots) < n; slot, ok = s.Next(slot) {
		slots = append(slots, slot)
	}
	return slots
}

// Prev returns the last slot that is not after an instant, so a slot is its own Prev; false when there is none.
func (s Schedule) Prev(until time.Time) (time.Time, bool) {
	to := min(until.Unix(), latest)
	if !s.fires || to < earliest {
		return time.Time{}, false
	}
	for p := s.period(to); ; p = s.period(p.start - 1) {
		if reading, ok := s.pattern.last(p.first, min(p.end, to+1)+p.offset); ok {
			return instant(reading - p.offset), true
		}
		if p.makeUp {
			return instant(p.start), true
		}
		if p.start <= earliest {
			return time.Time{}, false
		}
	}
}

// Between returns the slots after one instant and not after another: the latest of them, at most limit, the
// earliest first, and the number of all. Its time grows with the limit and with the years between, not with the
// number.
func (s Schedule) Between(after, until time.Time, limit int) ([]time.Time, int) {
	from, to := following(after), min(until.Unix(), latest)
	if !s.fires || from > to {
		return nil, 0
	}
	total := 0
	for p := s.period(from); ; p = s.period(p.end) {
		if p.makeUp && p.start >= from && p.start <= to {
			total++
		}
		total += s.pattern.count(max(p.first, from+p.offset), min(p.end, to+1)+p.offset)
		if p.end > to {
			break
		}
	}
	var slots []time.Time
	for slot, ok := s.Prev(instant(to)); ok && len(slots) < min(limit, total); slot, ok = s.Prev(slot.Add(-time.Second)) {
		slots = append(slots, slot)
	}
	slices.Reverse(slots)
	return slots, total
}

// The instants that are searched. Instants and readings near them are also in the years 1 to 9999.
var (
	earliest = time.Date(1, time.January, 2, 0, 0, 0, 0, time.UTC).Unix()
	latest   = time.Date(9999, time.December, 30, 0, 0, 0, 0, time.UTC).Unix()
)

// following returns the first second after an instant, within the years that are searched.
func following(at time.Time) int64 { return min(max(at.Unix(), earliest-1), latest) + 1 }

func instant(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

// period is a time without a change of the clocks: instants from start up to end, in which reading = instant +
// offset.
type period struct {
	start, end int64
	offset     int64
	first      int64 // the first reading that counts: those before it were repeated
	makeUp     bool  // start is a slot that makes up for skipped readings, and no slot otherwise
}

// period returns the period that contains an instant.
func (s Schedule) period(at int64) period {
	start, end := s.bounds(at)
	p := period{start: start, end: end, offset: s.offset(at)}
	p.first = p.start + p.offset
	if start == earliest {
		return p
	}
	unmoved := p.start + s.offset(p.start-1) // the first reading of the period without the change
	switch {
	case unmoved < p.first:
		p.makeUp = s.makesUp(p, unmoved)
	case unmoved > p.first && !s.repeats(unmoved, unmoved-p.first):
		p.first = unmoved
	}
	return p
}

func (s Schedule) offset(at int64) int64 {
	_, offset := time.Unix(at, 0).In(s.location).Zone()
	return int64(offset)
}

// bounds returns the start and the end of the period that contains an instant. If a zone follows a rule, after
// the end of its table of changes, time.ZoneBounds has two errors. In a leap year it ends a period a day early,
// so that the end may be before the instant: golang/go#81583. And in the year of the last entry it may return a
// start before that entry. So the search begins at the start, and a day is added to a wrong end. Bounds at
// which the offset does not change are harmless.
func (s Schedule) bounds(at int64) (start, end int64) {
	start, end = s.zoneBounds(at)
	if start == earliest {
		return start, end
	}
	for {
		if _, end = s.zoneBounds(start); end <= start {
			end += day
		}
		if end > at {
			return start, end
		}
		start = end
	}
}

func (s Schedule) zoneBounds(at int64) (start, end int64) {
	from, to := time.Unix(at, 0).In(s.location).ZoneBounds()
	start, end = earliest, latest+1
	if !from.IsZero() {
		start = from.Unix()
	}
	if !to.IsZero() {
		end = to.Unix()
	}
	return start, end
}

// makesUp reports whether the skipped readings, from one up to the first of a period, are made up for.
func (s Schedule) makesUp(p period, skipped int64) bool {
	missed, ok := s.pattern.first(skipped, p.first)
	if !ok {
		return false
	}
	due := p.first
	if s.pattern.everyHour() {
		due += missed - skipped // when the missed reading would have occurred
	}
	_, regular := s.pattern.first(p.first, due+1)
	return !regular
}

// repeats reports whether readings that occur a second time count again; unmoved is what the first of them
// would have been.
func (s Schedule) repeats(unmoved, span int64) bool {
	return s.pattern.everyHour() && s.pattern.minuteWithin(unmoved, span)
}
