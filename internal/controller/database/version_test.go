// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
)

func TestPace(t *testing.T) {
	for unchanged, want := range map[time.Duration]time.Duration{
		-time.Hour: soon, 0: soon, time.Minute: 6 * time.Second, time.Hour: recheck,
	} {
		if got := paceAfter(unchanged); got != want {
			t.Errorf("after %s it looks after %s, want %s", unchanged, got, want)
		}
	}
}

func TestVersionIsThatOfTheData(t *testing.T) {
	for name, c := range map[string]struct {
		kind                   v1alpha1.Type
		chosen, status, server string
		want, problem          string
	}{
		"nothing is chosen":                   {kind: v1alpha1.Postgres, want: newest[v1alpha1.Postgres]},
		"one is chosen":                       {kind: v1alpha1.MySQL, chosen: "8.0", want: "8.0"},
		"the status has one":                  {kind: v1alpha1.Postgres, status: "16", server: "postgres 15", want: "16"},
		"the data has one":                    {kind: v1alpha1.Postgres, server: "postgres 15", want: "15"},
		"the data has the one that is chosen": {kind: v1alpha1.MySQL, chosen: "8.0", server: "mysql 8.0", want: "8.0"},
		"the data has another one":            {kind: v1alpha1.MySQL, chosen: "8.4", server: "mysql 8.0", problem: "belongs to version 8.0"},
		"the status has another one":          {kind: v1alpha1.Postgres, chosen: "17", status: "16", problem: "belongs to version 16"},
		"the data is of another type":         {kind: v1alpha1.MySQL, server: "postgres 18", problem: "has data of postgres, not of mysql"},
		"the data says something unknown":     {kind: v1alpha1.Postgres, server: "postgres evil:1", want: newest[v1alpha1.Postgres]},
		"the data has a version and no type":  {kind: v1alpha1.Postgres, server: "15", want: newest[v1alpha1.Postgres]},
	} {
		t.Run(name, func(t *testing.T) {
			got, problem := decideVersion(v1alpha1.DatabaseSpec{Type: c.kind, Version: c.chosen}, c.status, c.server)
			if got != c.want || (problem == "") != (c.problem == "") || !strings.Contains(problem, c.problem) {
				t.Errorf("got %q (%s), want %q (%s)", got, problem, c.want, c.problem)
			}
		})
	}
}
