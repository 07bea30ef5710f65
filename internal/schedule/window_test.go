// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"
	"time"
)

func TestWindow(t *testing.T) {
	for _, test := range []struct {
		reason, expression string
		duration           time.Duration
		zone, at           string
		until, next        string // empty: closed, never
	}{
		{"before it opens", "0 2 * * *", time.Hour, "", "2026-05-01T01:59Z", "", "2026-05-01T02:00Z"},
		{"as it opens", "0 2 * * *", time.Hour, "", "2026-05-01T02:00Z", "2026-05-01T03:00Z", "2026-05-01T02:00Z"},
		{"its last minute", "0 2 * * *", time.Hour, "", "2026-05-01T02:59Z", "2026-05-01T03:00Z", "2026-05-01T02:59Z"},
		{"as it closes", "0 2 * * *", time.Hour, "", "2026-05-01T03:00Z", "", "2026-05-02T02:00Z"},
		{"over midnight", "0 22 * * FRI", 12 * time.Hour, "", "2026-05-02T05:00Z", "2026-05-02T10:00Z", "2026-05-02T05:00Z"},
		{"in its time zone", "0 2 * * *", time.Hour, "Asia/Kolkata", "2026-05-01T20:45Z", "2026-05-01T21:30Z", "2026-05-01T20:45Z"},
		{"overlapping: the latest opening counts", "0 * * * *", 90 * time.Minute, "", "2026-05-01T02:10Z", "2026-05-01T03:30Z", "2026-05-01T02:10Z"},
		{"overlapping: open again at its end", "0 * * * *", 90 * time.Minute, "", "2026-05-01T03:30Z", "2026-05-01T04:30Z", "2026-05-01T03:30Z"},
		{"adjoining: always open", "0 * * * *", time.Hour, "", "2026-05-01T03:00Z", "2026-05-01T04:00Z", "2026-05-01T03:00Z"},
		{"a skipped opening opens right after", "30 2 * * *", time.Hour, "Europe/Berlin", "2026-03-29T01:30Z", "2026-03-29T02:00Z", "2026-03-29T01:30Z"},
		{"an hour is an hour while clocks change", "0 1 * * *", 2 * time.Hour, "Europe/Berlin", "2026-03-29T01:59Z", "2026-03-29T02:00Z", "2026-03-29T01:59Z"},
		{"a repeated opening opens once", "30 2 * * *", 30 * time.Minute, "Europe/Berlin", "2026-10-25T01:40Z", "", "2026-10-26T01:30Z"},
		{"never", "0 0 30 2 *", time.Hour, "", "2026-05-01T03:00Z", "", ""},
	} {
		w, err := ParseWindow(test.expression, test.duration, test.zone, "")
		if err != nil {
			t.Fatal(err)
		}
		show := func(at time.Time, ok bool) string {
			if !ok {
				return ""
			}
			return at.UTC().Format("2006-01-02T15:04Z07:00")
		}
		at := instantOf(t, test.at)
		open, until := w.Open(at)
		if got := show(until, open); got != test.until {
			t.Errorf("%s: open until %q, want %q", test.reason, got, test.until)
		}
		if got := show(w.NextOpen(at)); got != test.next {
			t.Errorf("%s: opens at %q, want %q", test.reason, got, test.next)
		}
		if w.NeverOpens() != (test.next == "") {
			t.Errorf("%s: NeverOpens is %v", test.reason, w.NeverOpens())
		}
	}
	var zero Window
	if open, _ := zero.Open(time.Unix(0, 0)); open || !zero.NeverOpens() {
		t.Error("the zero window opens")
	}
}

func TestParseWindowRefuses(t *testing.T) {
	for _, test := range []struct {
		reason, expression string
		duration           time.Duration
		zone, want         string
	}{
		{"no duration", "0 2 * * *", 0, "", `window "0 2 * * *": duration 0s is too short: want at least 1m`},
		{"a negative one", "0 2 * * *", -time.Hour, "", "duration -1h0m0s is too short"},
		{"less than a minute", "0 2 * * *", 59 * time.Second, "", "duration 59s is too short"},
		{"nonsense", "0 25 * * *", time.Hour, "", `hour "25"`},
		{"an unknown zone", "0 2 * * *", time.Hour, "Mars/Olympus", `time zone "Mars/Olympus"`},
	} {
		if _, err := ParseWindow(test.expression, test.duration, test.zone, ""); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v has no %s", test.reason, err, test.want)
		}
	}
}
