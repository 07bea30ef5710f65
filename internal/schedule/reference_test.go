// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"
)

const robfigsStar = 1 << 63

// reference is what robfig/cron, which CronJobs use, makes of an expression; nil when it does not accept it.
func reference(expression string) *cron.SpecSchedule {
	if strings.Contains(expression, "=") { // the library panics
		return nil
	}
	parsed, err := cron.ParseStandard(expression)
	spec, ok := parsed.(*cron.SpecSchedule)
	if err != nil || !ok {
		return nil
	}
	return spec
}

// compareWithReference holds a schedule against the library's reading of the expression, if it accepts it.
func compareWithReference(t *testing.T, s Schedule, expression string) (compared bool) {
	t.Helper()
	spec := reference(expression)
	if spec == nil {
		return false
	}
	const star = uint64(robfigsStar)
	want := []uint64{spec.Minute &^ star, spec.Hour &^ star, spec.Dom &^ star, spec.Month &^ star, spec.Dow &^ star}
	got := []uint64{s.pattern.minutes, s.pattern.hours, s.pattern.days, s.pattern.months, s.pattern.weekdays}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q is not what robfig/cron says (-want +got):\n%s", expression, diff)
	}
	if either := spec.Dom&star == 0 && spec.Dow&star == 0; either != s.pattern.eitherDay {
		t.Errorf("%q fires on either day: %v, robfig/cron says %v", expression, s.pattern.eitherDay, either)
	}
	return true
}

// TestAgreesWithCronJobs compares ten thousand schedules with the library of CronJobs, and what follows an instant
// anywhere in ten years. Where clocks change the two differ on purpose, so this is UTC.
func TestAgreesWithCronJobs(t *testing.T) {
	random := newGenerator(1)
	compared := 0
	for compared < 10000 {
		text := random.expression().text
		s := mustParse(t, text, "")
		if !compareWithReference(t, s, text) {
			if !strings.Contains(strings.Fields(text)[4], "7") {
				t.Fatalf("%q is not accepted by robfig/cron", text)
			}
			continue
		}
		compared++
		after := time.Date(2020, time.January, 1, 0, 0, random.IntN(10*365*24*3600), 0, time.UTC)
		want := reference(text).Next(after)
		if want.IsZero() { // the library looks five years ahead
			continue
		}
		if got, ok := s.Next(after); !ok || !got.Equal(want) {
			t.Fatalf("%q: after %v comes %v, robfig/cron says %v", text, after, got, want)
		}
	}
}

func TestDayFieldsAsInCronJobs(t *testing.T) {
	for _, text := range []string{
		"0 0 */2 * FRI", "0 0 */1 * FRI", "0 0 */2 * */3", "0 0 * * */2", "0 0 1 * */2", "0 0 1 * */1", "0 0 *,5 * FRI", "0 0 */2,* * FRI", "0 0 1-31 * FRI",
	} {
		if !compareWithReference(t, mustParse(t, text, ""), text) {
			t.Errorf("%q is not accepted by robfig/cron", text)
		}
	}
}
