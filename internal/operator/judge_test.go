// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

func TestJudge(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) flight { return flight{now.Add(-d), "it is half-way"} }
	idle := verdict{metav1.ConditionTrue, reasonIdle, "nothing critical is in progress"}
	held := func(message string) verdict { return verdict{metav1.ConditionFalse, reasonCritical, message} }
	b, c := flightKey{"AcmeNamespace", "", "b"}, flightKey{"Database", "shop", "c"}
	for _, test := range []struct {
		reason  string
		flights map[flightKey]flight
		want    verdict
		recheck time.Duration
	}{
		{"nothing is in flight", nil, idle, 0},
		{"one object", map[flightKey]flight{b: ago(time.Minute)}, held("AcmeNamespace b: it is half-way"), criticalFor - time.Minute},
		{"an object with a namespace", map[flightKey]flight{c: ago(0)}, held("Database shop/c: it is half-way"), criticalFor},
		{
			"several are named in a fixed order, and the next look is when the first of them counts no more",
			map[flightKey]flight{c: ago(9 * time.Minute), b: ago(time.Minute)},
			held("AcmeNamespace b: it is half-way; and 1 more"), criticalFor - 9*time.Minute,
		},
		{"what is stuck holds up nothing", map[flightKey]flight{b: ago(criticalFor)}, idle, 0},
		{"beside something fresh", map[flightKey]flight{b: ago(time.Hour), c: ago(0)}, held("Database shop/c: it is half-way"), criticalFor},
	} {
		got, recheck := judge(test.flights, now)
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(verdict{})); diff != "" || recheck != test.recheck {
			t.Errorf("%s: looked at again after %s, want %s (-want +got):\n%s", test.reason, recheck, test.recheck, diff)
		}
	}
}

func TestNobodyIsToldOutsideOfOLM(t *testing.T) {
	t.Setenv(conditionVariable, "")
	if condition, err := inClusterCondition(&rest.Config{Host: "https://127.0.0.1:1"}); condition != nil || err != nil {
		t.Errorf("got %v, %v; want nothing to tell", condition, err)
	}
}
