// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNext(t *testing.T) {
	for _, test := range []struct {
		reason, expression, after string
		want                      []string
	}{
		{"strictly after", "0 12 * * *", "2026-05-01T12:00Z", []string{"2026-05-02T12:00Z", "2026-05-03T12:00Z"}},
		{"the seed document: Sundays and Fridays", "* * * * */5", "2026-05-01T23:58Z", []string{
			"2026-05-01T23:59Z", "2026-05-03T00:00Z", "2026-05-03T00:01Z",
		}},
		{"the default", "5 0 * * *", "2026-12-31T12:00Z", []string{"2027-01-01T00:05Z"}},
		{"either day when both are restricted", "0 0 13 * FRI", "2026-02-01T00:00Z", []string{
			"2026-02-06T00:00Z", "2026-02-13T00:00Z", "2026-02-20T00:00Z", "2026-02-27T00:00Z", "2026-03-06T00:00Z",
			"2026-03-13T00:00Z",
		}},
		{"either although one has a star with a step", "0 0 */14 * FRI", "2026-02-01T00:00Z", []string{
			"2026-02-06T00:00Z", "2026-02-13T00:00Z", "2026-02-15T00:00Z", "2026-02-20T00:00Z",
		}},
		{"a step of 1 is a star", "0 0 */1 * FRI", "2026-02-01T00:00Z", []string{"2026-02-06T00:00Z", "2026-02-13T00:00Z"}},
		{"either although the other has", "0 0 13 * */7", "2026-02-01T00:00Z", []string{"2026-02-08T00:00Z", "2026-02-13T00:00Z"}},
		{"either when H chooses one", "0 0 1 * H(1-1)", "2026-02-01T00:00Z", []string{"2026-02-02T00:00Z", "2026-02-09T00:00Z"}},
		{"a range of all days is a restriction", "0 0 1-31 * MON", "2026-02-02T00:00Z", []string{"2026-02-03T00:00Z"}},
		{"months without a 31st", "0 0 31 * *", "2026-01-31T00:00Z", []string{
			"2026-03-31T00:00Z", "2026-05-31T00:00Z", "2026-07-31T00:00Z", "2026-08-31T00:00Z",
		}},
		{"leap days", "0 0 29 2 *", "2026-01-01T00:00Z", []string{"2028-02-29T00:00Z", "2032-02-29T00:00Z"}},
		{"2100 is no leap year", "0 0 29 2 *", "2096-03-01T00:00Z", []string{"2104-02-29T00:00Z"}},
		{"the last minute of a year", "59 23 31 12 *", "2026-12-31T23:59Z", []string{"2027-12-31T23:59Z"}},
		{"before 1970", "30 6 * * *", "1969-12-30T12:00Z", []string{"1969-12-31T06:30Z", "1970-01-01T06:30Z"}},
	} {
		s := mustParse(t, test.expression, "")
		var got []string
		for _, slot := range s.NextN(instantOf(t, test.after), len(test.want)) {
			got = append(got, slot.Format("2006-01-02T15:04Z07:00"))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %q (-want +got):\n%s", test.reason, test.expression, diff)
		}
	}
}

func TestNextBetweenSlots(t *testing.T) {
	s := mustParse(t, "* * * * *", "Asia/Kathmandu")
	slot := instantOf(t, "2026-05-01T12:00Z")
	for _, test := range []struct {
		at         time.Duration
		next, prev time.Duration
	}{
		{-time.Nanosecond, 0, -time.Minute},
		{0, time.Minute, 0},
		{time.Nanosecond, time.Minute, 0},
		{time.Minute - time.Nanosecond, time.Minute, 0},
	} {
		next, _ := s.Next(slot.Add(test.at))
		prev, _ := s.Prev(slot.Add(test.at))
		if next.Sub(slot) != test.next || prev.Sub(slot) != test.prev {
			t.Errorf("%v from a slot: next is %v from it, previous %v; want %v, %v",
				test.at, next.Sub(slot), prev.Sub(slot), test.next, test.prev)
		}
		if next.Location() != time.UTC || prev.Location() != time.UTC {
			t.Error("slots are not in UTC")
		}
	}
}

func TestNeverFires(t *testing.T) {
	now := instantOf(t, "2026-05-01T12:00Z")
	for expression, fires := range map[string]bool{
		"0 0 30 2 *": false, "0 0 31 2,4,6,9,11 *": false, "0 0 30-31 2 */1": false, "0 0 31 APR *": false,
		"0 0 29 2 *": true, "0 0 30 2 MON": true, "0 0 31 1,2 *": true, "* * * * *": true,
	} {
		s := mustParse(t, expression, "Europe/Berlin")
		_, next := s.Next(now)
		_, prev := s.Prev(now)
		slots, total := s.Between(now.AddDate(-50, 0, 0), now, 1)
		got := []bool{!s.NeverFires(), next, prev, len(slots) == 1, total > 0, len(s.NextN(now, 3)) == 3}
		if diff := cmp.Diff([]bool{fires, fires, fires, fires, fires, fires}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", expression, diff)
		}
	}
	var zero Schedule
	if _, ok := zero.Next(now); ok || !zero.NeverFires() {
		t.Error("the zero schedule fires")
	}
}

func TestBetween(t *testing.T) {
	for _, test := range []struct {
		reason, expression, zone, after, until string
		limit, total                           int
		latest                                 []string // in the zone
	}{
		{
			"suspended for half a year", "* * * * *", "Europe/Berlin", "2026-03-01T00:00Z", "2026-09-01T00:00Z", 2,
			264_960,
			[]string{"01 01:59 +02:00", "01 02:00 +02:00"},
		},
		{
			"suspended over both changes", "30 2 * * *", "Europe/Berlin", "2026-03-01T00:00Z", "2027-03-01T00:00Z", 1,
			365,
			[]string{"28 02:30 +01:00"},
		},
		{
			"every hour over both changes", "30 * * * *", "Europe/Berlin", "2026-03-01T00:00Z", "2027-03-01T00:00Z", 1,
			365 * 24,
			[]string{"01 00:30 +01:00"},
		},
		{
			"the first end is not in, the second is", "0 * * * *", "UTC", "2026-03-01T00:00Z", "2026-03-01T02:00Z", 5,
			2,
			[]string{"01 01:00 +00:00", "01 02:00 +00:00"},
		},
		{
			"fewer than the limit", "0 0 * * *", "UTC", "2026-03-01T00:00Z", "2026-03-02T12:00Z", 5,
			1,
			[]string{"02 00:00 +00:00"},
		},
		{"no limit to speak of", "0 0 * * *", "UTC", "2026-03-01T00:00Z", "2026-03-03T12:00Z", 0, 2, nil},
		{"between two slots", "0 0 * * *", "UTC", "2026-03-01T00:00Z", "2026-03-01T23:59Z", 5, 0, nil},
		{"nothing between an instant and itself", "* * * * *", "UTC", "2026-03-01T00:00Z", "2026-03-01T00:00Z", 5, 0, nil},
		{"the clock was set back", "* * * * *", "UTC", "2026-03-02T00:00Z", "2026-03-01T00:00Z", 5, 0, nil},
		{
			"a slot that only makes up for others", "30 2 * * *", "Europe/Berlin", "2026-03-29T00:59Z", "2026-03-29T01:00Z", 5,
			1,
			[]string{"29 03:00 +02:00"},
		},
	} {
		s := mustParse(t, test.expression, test.zone)
		slots, total := s.Between(instantOf(t, test.after), instantOf(t, test.until), test.limit)
		if diff := cmp.Diff(test.latest, readings(s, slots)); diff != "" || total != test.total {
			t.Errorf("%s: %d slots, want %d (-want +got):\n%s", test.reason, total, test.total, diff)
		}
	}
}

// Whatever instant comes in, an answer comes out.
func TestExtremes(t *testing.T) {
	for _, zone := range []string{"", "Europe/Berlin", "Africa/Monrovia"} {
		for _, expression := range []string{"* * * * *", "0 0 29 2 *"} {
			s := mustParse(t, expression, zone)
			for _, seconds := range []int64{
				math.MinInt64, -1 << 40, (time.Time{}).Unix(), earliest, -1, 0, latest, latest + 2*day, 1 << 40, math.MaxInt64 - 1, math.MaxInt64,
			} {
				answers(t, s, seconds)
			}
		}
	}
}

func answers(t *testing.T, s Schedule, seconds int64) {
	t.Helper()
	const century = 100 * 366 * day
	next, ok := s.Next(time.Unix(seconds, 0))
	if ok && next.Unix() <= seconds || !ok && seconds < latest-century {
		t.Errorf("%q: after %d comes %v, %v", s, seconds, next, ok)
	}
	prev, ok := s.Prev(time.Unix(seconds, 0))
	if ok && prev.Unix() > seconds || !ok && seconds > earliest+century {
		t.Errorf("%q: before %d comes %v, %v", s, seconds, prev, ok)
	}
}

func TestBetweenExtremes(t *testing.T) {
	for expression, most := range map[string]int{"* * * * *": 9999 * 366 * 1440, "0 0 29 2 *": 2425} {
		s := mustParse(t, expression, "Europe/Berlin")
		slots, total := s.Between(time.Unix(math.MinInt64, 0), time.Unix(math.MaxInt64, 0), 1)
		if len(slots) != 1 || slots[0].Year() < 9950 || total > most || total < most*4/5 {
			t.Errorf("%q has %d slots ever, the last is %v", expression, total, slots)
		}
	}
}
