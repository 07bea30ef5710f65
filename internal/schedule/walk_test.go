// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acme/platform-operator/internal/testenv/limit"
)

var long = flag.Bool("long", false, "compare 200 generated expressions per time zone with the minute walker, not 3")

// walkedZones have, within the ten years that are walked, about every way in which clocks were changed.
var walkedZones = []string{
	"Europe/Berlin", "Europe/London", "Europe/Dublin", "Europe/Moscow", "Europe/Istanbul",
	"America/New_York", "America/Sao_Paulo", "America/Caracas", "America/St_Johns", "America/Havana",
	"Asia/Kolkata", "Asia/Kathmandu", "Asia/Pyongyang", "Asia/Gaza", "Asia/Tehran",
	"Africa/Casablanca", "Africa/Cairo", "Australia/Lord_Howe", "Antarctica/Troll", "Antarctica/Casey",
	"Pacific/Apia", "America/Nuuk", "UTC",
}

// always are compared in every zone, beside what is generated.
var always = []string{
	"0 0 * * *", "30 2 * * *", "15,45 1-3 * * *", "*/15 * * * *", "0 * * * *", "5/20 * * * *", "0 */2 * * *",
	"*/10 * * * FRI", "0 0 */2 * FRI", "0 12 30 12 *", "0 0 29 2 *", "0 0 1,15 * SUN",
	"30 1-3 25-31 10 *", "30 1-3 25-31 3 *",
}

// expression is the oracle's own reading of a cron expression.
type expression struct {
	text                                   string
	minutes, hours, days, months, weekdays [60]bool
	starDay, starWeekday                   bool
}

// generator makes expressions and says at once what they mean, without the parser.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 5))} }

func (g generator) expression() expression {
	var e expression
	texts := make([]string, 5)
	texts[0], _ = g.field(&e.minutes, 0, 59, 59, nil, 0.1)
	texts[1], _ = g.field(&e.hours, 0, 23, 23, nil, 0.4)
	texts[2], e.starDay = g.field(&e.days, 1, 31, 31, nil, 0.5)
	texts[3], _ = g.field(&e.months, 1, 12, 12, fields[3].names, 0.7)
	texts[4], e.starWeekday = g.field(&e.weekdays, 0, 7, 6, fields[4].names, 0.5)
	e.weekdays[0] = e.weekdays[0] || e.weekdays[7]
	e.text = strings.Join(texts, " ")
	return e
}

// field makes a list of one to three elements, or a star with the probability given.
func (g generator) field(set *[60]bool, low, high, last int, names []string, star float64) (string, bool) {
	elements := make([]string, 1+g.IntN(2)*g.IntN(3))
	hasStar := false
	if g.Float64() < star {
		elements = elements[:1]
	}
	for i := range elements {
		from, to, step, text := low, last, 1, "*"
		if kind := g.IntN(4); g.Float64() >= star && kind > 0 {
			from = low + g.IntN(high-low+1)
			to, text = from, g.value(from, low, names)
			if kind > 1 {
				to = from + g.IntN(high-from+1)
				text += "-" + g.value(to, low, names)
			}
		}
		if g.IntN(3) == 0 {
			step = 1 + g.IntN(last-low+1)
			text += fmt.Sprint("/", step)
			if !strings.ContainsAny(text, "*-") {
				to = max(from, last)
			}
		}
		for v := from; v <= to; v += step {
			set[v] = true
		}
		hasStar = hasStar || text == "*" || text == "*/1"
		elements[i] = text
	}
	return strings.Join(elements, ","), hasStar
}

func (g generator) value(v, low int, names []string) string {
	if v-low < len(names) && g.IntN(2) == 0 {
		return names[v-low]
	}
	return fmt.Sprint(v)
}

// read copies the values of a parsed schedule, for expressions that are written by hand.
func read(s Schedule) expression {
	e := expression{text: s.text}
	for i, set := range []*[60]bool{&e.minutes, &e.hours, &e.days, &e.months, &e.weekdays} {
		bits := []uint64{s.pattern.minutes, s.pattern.hours, s.pattern.days, s.pattern.months, s.pattern.weekdays}[i]
		for _, v := range values(bits) {
			set[v] = true
		}
	}
	texts := strings.Fields(s.text)
	e.starDay, e.starWeekday = strings.Contains(texts[2]+",", "*,"), strings.Contains(texts[4]+",", "*,")
	return e
}

// matches looks at a reading, in minutes since 1970 on the wall.
func (e *expression) matches(reading int) bool {
	if !e.minutes[reading%60] || !e.hours[reading/60%24] {
		return false
	}
	date := time.Unix(int64(reading)*60, 0).UTC()
	if !e.months[date.Month()] {
		return false
	}
	if e.starDay || e.starWeekday {
		return e.days[date.Day()] && e.weekdays[date.Weekday()]
	}
	return e.days[date.Day()] || e.weekdays[date.Weekday()]
}

func (e *expression) everyHour() bool {
	for _, in := range e.hours[:24] {
		if !in {
			return false
		}
	}
	return true
}

// walk finds the slots by looking at a clock on the wall once a minute. It knows what the clock shows at each
// minute, and nothing of periods and offsets: that it was changed shows in what it says next.
func walk(readings []int, e *expression) (slots []int) {
	everyHour := e.everyHour()
	furthest, again := readings[0], false
	for i := 1; i < len(readings); i++ {
		now, expected := readings[i], readings[i-1]+1
		if now > expected && missed(readings[i:], expected, e, everyHour) {
			slots = append(slots, i)
			furthest = max(furthest, now)
			continue
		}
		if now < expected { // the clock was set back: would it have been a time to run, had it gone on?
			again = false
			for r := expected; r < expected+expected-now; r++ {
				again = again || everyHour && e.minutes[r%60]
			}
		}
		if (now > furthest || again) && e.matches(now) {
			slots = append(slots, i)
		}
		furthest = max(furthest, now)
	}
	return slots
}

// missed decides whether a run makes up for the readings from expected on, which the clock did not show.
func missed(readings []int, expected int, e *expression, everyHour bool) bool {
	for skipped := expected; skipped < readings[0]; skipped++ {
		if !e.matches(skipped) {
			continue
		}
		for i := 0; everyHour && i <= skipped-expected; i++ {
			if e.matches(readings[i]) {
				return i == 0 // it runs anyway: just now, or by the time it would have
			}
		}
		return true
	}
	return e.matches(readings[0])
}

func TestAgainstMinuteWalker(t *testing.T) {
	for i, zone := range walkedZones {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			expressions := compared(t, i, zone)
			compareAll(t, zone, time.Date(2010, time.January, 10, 0, 0, 0, 0, time.UTC), 10, expressions)
			// A leap year beyond the tables of the zones.
			compareAll(t, zone, time.Date(2040, time.February, 10, 0, 0, 0, 0, time.UTC), 1, expressions)
			t.Logf("%d expressions, each over 10 years and 1 year of minutes", len(expressions))
		})
	}
}

// compared are the expressions for the zone of that number: all that are always compared and some that are generated, or three
// of the former, others in each zone, where LABELS leaves out what is slow.
func compared(t *testing.T, i int, zone string) (all []expression) {
	t.Helper()
	if !limit.Selected(limit.Slow) {
		for n := range 3 {
			all = append(all, read(mustParse(t, always[(i+5*n)%len(always)], zone)))
		}
		return all
	}
	for _, text := range always {
		all = append(all, read(mustParse(t, text, zone)))
	}
	perZone := 3
	if *long {
		perZone = 200
	}
	random := newGenerator(uint64(i))
	for range perZone {
		all = append(all, random.expression())
	}
	return all
}

func compareAll(t *testing.T, zone string, start time.Time, years int, expressions []expression) {
	t.Helper()
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	readings := make([]int, int(start.AddDate(years, 0, 0).Sub(start)/time.Minute))
	for i := range readings {
		at := start.Add(time.Duration(i) * time.Minute)
		_, offset := at.In(location).Zone()
		readings[i] = int(at.Unix()+int64(offset)) / 60
	}
	for i := range expressions {
		compare(t, zone, start, readings, &expressions[i])
	}
}

// compare holds Next, Prev and Between against the walker.
func compare(t *testing.T, zone string, start time.Time, readings []int, e *expression) {
	t.Helper()
	s := mustParse(t, e.text, zone)
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Minute) }
	want := []time.Time{}
	for _, i := range walk(readings, e) {
		want = append(want, at(i))
	}
	previous, end := start, at(len(readings)-1)
	for _, slot := range want {
		next, ok := s.Next(previous)
		if !ok || !next.Equal(slot) {
			t.Fatalf("%q in %s: after %v comes %v, want %v", e.text, zone, previous.In(s.location), next.In(s.location), slot.In(s.location))
		}
		previous = next
	}
	if next, ok := s.Next(previous); ok && !next.After(end) {
		t.Fatalf("%q in %s: after %v comes %v, want none", e.text, zone, previous.In(s.location), next.In(s.location))
	}
	compareBackwards(t, s, start, end, want)
}

func compareBackwards(t *testing.T, s Schedule, start, end time.Time, want []time.Time) {
	t.Helper()
	latest, total := s.Between(start, end, 3000)
	if total != len(want) || !slices.EqualFunc(latest, want[len(want)-min(3000, len(want)):], time.Time.Equal) {
		t.Fatalf("%q in %v: Between counts %d, want %d, or does not give the latest", s, s.location, total, len(want))
	}
	for i := 7; i < len(want); i += 1 + len(want)/500 { // and parts of it, whose ends are anywhere
		from, before := i/3, want[i].Add(-time.Nanosecond)
		if _, n := s.Between(want[from], before, 0); n != i-from-1 {
			t.Fatalf("%q in %v: Between counts %d from %v to %v, want %d", s, s.location, n, want[from], before, i-from-1)
		}
		if prev, _ := s.Prev(before); !prev.Equal(want[i-1]) {
			t.Fatalf("%q in %v: before %v comes %v, want %v", s, s.location, before, prev, want[i-1])
		}
	}
}
