// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// values gives the members of a set.
func values(set uint64) []int {
	var all []int
	for ; set != 0; set &= set - 1 {
		all = append(all, bits.TrailingZeros64(set))
	}
	return all
}

func TestFields(t *testing.T) {
	const minuteField, hourField, domField, monthField, dowField = 0, 1, 2, 3, 4
	every := func(from, to, step int) (all []int) {
		for v := from; v <= to; v += step {
			all = append(all, v)
		}
		return all
	}
	for _, test := range []struct {
		reason string
		field  int
		text   string
		want   []int
	}{
		{"a star is every value", minuteField, "*", every(0, 59, 1)},
		{"days begin with 1", domField, "*", every(1, 31, 1)},
		{"months begin with 1", monthField, "*", every(1, 12, 1)},
		{"Sunday is counted once", dowField, "*", every(0, 6, 1)},
		{"one value", minuteField, "7", []int{7}},
		{"leading zeros are decimal", minuteField, "08", []int{8}},
		{"steps count from the first value", minuteField, "*/15", []int{0, 15, 30, 45}},
		{"steps of days count from 1", domField, "*/10", []int{1, 11, 21, 31}},
		{"steps that do not divide the field", hourField, "*/7", []int{0, 7, 14, 21}},
		{"the largest step is the first value", minuteField, "*/60", []int{0}},
		{"a range has both ends", hourField, "9-17", every(9, 17, 1)},
		{"a range with a step", hourField, "9-17/4", []int{9, 13, 17}},
		{"a step beyond its range leaves the start", minuteField, "10-12/5", []int{10}},
		{"a value with a step goes to the last", minuteField, "40/7", []int{40, 47, 54}},
		{"a list is a union", minuteField, "50,1-3,2,*/30", []int{0, 1, 2, 3, 30, 50}},
		{"names of months", monthField, "jan,Feb-APR,DEC", []int{1, 2, 3, 4, 12}},
		{"names of days", dowField, "mon-Fri", []int{1, 2, 3, 4, 5}},
		{"names and numbers mix", dowField, "SUN-2", []int{0, 1, 2}},
		{"names with a step", monthField, "FEB-NOV/3", []int{2, 5, 8, 11}},
		{"7 is Sunday", dowField, "7", []int{0}},
		{"7 ends a range", dowField, "5-7", []int{0, 5, 6}},
		{"all of them, Sunday twice", dowField, "0-7", every(0, 6, 1)},
		{"steps up to 7", dowField, "1-7/2", []int{0, 1, 3, 5}},
		{"a day with a step goes to Saturday", dowField, "1/2", []int{1, 3, 5}},
		{"7 with a step has nowhere to go", dowField, "7/2", []int{0}},
		{"the seed document", dowField, "*/5", []int{0, 5}},
	} {
		texts := []string{"*", "*", "*", "*", "*"}
		texts[test.field] = test.text
		s, err := Parse(strings.Join(texts, " "), "", "")
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
			continue
		}
		got := []uint64{s.pattern.minutes, s.pattern.hours, s.pattern.days, s.pattern.months, s.pattern.weekdays}
		if diff := cmp.Diff(test.want, values(got[test.field])); diff != "" {
			t.Errorf("%s: %s %q (-want +got):\n%s", test.reason, fields[test.field].name, test.text, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ reason, expression, want string }{
		{"empty", "", `it is empty: want five fields, "minute hour day-of-month month day-of-week"`},
		{"blanks only", " \t\n", "it is empty"},
		{"six fields", "* * * * * *", "it has 6 fields: want five fields"},
		{"four fields", "0 0 * *", "it has 4 fields: want five fields"},
		{"one word", "nonsense", "it has 1 fields: want five fields"},
		{"five words", "this is no schedule really", `minute "THIS": "THIS" is wrong: want 0-59`},
		{"minute 60", "60 * * * *", `minute "60": 60 is out of range 0-59; write 0 for the full hour`},
		{"hour 24", "0 24 * * *", `hour "24": 24 is out of range 0-23; write 0 for midnight`},
		{"day 0", "0 0 0 * *", `day of month "0": 0 is out of range 1-31; write 1 for the first day`},
		{"day 32", "0 0 32 * *", `day of month "32": 32 is out of range 1-31;`},
		{"month 13", "0 0 1 13 *", `month "13": 13 is out of range 1-12 or JAN-DEC; write 1 or JAN for January`},
		{"weekday 8", "0 0 * * 8", `day of week "8": 8 is out of range 0-7 or SUN-SAT; write 0, 7 or SUN for Sunday`},
		{"a month's full name", "0 0 1 january *", `month "JANUARY": "JANUARY" is wrong; write JAN`},
		{"a day's name for a month", "0 0 1 MON *", `"MON" is wrong: want 1-12 or JAN-DEC`},
		{"a name where there are none", "MON * * * *", `"MON" is wrong: want 0-59`},
		{"a range beyond the field", "50-70 * * * *", `70 is out of range 0-59`},
		{"hours backwards", "0 22-2 * * *", `hour "22-2": range 22-2 runs backwards: write "22-23,0-2"`},
		{"days backwards", "0 0 * * FRI-SUN", `range FRI-SUN runs backwards: write "5-6,0"`},
		{"from the second Sunday", "0 0 * * 7-2", `range 7-2 runs backwards: write "7,0-2"`},
		{"an open range", "5- * * * *", `"" is wrong: want 0-59`},
		{"a negative number", "-5 * * * *", `"" is wrong: want 0-59`},
		{"two hyphens", "1-2-3 * * * *", `"2-3" is wrong: want 0-59`},
		{"a star in a range", "*-5 * * * *", `"*" is wrong: want 0-59`},
		{"a sign", "+5 * * * *", `"+5" is wrong: want 0-59`},
		{"a fraction", "1.5 * * * *", `"1.5" is wrong: want 0-59`},
		{"a number beyond any", "99999999999999999999 * * * *", `is out of range 0-59`},
		{"step 0", "*/0 * * * *", `minute "*/0": step: "0" is wrong: want 1-60`},
		{"no step", "*/ * * * *", `step: "" is wrong: want 1-60`},
		{"two steps", "*/2/3 * * * *", `step: "2/3" is wrong: want 1-60`},
		{"a step that does not fit", "*/90 * * * *", `step: "90" is wrong: want 1-60`},
		{"a step that does not fit the week", "0 0 * * */8", `step: "8" is wrong: want 1-7`},
		{"an empty element", "1,,2 * * * *", `minute "1,,2": an element is empty: want 0-59`},
		{"a comma alone", ", * * * *", "an element is empty"},
		{"a step of nothing", "/5 * * * *", "an element is empty"},
		{"a question mark", "0 0 ? * *", `day of month "?": "?" is not supported; write *`},
		{"the last day", "0 0 L * *", `day of month "L": "L" is not supported: there is no L, W or #; write 1-31, and let the command check the date`},
		{"the last Friday", "0 0 * * FRIL", `day of week "FRIL": "FRIL" is not supported`},
		{"the nearest weekday", "0 0 15W * *", `day of month "15W": "15W" is not supported`},
		{"a day's full name", "0 0 * * MONDAY", `day of week "MONDAY": "MONDAY" is wrong; write MON`},
		{"the second Monday", "0 0 * * MON#2", `"MON#2" is not supported: there is no L, W or #; write 0-7 or SUN-SAT`},
		{"H with a number", "H5 * * * *", `"H5" is wrong: want 0-59`},
		{"H not closed", "H(0-29 * * * *", "want H, H/15, H(0-29) or H(0-29)/10"},
		{"H of one value", "H(5) * * * *", "want H, H/15, H(0-29) or H(0-29)/10"},
		{"H of nothing", "H() * * * *", "want H, H/15, H(0-29) or H(0-29)/10"},
		{"H beyond the field", "H(0-60) * * * *", `60 is out of range 0-59`},
		{"H backwards", "H(29-0) * * * *", `range 29-0 runs backwards: write "29-59,0"`},
		{"a step beyond the range of H", "H(0-29)/31 * * * *", `step: "31" is wrong: want 1-30`},
		{"a step beyond H", "0 0 H/29 * *", `step: "29" is wrong: want 1-28`},
		{"H in a range", "H-5 * * * *", `"H" is wrong: want 0-59`},
		{"@every", "@every 5m", "there is no such macro: want @hourly, @daily, @midnight, @weekly, @monthly, @yearly or @annually"},
		{"@reboot", "@reboot", "there is no such macro"},
		{"a macro with more", "@daily 5", "there is no such macro"},
		{"a zone in the expression", "CRON_TZ=Europe/Berlin 0 0 * * *", "the time zone is not part of the expression"},
		{"a zone and nothing else", "TZ=", "the time zone is not part of the expression"},
		{"too long", strings.Repeat("1,", 500) + "1 * * * *", "it has 1009 characters, more than 1000"},
	} {
		_, err := Parse(test.expression, "", "seed")
		if err == nil {
			t.Errorf("%s: %q is accepted", test.reason, test.expression)
			continue
		}
		if !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "parsing schedule ") {
			t.Errorf("%s: error is\n\t%v\nand has no\n\t%s", test.reason, err, test.want)
		}
	}
}

func TestTimeZones(t *testing.T) {
	for _, test := range []struct{ zone, want string }{
		{"", "UTC"},
		{"UTC", "UTC"},
		{"Europe/Berlin", "Europe/Berlin"},
		{"America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"},
		{"Etc/GMT+5", "Etc/GMT+5"},
	} {
		s, err := Parse("0 0 * * *", test.zone, "")
		if err != nil || s.location.String() != test.want {
			t.Errorf("time zone %q: %v, %v", test.zone, s.location, err)
		}
	}
	for _, zone := range []string{
		"Local", "local", "localtime", "Mars/Olympus", "Europe/Berlin ", "+02:00", "CEST", "../etc/passwd",
		"/etc/localtime", "Europe", "posix/Europe/Berlin", "right/Europe/Berlin",
		"+2", "-02:00", "UTC+2", "GMT-05:30",
	} {
		_, err := Parse("0 0 * * *", zone, "")
		if err == nil {
			t.Errorf("time zone %q is accepted", zone)
			continue
		}
		if !strings.Contains(err.Error(), fmt.Sprintf("time zone %q", zone)) || !strings.Contains(err.Error(), "Europe/Berlin") {
			t.Errorf("error does not name time zone %q and what would be right: %v", zone, err)
		}
	}
}

func TestAnOffsetIsNoTimeZone(t *testing.T) {
	for zone, want := range map[string]string{"+02:00": `"Etc/GMT-2"`, "-0500": `"Etc/GMT+5"`, "utc+10": `"Etc/GMT-10"`} {
		if _, err := Parse("0 0 * * *", zone, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not name %s", zone, err, want)
		}
	}
}

func TestMacrosAndString(t *testing.T) {
	for _, test := range []struct{ expression, want string }{
		{"@hourly", "0 * * * *"},
		{"@daily", "0 0 * * *"},
		{"@Midnight", "0 0 * * *"},
		{" @weekly ", "0 0 * * 0"},
		{"@monthly", "0 0 1 * *"},
		{"@yearly", "0 0 1 1 *"},
		{"@annually", "0 0 1 1 *"},
		{"  */5\t8-17 1,15 jan-mar mon ", "*/5 8-17 1,15 JAN-MAR MON"},
	} {
		s, err := Parse(test.expression, "", "")
		if err != nil || s.String() != test.want {
			t.Errorf("%q is %q, want %q (%v)", test.expression, s, test.want, err)
		}
	}
}

// The values that H stands for must never change: they would move the runs of every object.
func TestHashIsStable(t *testing.T) {
	const seed = "5f2b7c1e-6d0a-4c1b-9a53-1f0d4be7a001"
	for _, test := range []struct{ expression, want string }{
		{"H H H H H", "34 4 18 1 5"},
		{"H/15 H/6 H/7 H/3 H/2", "4-59/15 4-23/6 4-28/7 1-12/3 0-6/2"},
		{"H(0-29) H(9-17) H(1-7) H(6-8) H(1-5)", "4 10 4 6 1"},
		{"H(0-29)/10 H(0-11)/4 * * *", "4-29/10 0-11/4 * * *"},
		{"h,30 0 * * *", "34,30 0 * * *"},
		{"H(5-5) H(1-3)/3 * * *", "5 2-3/3 * * *"},
	} {
		s, err := Parse(test.expression, "", seed)
		if err != nil || s.String() != test.want {
			t.Errorf("%q is %q, want %q (%v)", test.expression, s, test.want, err)
		}
	}
}

func TestHashSpreads(t *testing.T) {
	minutes, hours, days, pairs := map[int]int{}, map[int]int{}, map[int]int{}, map[string]int{}
	for i := range 1000 {
		s, err := Parse("H H H * *", "", fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
		if err != nil {
			t.Fatal(err)
		}
		minutes[values(s.pattern.minutes)[0]]++
		hours[values(s.pattern.hours)[0]]++
		days[values(s.pattern.days)[0]]++
		pairs[fmt.Sprint(values(s.pattern.minutes), values(s.pattern.hours))]++
	}
	if len(minutes) != 60 || len(hours) != 24 || len(days) != 28 {
		t.Errorf("1000 seeds use %d of 60 minutes, %d of 24 hours, %d of 28 days", len(minutes), len(hours), len(days))
	}
	if len(pairs) < 650 { // 719 of 1440 are expected of independent choices, 60 of one choice for both fields
		t.Errorf("1000 seeds give %d pairs of minute and hour", len(pairs))
	}
	for m, n := range minutes {
		if n > 60 {
			t.Errorf("%d of 1000 hourly schedules fire in minute %d", n, m)
		}
	}
}

func TestHashWithStepReachesEveryValue(t *testing.T) {
	seen := map[int]bool{}
	for i := range 500 {
		s, err := Parse("H(10-39)/10 * * * *", "", fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		got := values(s.pattern.minutes)
		if len(got) != 3 || got[0] < 10 || got[2] > 39 || got[1]-got[0] != 10 || got[2]-got[1] != 10 {
			t.Fatalf("seed %d gives %v", i, got)
		}
		seen[got[0]] = true
	}
	if len(seen) != 10 {
		t.Errorf("500 seeds choose %d of 10 starts", len(seen))
	}
}

func TestJitter(t *testing.T) {
	seen := map[time.Duration]bool{}
	for i := range 500 {
		seed := fmt.Sprint(i)
		d := Jitter(seed, 30*time.Second)
		if d < 0 || d >= 30*time.Second || d%time.Second != 0 || d != Jitter(seed, 30*time.Second) {
			t.Fatalf("seed %d gives %v", i, d)
		}
		seen[d] = true
	}
	if len(seen) != 30 {
		t.Errorf("500 seeds choose %d of 30 seconds", len(seen))
	}
	for _, limit := range []time.Duration{-time.Hour, 0, 999 * time.Millisecond} {
		if d := Jitter("seed", limit); d != 0 {
			t.Errorf("jitter below %v is %v", limit, d)
		}
	}
}
