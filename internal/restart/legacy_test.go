// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"maps"
	"slices"
	"testing"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// recorded is what version 0.1.0 recorded of observations.
func recorded(seen ...Observation) *common.RestartStatus {
	s := &common.RestartStatus{KeyID: testKey.ID()}
	for _, o := range seen {
		hash, keys := o.legacy(testKey, common.ObservedSource{Keys: map[string]string{"": ""}})
		if o.OnlyKeys {
			var parts [][]byte
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				parts = append(parts, []byte(k), []byte(keys[k]))
			}
			hash = testKey.root.legacy(parts...)
		}
		s.Observed = append(s.Observed, common.ObservedSource{Source: o.Source, Hash: hash, Keys: keys})
	}
	return s
}

// legacyMark is the mark that version 0.1.0 set for a change of one source.
func legacyMark(o Observation) string {
	return testKey.root.legacy([]byte(o.Source), []byte(o.Hash.old))
}

func TestUpgrade(t *testing.T) {
	a, b, c := inA[0], inB[0], inC[0]
	keysA, keysB := some("Secret/s[keys]", "x", "1", "y", "1"), some("Secret/s[keys]", "x", "2", "y", "1")
	pending := func(s *common.RestartStatus, p common.PendingRestart) *common.RestartStatus {
		s.Pending = &p
		return s
	}
	for _, tc := range []struct {
		reason  string
		was     *common.RestartStatus
		seen    []Observation
		sources []string // that a restart is pending for
		started bool
		mark    string
	}{
		{reason: "nothing has changed", was: recorded(a, keysA), seen: []Observation{a, keysA}},
		{reason: "a source is not seen", was: recorded(a, keysA), seen: []Observation{a}},
		{reason: "content changed meanwhile", was: recorded(a, keysA), seen: []Observation{b, keysA}, sources: []string{"ConfigMap/c: k"}},
		{reason: "a key changed meanwhile", was: recorded(a, keysA), seen: []Observation{a, keysB}, sources: []string{"Secret/s: x"}},
		{
			reason: "a restart waited", was: pending(recorded(a), common.PendingRestart{Mark: legacyMark(b)}), seen: []Observation{b},
			sources: []string{"ConfigMap/c: k"},
		},
		{reason: "a restart waited, and the change is undone", was: pending(recorded(a), common.PendingRestart{Mark: legacyMark(b)}), seen: []Observation{a}},
		{
			reason: "a restart was in progress", was: pending(recorded(a), common.PendingRestart{Mark: legacyMark(b), Started: true}), seen: []Observation{b},
			started: true, mark: legacyMark(b),
		},
		{
			reason: "a restart was in progress, and content changed again", seen: []Observation{c},
			was: pending(recorded(a), common.PendingRestart{Mark: legacyMark(b), Started: true}),
		},
		{
			reason: "a restart replaced another one, for content as it was", seen: []Observation{a},
			was: pending(recorded(a), common.PendingRestart{Mark: "m", Replaces: true}),
		},
		{
			reason: "the same, and its source is not seen", was: pending(recorded(a), common.PendingRestart{Mark: "m", Replaces: true}),
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := tc.was
			wanted := tc.sources != nil || s.Pending != nil && (s.Pending.Started || s.Pending.Replaces)
			adoptLegacy(testKey, s, tc.seen, noon)
			plan(testKey, s, revise(testKey, s, tc.seen, noon), facts{confirmed: true}, noon)
			if (s.Pending != nil) != wanted {
				t.Fatalf("pending: %+v", s.Pending)
			}
			if s.Pending == nil {
				return
			}
			if s.Pending.Number == 0 || s.Pending.Started != tc.started || tc.mark != "" && s.Pending.Mark != tc.mark ||
				tc.sources != nil && !slices.Equal(s.Pending.Sources, tc.sources) {
				t.Errorf("pending %+v", s.Pending)
			}
			begin(s, "", noon)
			settle(s)
			if plan(testKey, s, revise(testKey, s, tc.seen, noon), facts{confirmed: true}, noon); s.Pending != nil {
				t.Errorf("it is done twice: %+v", s.Pending)
			}
		})
	}
}

// An adopted baseline has no keys, and is compared with what was read once and need not be read again.
func TestTakenOver(t *testing.T) {
	for _, same := range []bool{true, false} {
		is := inB[0]
		is.Version = "2"
		was := inA[0].Legacy()
		if same {
			was = is.Legacy()
		}
		s := &common.RestartStatus{KeyID: testKey.ID(), Observed: []common.ObservedSource{was}}
		for range 2 {
			seen := []Observation{is}
			adoptLegacy(testKey, s, seen, noon)
			plan(testKey, s, revise(testKey, s, seen, noon), facts{confirmed: true}, noon)
			if (s.Pending == nil) != same {
				t.Errorf("the same content: %v; pending: %+v", same, s.Pending)
			}
			again, known := Recorded(s, is.Source, "2")
			if known {
				is = again
			}
			if known == same { // a baseline of before has no version
				t.Errorf("the same content: %v; recorded: %v", same, known)
			}
		}
	}
}
