// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

func TestAgeOfTheOldest(t *testing.T) {
	for _, tc := range []struct {
		reason string
		all    []*common.PendingRestart
		want   float64
	}{
		{reason: "nothing is pending", all: []*common.PendingRestart{nil}},
		{"the oldest counts", []*common.PendingRestart{pendingSince(-time.Minute, 0), nil, pendingSince(-time.Hour, 0)}, 3600},
		{reason: "none is younger than nothing", all: []*common.PendingRestart{pendingSince(time.Hour, 0)}},
	} {
		a := &age{prometheus.NewDesc("age", "", nil, nil), clocktesting.NewFakePassiveClock(noon), func(context.Context) ([]*common.PendingRestart, error) {
			return tc.all, nil
		}}
		if got := testutil.ToFloat64(a); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
		}
	}
	late := &age{prometheus.NewDesc("age", "", nil, nil), clocktesting.NewFakePassiveClock(noon), func(context.Context) ([]*common.PendingRestart, error) {
		return nil, errors.New("not synced")
	}}
	if n := testutil.CollectAndCount(late); n != 0 {
		t.Errorf("a cache that is not synced tells %d values", n)
	}
}

func TestAlertsSeeTheFirstRestartThatIsRefused(t *testing.T) {
	none := func(context.Context) ([]*common.PendingRestart, error) { return nil, nil }
	before := testutil.CollectAndCount(suppressed)
	if err := observePending("kindOfThisTest", clocktesting.NewFakePassiveClock(noon), none); err != nil {
		t.Fatal(err)
	}
	if n := testutil.CollectAndCount(suppressed) - before; n != 2 {
		t.Errorf("%d series are there before a restart, want those of Suspended and Refused", n)
	}
}
