// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"math/bits"
	"time"
)

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

// pattern is a set of readings of a wall clock. A reading is counted in seconds as if it were in UTC, so that
// readings can be compared and subtracted without a time zone.
type pattern struct {
	minutes, hours, days, months, weekdays uint64 // bit n: the value n matches

	eitherDay bool // a day that matches days or weekdays matches, else it must match both
}

// everyHour reports whether every hour matches, so that the pattern is a rhythm: see the package comment.
func (p pattern) everyHour() bool { return p.hours == 1<<24-1 }

// first returns the first match from one reading up to, but not including, another.
func (p pattern) first(from, to int64) (int64, bool) {
	from += minute - 1 // so that its minute is the first that counts
	for m := monthOf(from); m <= monthOf(to-1); m++ {
		days := p.daysIn(m)
		if days == 0 {
			continue
		}
		into := max(from-m.start(), 0)
		d, clock := into/day, into%day/minute
		c, ok := p.nextClock(clock)
		if days>>d&1 == 0 || !ok {
			later := days >> (d + 1)
			if later == 0 {
				continue
			}
			d += 1 + int64(bits.TrailingZeros64(later))
			c, _ = p.nextClock(0)
		}
		reading := m.start() + d*day + c*minute
		return reading, reading < to
	}
	return 0, false
}

// last returns the last match from one reading up to, but not including, another.
func (p pattern) last(from, to int64) (int64, bool) {
	for m := monthOf(to - 1); m >= monthOf(from); m-- {
		days := p.daysIn(m)
		if days == 0 {
			continue
		}
		into := min(to-1-m.start(), 31*day-1)
		d, clock := into/day, into%day/minute
		c, ok := p.previousClock(clock)
		if days>>d&1 == 0 || !ok {
			earlier := days & (1<<d - 1)
			if earlier == 0 {
				continue
			}
			d = int64(bits.Len64(earlier) - 1)
			c, _ = p.previousClock(day/minute - 1)
		}
		reading := m.start() + d*day + c*minute
		return reading, reading >= from
	}
	return 0, false
}

// count returns the number of matches from one reading up to, but not including, another. It iterates over
// months, not over matches.
func (p pattern) count(from, to int64) int {
	if from >= to {
		return 0
	}
	n := p.countInMonth(to) - p.countInMonth(from)
	for m := monthOf(from); m < monthOf(to); m++ {
		n += bits.OnesCount64(p.daysIn(m)) * p.perDay()
	}
	return n
}

// countInMonth returns the number of matches that are before a reading and in its month.
func (p pattern) countInMonth(reading int64) int {
	days := p.daysIn(monthOf(reading))
	into := reading - monthOf(reading).start() + minute - 1
	d, clock := into/day, into%day/minute
	n := bits.OnesCount64(days&(1<<d-1)) * p.perDay()
	if days>>d&1 == 1 {
		h, m := clock/60, clock%60
		n += bits.OnesCount64(p.hours&(1<<h-1)) * bits.OnesCount64(p.minutes)
		n += int(p.hours>>h&1) * bits.OnesCount64(p.minutes&(1<<m-1))
	}
	return n
}

func (p pattern) perDay() int { return bits.OnesCount64(p.hours) * bits.OnesCount64(p.minutes) }

// nextClock returns the first match at or after a minute of the day.
func (p pattern) nextClock(clock int64) (int64, bool) {
	h, m := clock/60, clock%60
	if p.hours>>h&1 == 1 {
		if later := p.minutes >> m; later != 0 {
			return clock + int64(bits.TrailingZeros64(later)), true
		}
	}
	later := p.hours >> (h + 1)
	return (h+1+int64(bits.TrailingZeros64(later)))*60 + int64(bits.TrailingZeros64(p.minutes)), later != 0
}

// previousClock returns the last match at or before a minute of the day.
func (p pattern) previousClock(clock int64) (int64, bool) {
	h, m := clock/60, clock%60
	if p.hours>>h&1 == 1 {
		if earlier := p.minutes & (2<<m - 1); earlier != 0 {
			return h*60 + int64(bits.Len64(earlier)) - 1, true
		}
	}
	earlier := p.hours & (1<<h - 1)
	return int64(bits.Len64(earlier)-1)*60 + int64(bits.Len64(p.minutes)) - 1, earlier != 0
}

// minuteWithin reports whether one of the minutes is within a span that begins at a reading, whatever the hour.
func (p pattern) minuteWithin(reading, span int64) bool {
	first := (reading%hour + hour) % hour / minute // readings before 1970 are negative
	for i := range min(span, hour) / minute {
		if p.minutes>>((first+i)%60)&1 == 1 {
			return true
		}
	}
	return false
}

// fires reports whether any day ever matches. The calendar repeats itself after 400 years, days of the week
// included.
func (p pattern) fires() bool {
	for m := month(2000 * 12); m < 2400*12; m++ {
		if p.daysIn(m) != 0 {
			return true
		}
	}
	return false
}

// daysIn returns the days of a month that match; bit 0 is the first.
func (p pattern) daysIn(m month) uint64 {
	if p.months>>(m%12+1)&1 == 0 {
		return 0
	}
	first := time.Unix(m.start(), 0).UTC()
	length := ((m + 1).start() - m.start()) / day
	week := p.weekdays>>first.Weekday() | p.weekdays<<(7-first.Weekday())&(1<<7-1)
	byWeekday := week | week<<7 | week<<14 | week<<21 | week<<28
	byDate := p.days >> 1
	if p.eitherDay {
		return (byDate | byWeekday) & (1<<length - 1)
	}
	return byDate & byWeekday & (1<<length - 1)
}

// month counts the months since the year 0.
type month int

func monthOf(reading int64) month {
	year, m, _ := time.Unix(reading, 0).UTC().Date()
	return month(year*12 + int(m) - 1)
}

// start returns the first reading of the month.
func (m month) start() int64 {
	return time.Date(int(m/12), time.Month(m%12+1), 1, 0, 0, 0, 0, time.UTC).Unix()
}
