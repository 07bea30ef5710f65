// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// instantOf reads a time as the tables of this package write it.
func instantOf(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04Z07:00", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func mustParse(t testing.TB, expression, zone string) Schedule {
	t.Helper()
	s, err := Parse(expression, zone, "seed")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// readings gives slots as the day, time and offset that a clock in the schedule's zone shows.
func readings(s Schedule, slots []time.Time) []string {
	var texts []string
	for _, slot := range slots {
		texts = append(texts, slot.In(s.location).Format("02 15:04 -07:00"))
	}
	return texts
}

// The spans begin and end well before and after the change; both ends are local time.
func TestClockChanges(t *testing.T) {
	type row struct {
		expression string
		want       []string
		reason     string
	}
	for _, change := range []struct {
		zone, after, until string
		rows               []row
	}{
		{"Europe/Berlin", "2026-03-29T00:59+01:00", "2026-03-29T04:01+02:00", []row{ // 2:00 -> 3:00
			{"30 2 * * *", []string{"29 03:00 +02:00"}, "skipped, runs right after"},
			{"0,15,30,45 2 * * *", []string{"29 03:00 +02:00"}, "all skipped in one gap are one run"},
			{"*/15 2 * * *", []string{"29 03:00 +02:00"}, "an hour that is named is no rhythm"},
			{"0 2,3 * * *", []string{"29 03:00 +02:00"}, "the make-up run and the reading after the gap are one instant"},
			{"30 2,3 * * *", []string{"29 03:00 +02:00", "29 03:30 +02:00"}, "two readings, two runs"},
			{"0 */2 * * *", []string{"29 03:00 +02:00", "29 04:00 +02:00"}, "every other hour names hours"},
			{"59 1 * * *", []string{"29 01:59 +01:00"}, "the last reading before the gap"},
			{"0 3 * * *", []string{"29 03:00 +02:00"}, "the first reading after it"},
			{"30 2 28 * *", nil, "not that day"},
			{"30 2 * * SUN", []string{"29 03:00 +02:00"}, "that day of the week"},
			{"0 * * * *", []string{"29 01:00 +01:00", "29 03:00 +02:00", "29 04:00 +02:00"}, "an hour apart, nothing extra"},
			{"30 * * * *", []string{"29 01:30 +01:00", "29 03:30 +02:00"}, "an hour apart, nothing extra"},
			{"30 0-23 * * *", []string{"29 01:30 +01:00", "29 03:30 +02:00"}, "every hour, spelled otherwise"},
			{"5/20 * * * *", []string{
				"29 01:05 +01:00", "29 01:25 +01:00", "29 01:45 +01:00", "29 03:05 +02:00", "29 03:25 +02:00", "29 03:45 +02:00",
			}, "twenty minutes apart"},
		}},
		{"Europe/Berlin", "2026-10-25T00:59+02:00", "2026-10-25T03:59+01:00", []row{ // 3:00 -> 2:00
			{"30 2 * * *", []string{"25 02:30 +02:00"}, "repeated, runs once"},
			{"*/30 2 * * *", []string{"25 02:00 +02:00", "25 02:30 +02:00"}, "an hour that is named is no rhythm"},
			{"0 */2 * * *", []string{"25 02:00 +02:00"}, "every other hour names hours"},
			{"0 3 * * *", []string{"25 03:00 +01:00"}, "the first reading after the repeated hour"},
			{"59 2 * * *", []string{"25 02:59 +02:00"}, "the last repeated reading"},
			{"30 * * * *", []string{"25 01:30 +02:00", "25 02:30 +02:00", "25 02:30 +01:00", "25 03:30 +01:00"}, "an hour apart"},
			{"*/30 * * * *", []string{
				"25 01:00 +02:00", "25 01:30 +02:00", "25 02:00 +02:00", "25 02:30 +02:00",
				"25 02:00 +01:00", "25 02:30 +01:00", "25 03:00 +01:00", "25 03:30 +01:00",
			}, "half an hour apart"},
			{"0 * * * SUN", []string{"25 01:00 +02:00", "25 02:00 +02:00", "25 02:00 +01:00", "25 03:00 +01:00"}, "all of a day of 25 hours"},
		}},
		{"Europe/Berlin", "2055-03-28T00:59+01:00", "2055-03-28T04:01+02:00", []row{
			{"30 2 * * *", []string{"28 03:00 +02:00"}, "the rule of the zone reaches beyond its table"},
		}},
		{"America/New_York", "2026-03-08T00:59-05:00", "2026-03-08T04:01-04:00", []row{ // 2:00 -> 3:00
			{"15 2 * * *", []string{"08 03:00 -04:00"}, "skipped"},
			{"15 * * * *", []string{"08 01:15 -05:00", "08 03:15 -04:00"}, "an hour apart"},
		}},
		{"America/New_York", "2026-11-01T00:29-04:00", "2026-11-01T02:31-05:00", []row{ // 2:00 -> 1:00
			{"30 1 * * *", []string{"01 01:30 -04:00"}, "repeated"},
			{"30 * * * *", []string{"01 00:30 -04:00", "01 01:30 -04:00", "01 01:30 -05:00", "01 02:30 -05:00"}, "an hour apart"},
		}},
		{"America/Sao_Paulo", "2018-11-03T22:59-03:00", "2018-11-04T02:01-02:00", []row{ // 0:00 -> 1:00
			{"0 0 * * *", []string{"04 01:00 -02:00"}, "midnight was skipped, the day still has its run"},
			{"0 0 * * SUN", []string{"04 01:00 -02:00"}, "the weekly one too"},
			{"0 0 * * SAT", nil, "a Saturday's midnight was not skipped"},
			{"@hourly", []string{"03 23:00 -03:00", "04 01:00 -02:00", "04 02:00 -02:00"}, "an hour apart"},
		}},
		{"America/Sao_Paulo", "2019-02-16T21:59-02:00", "2019-02-17T00:31-03:00", []row{ // 0:00 -> 23:00
			{"0 0 * * *", []string{"17 00:00 -03:00"}, "midnight came once, an hour late"},
			{"30 23 * * *", []string{"16 23:30 -02:00"}, "half past eleven came twice"},
			{"30 * * * SAT", []string{"16 22:30 -02:00", "16 23:30 -02:00", "16 23:30 -03:00"}, "a Saturday of 25 hours"},
		}},
		{"America/Sao_Paulo", "2019-11-02T23:59-03:00", "2019-11-03T02:01-03:00", []row{ // abolished
			{"0 0 * * *", []string{"03 00:00 -03:00"}, "no change any more"},
			{"30 0,1 * * *", []string{"03 00:30 -03:00", "03 01:30 -03:00"}, "no change any more"},
		}},
		{"Australia/Lord_Howe", "2026-10-04T00:59+10:30", "2026-10-04T03:01+11:00", []row{ // 2:00 -> 2:30
			{"15 2 * * *", []string{"04 02:30 +11:00"}, "skipped"},
			{"45 2 * * *", []string{"04 02:45 +11:00"}, "not skipped"},
			{"15,45 2 * * *", []string{"04 02:30 +11:00", "04 02:45 +11:00"}, "two readings, two runs"},
			{"0 * * * *", []string{"04 01:00 +10:30", "04 02:30 +11:00", "04 03:00 +11:00"}, "2:00 is made up for, an hour after 1:00"},
			{"45 * * * *", []string{"04 01:45 +10:30", "04 02:45 +11:00"}, "nothing was skipped"},
			{"*/30 * * * *", []string{
				"04 01:00 +10:30", "04 01:30 +10:30", "04 02:30 +11:00", "04 03:00 +11:00",
			}, "half an hour apart"},
			{"5/15 * * * *", []string{
				"04 01:05 +10:30", "04 01:20 +10:30", "04 01:35 +10:30", "04 01:50 +10:30", "04 02:35 +11:00", "04 02:50 +11:00",
			}, "fifteen minutes apart"},
		}},
		{"Australia/Lord_Howe", "2026-04-05T00:59+11:00", "2026-04-05T02:46+10:30", []row{ // 2:00 -> 1:30
			{"45 1 * * *", []string{"05 01:45 +11:00"}, "repeated"},
			{"0 2 * * *", []string{"05 02:00 +10:30"}, "came once, after the repetition"},
			{"0 * * * *", []string{"05 01:00 +11:00", "05 02:00 +10:30"}, "nothing is repeated"},
			{"45 * * * *", []string{"05 01:45 +11:00", "05 02:45 +10:30"}, "not twice in half an hour"},
			{"*/20 * * * *", []string{
				"05 01:00 +11:00", "05 01:20 +11:00", "05 01:40 +11:00", "05 01:40 +10:30", "05 02:00 +10:30", "05 02:20 +10:30", "05 02:40 +10:30",
			}, "no run is lost"},
			{"15,45 * * * *", []string{
				"05 01:15 +11:00", "05 01:45 +11:00", "05 01:45 +10:30", "05 02:15 +10:30", "05 02:45 +10:30",
			}, "half an hour apart"},
		}},
		{"Asia/Gaza", "2011-07-31T22:59+03:00", "2011-08-01T00:31+02:00", []row{ // 0:00 -> 23:00, into the month before
			{"50 * * 7 *", []string{"31 23:50 +03:00", "31 23:50 +02:00"}, "a July that is an hour longer"},
			{"50 23 * 7 *", []string{"31 23:50 +03:00"}, "repeated"},
			{"0 0 1 * *", []string{"01 00:00 +02:00"}, "the month begins an hour later"},
		}},
		{"Africa/Casablanca", "2024-03-10T00:59+01:00", "2024-03-10T03:31Z", []row{ // 3:00 -> 2:00 for Ramadan
			{"30 2 * * *", []string{"10 02:30 +01:00"}, "repeated"},
			{"30 3 * * *", []string{"10 03:30 +00:00"}, "after it"},
		}},
		{"Africa/Casablanca", "2024-04-14T00:59Z", "2024-04-14T04:01+01:00", []row{ // 2:00 -> 3:00
			{"30 2 * * *", []string{"14 03:00 +01:00"}, "skipped"},
			{"0 * * * *", []string{"14 01:00 +00:00", "14 03:00 +01:00", "14 04:00 +01:00"}, "an hour apart"},
		}},
		{"Pacific/Apia", "2011-12-29T22:59-10:00", "2011-12-31T02:01+14:00", []row{ // Friday the 30th was skipped
			{"0 12 * * *", []string{"31 00:00 +14:00"}, "Friday's noon runs right after"},
			{"0 0 * * *", []string{"31 00:00 +14:00"}, "Friday's and Saturday's midnight are one instant"},
			{"0 */6 30 * *", []string{"31 00:00 +14:00"}, "four readings, one run"},
			{"0 * * * FRI", []string{"31 00:00 +14:00"}, "a Friday without an hour still has a run"},
			{"30 * * * *", []string{"29 23:30 -10:00", "31 00:30 +14:00", "31 01:30 +14:00"}, "an hour apart"},
		}},
		{"Antarctica/Troll", "2024-03-31T00:29Z", "2024-03-31T04:01+02:00", []row{ // 1:00 -> 3:00
			{"30 1,2 * * *", []string{"31 03:00 +02:00"}, "two hours skipped, one run"},
			{"30 * * * *", []string{"31 00:30 +00:00", "31 03:30 +02:00"}, "an hour apart"},
		}},
		{"Antarctica/Troll", "2024-10-27T00:29+02:00", "2024-10-27T03:31Z", []row{ // 3:00 -> 1:00
			{"30 1,2 * * *", []string{"27 01:30 +02:00", "27 02:30 +02:00"}, "two hours repeated"},
			{"30 * * * *", []string{
				"27 00:30 +02:00", "27 01:30 +02:00", "27 02:30 +02:00", "27 01:30 +00:00", "27 02:30 +00:00", "27 03:30 +00:00",
			}, "an hour apart"},
		}},
		{"Asia/Kolkata", "2026-03-29T01:59+05:30", "2026-03-29T04:01+05:30", []row{
			{"30 2 * * *", []string{"29 02:30 +05:30"}, "no change, an offset with a half hour"},
		}},
		{"Asia/Kathmandu", "2026-03-29T01:59+05:45", "2026-03-29T04:01+05:45", []row{
			{"0 * * * *", []string{"29 02:00 +05:45", "29 03:00 +05:45", "29 04:00 +05:45"}, "full hours on the wall, not of UTC"},
		}},
	} {
		after, until := instantOf(t, change.after), instantOf(t, change.until)
		for _, row := range change.rows {
			s := mustParse(t, row.expression, change.zone)
			var forward []time.Time
			for slot, ok := s.Next(after); ok && !slot.After(until); slot, ok = s.Next(slot) {
				forward = append(forward, slot)
			}
			if diff := cmp.Diff(row.want, readings(s, forward)); diff != "" {
				t.Errorf("%s %s, %q: %s (-want +got):\n%s", change.zone, change.after, row.expression, row.reason, diff)
			}
			for _, slot := range forward {
				next, _ := s.Next(slot.Add(-time.Nanosecond))
				prev, _ := s.Prev(slot)
				if !next.Equal(slot) || !prev.Equal(slot) {
					t.Errorf("%s, %q: right before %v comes %v, at it was %v", change.zone, row.expression, slot, next, prev)
				}
			}
			backward, total := s.Between(after, until, 100)
			if diff := cmp.Diff(row.want, readings(s, backward)); diff != "" || total != len(row.want) {
				t.Errorf("%s %s, %q: Between has %d (-want +got):\n%s", change.zone, change.after, row.expression, total, diff)
			}
		}
	}
}

// The search goes over months in which the clocks are changed to a slot at such a change.
func TestClockChangesFromAfar(t *testing.T) {
	for _, test := range []struct{ zone, expression, want string }{
		{"Europe/Berlin", "30 2 25 10 *", "2026-10-25T02:30+02:00"},
		{"Europe/Berlin", "30 2 29 3 *", "2026-03-29T03:00+02:00"},
		{"America/New_York", "30 1 1 11 *", "2026-11-01T01:30-04:00"},
		{"Australia/Lord_Howe", "45 1 5 4 *", "2026-04-05T01:45+11:00"},
		{"Pacific/Apia", "0 12 30 12 *", "2011-12-31T00:00+14:00"},
	} {
		s, want := mustParse(t, test.expression, test.zone), instantOf(t, test.want)
		for days := 1; days < 360; days++ {
			next, _ := s.Next(want.AddDate(0, 0, -days))
			prev, _ := s.Prev(want.AddDate(0, 0, days))
			if !next.Equal(want) || !prev.Equal(want) {
				t.Fatalf("%q in %s: %d days from %v, the next is %v, the previous %v", test.expression, test.zone, days, want, next, prev)
			}
		}
	}
}

func TestMinuteWithin(t *testing.T) {
	s := mustParse(t, "20,50 * * * *", "")
	for _, test := range []struct {
		reason        string
		reading, span int64
		want          bool
	}{
		{"at once", 20 * minute, minute, true},
		{"just before", 19 * minute, minute, false},
		{"just after", 21 * minute, 29 * minute, false},
		{"over the hour", hour - minute, 22 * minute, true},
		{"any hour has all minutes", 5 * minute, 3 * hour, true},
		{"before 1970", -45 * minute, 10 * minute, true},
		{"before 1970, not in it", -45 * minute, 5 * minute, false},
	} {
		if got := s.pattern.minuteWithin(test.reading, test.span); got != test.want {
			t.Errorf("%s: %v", test.reason, got)
		}
	}
}

// The package assumes that changes are far apart, and says that slots are whole minutes. The bounds of
// time.ZoneBounds do not hold in leap years beyond the table of a zone, which end in 2037 or earlier.
func TestPeriods(t *testing.T) {
	start := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
	end := time.Date(2061, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
	for _, zone := range append([]string{"America/Ciudad_Juarez", "America/Metlakatla", "America/Indiana/Winamac"}, walkedZones...) {
		s := mustParse(t, "* * * * *", zone)
		p, lastChange := s.period(start), int64(0)
		for at := start; at < end; at += 3 * hour {
			if at >= p.end {
				next := s.period(p.end)
				if next.start != p.end || next.end <= next.start {
					t.Fatalf("%s: from %v to %v comes after %v", zone, instant(next.start), instant(next.end), instant(p.end))
				}
				if next.offset != p.offset {
					if next.start-lastChange < day || next.start%minute != 0 {
						t.Errorf("%s: a change at %v, after one at %v", zone, instant(next.start), instant(lastChange))
					}
					lastChange = next.start
				}
				p = next
			}
			if s.offset(at) != p.offset || s.period(at) != p {
				t.Fatalf("%s: the offset at %v is not %d, or the period not from %v to %v",
					zone, instant(at), p.offset, instant(p.start), instant(p.end))
			}
		}
	}
}
