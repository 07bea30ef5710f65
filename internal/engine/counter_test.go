// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// TestLabelsAreListed: whatever a counter is given, its series are those of the listed values and one more for each label.
func TestLabelsAreListed(t *testing.T) {
	c := NewCounter("test_total", "", Label{"reason", []string{"A", "B"}}, Label{"type", []string{"x"}})
	defer metrics.Registry.Unregister(c.vec)
	for i := range 100 {
		c.Inc(fmt.Sprint("forged-", i), "x")
		c.Inc("A", fmt.Sprint("forged-", i))
	}
	c.Inc("A", "x")
	if n := testutil.CollectAndCount(c.vec); n != 3 {
		t.Errorf("%d series", n)
	}
	for labels, want := range map[[2]string]float64{{"A", "x"}: 1, {"A", OtherLabel}: 100, {OtherLabel, "x"}: 100} {
		if got := testutil.ToFloat64(c.vec.WithLabelValues(labels[:]...)); got != want {
			t.Errorf("%v: %v, want %v", labels, got, want)
		}
	}
}
