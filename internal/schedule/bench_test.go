// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"
)

var benchmarkTime = time.Date(2026, time.March, 28, 12, 34, 56, 0, time.UTC)

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("H H(1-5) 1,15 JAN-JUN MON-FRI", "Europe/Berlin", "5f2b7c1e-6d0a-4c1b-9a53-1f0d4be7a001"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, bench := range []struct{ name, expression, zone string }{
		{"minute", "* * * * *", "Europe/Berlin"},
		{"day", "30 2 * * *", "Europe/Berlin"},
		{"year", "0 0 1 1 *", "Europe/Berlin"},
		{"leap-day", "0 0 29 2 *", "Europe/Berlin"},
		{"leap-day", "0 0 29 2 *", "Australia/Lord_Howe"},
		{"never", "0 0 30 2 *", "Europe/Berlin"},
	} {
		s := mustParse(b, bench.expression, bench.zone)
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				s.Next(benchmarkTime)
			}
		})
	}
}

func BenchmarkPrev(b *testing.B) {
	s := mustParse(b, "0 0 29 2 *", "Australia/Lord_Howe")
	for b.Loop() {
		s.Prev(benchmarkTime)
	}
}

// Half a year of minutes, as for an object that was suspended so long.
func BenchmarkBetween(b *testing.B) {
	s := mustParse(b, "* * * * *", "Europe/Berlin")
	for b.Loop() {
		s.Between(benchmarkTime.AddDate(0, -6, 0), benchmarkTime, 10)
	}
}

func BenchmarkParseNeverFires(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("0 0 30 2 *", "", ""); err != nil {
			b.Fatal(err)
		}
	}
}
