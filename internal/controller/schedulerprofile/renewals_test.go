// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestRenewals: the clock of a scheduler's node may be slow or fast. What counts is when the operator saw its Lease change.
func TestRenewals(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(noon)
	n := &renewals{clock: clock}
	lease := func(uid string, renewed time.Time) *coordinationv1.Lease {
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}
		if !renewed.IsZero() {
			l.Spec.RenewTime = &metav1.MicroTime{Time: renewed}
		}
		return l
	}
	slow, fast := -time.Hour, time.Hour
	for _, step := range []struct {
		what          string
		after         time.Duration // since noon
		uid           string
		renewed, want time.Time
	}{
		{"right, first", 0, "a", noon.Add(-2 * time.Second), noon.Add(-2 * time.Second)},
		{"slow, first", 0, "s", noon.Add(slow), noon.Add(slow)},
		{"fast, first", 0, "f", noon.Add(fast), noon},
		{"slow, the same", time.Second, "s", noon.Add(slow), noon.Add(slow)},
		{"slow, renewed", 3 * time.Second, "s", noon.Add(slow + 2*time.Second), noon.Add(3 * time.Second)},
		{"slow, then dead", time.Minute, "s", noon.Add(slow + 2*time.Second), noon.Add(3 * time.Second)},
		{"fast, dead", time.Minute, "f", noon.Add(fast), noon},
		{"another one under the name", time.Minute, "s2", noon.Add(slow), noon.Add(slow)},
		{"none", time.Minute, "", time.Time{}, time.Time{}},
		{"never renewed", time.Minute, "n", time.Time{}, time.Time{}},
		{"fast, dead for long", 10 * time.Minute, "f", noon.Add(fast), noon},
		{"fast, dead for longer", 20 * time.Minute, "f", noon.Add(fast), noon},
	} {
		clock.SetTime(noon.Add(step.after))
		if got := n.of(lease(step.uid, step.renewed)); !got.Equal(step.want) {
			t.Errorf("%s: %s; want %s", step.what, got, step.want)
		}
	}
	if len(n.seen) != 1 {
		t.Errorf("it remembers %d Leases; want the one that it has looked at", len(n.seen))
	}
}
