// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"testing"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// What a template was holds for all that see the content later, unless somebody has seen other content since, or may have.
func TestReadings(t *testing.T) {
	a, b := Hash{old: "A"}, Hash{old: "B"}
	asks := func(name string, h Hash) Request { return Request{Observed: []Observation{{Shared: name, Hash: h}}} }
	for _, tc := range []struct {
		reason string
		play   func(r *Readings, read func(Hash))
		want   string
	}{
		{"nothing has changed since", func(*Readings, func(Hash)) {}, "first"},
		{"it was read once more", func(_ *Readings, read func(Hash)) { read(b) }, "first"},
		{"it changed and changed back", func(_ *Readings, read func(Hash)) { read(a); read(b) }, "later"},
		{"it changed", func(_ *Readings, read func(Hash)) { read(a) }, "later"},
		{"another reading that overlaps finds something else", func(r *Readings, read func(Hash)) {
			began := r.Begin()
			read(a)
			r.End("db", b, began)
		}, "later"},
		{"another source changed", func(r *Readings, _ func(Hash)) { r.End("other", a, r.Begin()) }, "first"},
		{"too many others were read", func(r *Readings, _ func(Hash)) {
			for i := range maxShared {
				r.End(fmt.Sprint(i), a, r.Begin())
			}
		}, "later"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			r := &Readings{}
			r.End("db", a, r.Begin())
			r.End("db", b, r.Begin())
			r.sharing(asks("db", b))([]common.WorkloadTemplate{{UID: "d", Template: "first"}})
			tc.play(r, func(h Hash) { r.End("db", h, r.Begin()) })
			got := []common.WorkloadTemplate{{UID: "d", Template: "later"}}
			r.sharing(asks("db", b))(got)
			if got[0].Template != tc.want {
				t.Errorf("the template is %q", got[0].Template)
			}
		})
	}
}

// Of two readings that overlap, and find something else, nobody knows which was first; nor of one with those that are forgotten.
func TestReadingsThatOverlap(t *testing.T) {
	r := &Readings{}
	found := func() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.of("db").Certain }
	began := r.Begin()
	r.End("db", Hash{old: "A"}, r.Begin())
	r.End("db", Hash{old: "B"}, began)
	if found() {
		t.Error("B was read by a reading that may have been the first one")
	}
	r.End("db", Hash{old: "B"}, r.Begin())
	if !found() {
		t.Error("B was read by one that was not")
	}
	began = r.Begin()
	for i := range maxShared + 1 {
		r.End(fmt.Sprint(i), Hash{}, r.Begin())
	}
	if r.End("db", Hash{old: "C"}, began); found() {
		t.Error("a reading is forgotten that may have been the last one")
	}
}

// A template that proves nothing is superseded by one that does, and what is templated later holds for those after it.
func TestShare(t *testing.T) {
	is := (&reading{}).found("A", 1, 2)
	first := []common.WorkloadTemplate{{UID: "rolling"}, {UID: "d", Template: "1"}}
	is.share(first)
	second := []common.WorkloadTemplate{{UID: "rolling", Template: "2"}, {UID: "d", Template: "2"}, {UID: "new", Template: "2"}}
	is.share(second)
	third := []common.WorkloadTemplate{{UID: "rolling", Template: "3"}, {UID: "d", Template: "3"}, {UID: "new", Template: "3"}}
	is.share(third)
	for i, want := range []string{"2", "1", "2"} {
		if third[i].Template != want {
			t.Errorf("%s has the template %q, want %q", third[i].UID, third[i].Template, want)
		}
	}
}
