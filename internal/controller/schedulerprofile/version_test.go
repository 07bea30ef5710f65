// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// TestVersion: the oldest API server of the last minutes counts, and one that does not answer changes nothing.
func TestVersion(t *testing.T) {
	fake := testingclock.NewFakePassiveClock(time.Date(2027, time.March, 1, 12, 0, 0, 0, time.UTC))
	answer, asked := 0, 0
	c := &cluster{clock: fake, ask: func(context.Context) (string, string, error) {
		asked++
		if answer == 0 {
			return "", "", errors.New("no API server answers")
		}
		return "1", strconv.Itoa(answer) + "+", nil
	}}
	if _, err := c.version(t.Context()); err == nil {
		t.Fatal("there is a version that no API server has given")
	}
	asked = 0
	for _, at := range []struct {
		what                string
		after               time.Duration
		answer, want, asked int
	}{
		{"the first answer counts", 0, 36, 36, 1},
		{"it counts for a minute", versionAsked - time.Second, 37, 36, 1},
		{"one of the API servers is upgraded", time.Second, 37, 36, 2},
		{"another one is not yet", versionKept - time.Second, 36, 36, 3},
		{"all are", versionAsked, 37, 36, 4},
		{"for long enough", versionKept - versionAsked, 37, 37, 5},
		{"none answers", versionKept, 0, 37, 6},
		{"none answers for long", time.Hour, 0, 37, 7},
		{"an older one counts at once", versionAsked, 35, 35, 8},
		{"although others are newer", versionAsked, 37, 35, 9},
		{"a version is left out", 2 * versionKept, 38, 38, 10},
	} {
		fake.SetTime(fake.Now().Add(at.after))
		answer = at.answer
		if got, err := c.version(t.Context()); got != at.want || err != nil || asked != at.asked {
			t.Errorf("%s: 1.%d after %d questions (%v), want 1.%d after %d", at.what, got, asked, err, at.want, at.asked)
		}
	}
}

// TestReadVersion: an API server that emulates an older version counts as one of that version.
func TestReadVersion(t *testing.T) {
	for text, want := range map[string]string{
		`{"major":"1","minor":"31+"}`:                                           "1.31+",
		`{"major":"1","minor":"36","emulationMajor":"1","emulationMinor":"36"}`: "1.36",
		`{"major":"1","minor":"36","emulationMajor":"1","emulationMinor":"35"}`: "1.35",
	} {
		if major, minor, err := readVersion([]byte(text)); major+"."+minor != want || err != nil {
			t.Errorf("%s is %s.%s (%v), want %s", text, major, minor, err, want)
		}
	}
	if _, _, err := readVersion([]byte("1.36")); err == nil {
		t.Error("something else than a version was read")
	}
}
