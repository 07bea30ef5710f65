// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"
)

func FuzzParse(f *testing.F) {
	for _, expression := range append([]string{
		"", "@hourly", "@every 5m", "* * * * */5", "H H(1-3) H/3 * H", "H(0-29)/10 * * * *", "0 0 1,15 JAN-MAR MON-FRI", "TZ=",
		"60 * * * *", "* * * * * *", "0 22-2 * * *", "*-5 , 1,,2 /5 7/2", "0 0 30 2 *", "0 0 ? * L",
	}, always...) {
		f.Add(expression, "Europe/Berlin", "seed")
		f.Add(expression, "Australia/Lord_Howe", "")
	}
	f.Add("0 0 * * *", "Local", "")
	f.Fuzz(func(t *testing.T, expression, zone, seed string) {
		s, err := Parse(expression, zone, seed)
		if err != nil {
			if err.Error() == "" || s != (Schedule{}) {
				t.Fatalf("an error without text, or with a schedule: %v, %v", err, s)
			}
			return
		}
		compareWithReference(t, s, expression)
		again, err := Parse(s.String(), zone, "another "+seed)
		if err != nil {
			t.Fatalf("%q became %q: %v", expression, s, err)
		}
		if again.pattern != s.pattern || again.text != s.text || again.fires != s.fires {
			t.Fatalf("%q became %q, then %q", expression, s, again)
		}
		rises(t, s, again)
	})
}

// rises checks that slots come one after the other, and that two schedules have the same.
func rises(t *testing.T, s, same Schedule) {
	t.Helper()
	after := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	slots, others := s.NextN(after, 50), same.NextN(after, 50)
	if len(slots) != len(others) || (len(slots) == 0) != s.NeverFires() {
		t.Fatalf("%q fires %d times, then %d times", s, len(slots), len(others))
	}
	for i := range slots {
		if !slots[i].Equal(others[i]) || !slots[i].After(after) {
			t.Fatalf("%q fires at %v after %v, then at %v", s, slots[i], after, others[i])
		}
		after = slots[i]
	}
}

// FuzzSlots holds what must be true of any schedule at any time.
func FuzzSlots(f *testing.F) {
	for i, expression := range always {
		f.Add(expression, uint8(i), int64(1774746000), uint32(86400)) // the clocks go forward in Berlin
		f.Add(expression, uint8(17), int64(1775314800), uint32(7200)) // and back on Lord Howe
		f.Add(expression, uint8(i), int64(-62135596800), uint32(0))
	}
	f.Fuzz(func(t *testing.T, expression string, zone uint8, seconds int64, span uint32) {
		s, err := Parse(expression, walkedZones[int(zone)%len(walkedZones)], "seed")
		if err != nil || s.NeverFires() || seconds < earliest+100*366*day || seconds > latest-100*366*day {
			return
		}
		at := time.Unix(seconds, 0)
		neighbours(t, s, at)
		counts(t, s, at, at.Add(time.Duration(span)*time.Second))
	})
}

// neighbours checks that an instant is between two slots that are each other's next and previous.
func neighbours(t *testing.T, s Schedule, at time.Time) {
	t.Helper()
	next, okNext := s.Next(at)
	prev, okPrev := s.Prev(at)
	if !okNext || !okPrev || !next.After(at) || prev.After(at) {
		t.Fatalf("%q: %v is not between %v and %v", s, at, prev, next)
	}
	if after, _ := s.Next(prev); !after.Equal(next) {
		t.Fatalf("%q: after %v comes %v, not %v", s, prev, after, next)
	}
	if before, _ := s.Prev(next.Add(-time.Nanosecond)); !before.Equal(prev) {
		t.Fatalf("%q: before %v comes %v, not %v", s, next, before, prev)
	}
}

// counts checks Between by Next: the latest slots are those, and there are as many before them as it says.
func counts(t *testing.T, s Schedule, after, until time.Time) {
	t.Helper()
	latest, total := s.Between(after, until, 10)
	slots := []time.Time{}
	for slot, ok := s.Next(after); ok && !slot.After(until) && len(slots) < 2000; slot, ok = s.Next(slot) {
		slots = append(slots, slot)
	}
	if len(slots) == 2000 {
		return // too many to go through
	}
	if total != len(slots) || len(latest) != min(total, 10) {
		t.Fatalf("%q: Between counts %d and gives %d, Next %d", s, total, len(latest), len(slots))
	}
	for i, slot := range slots[total-len(latest):] {
		if !slot.Equal(latest[i]) {
			t.Fatalf("%q: Between gives %v, Next %v", s, latest, slot)
		}
	}
}
