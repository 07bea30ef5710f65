// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
)

// listing is a client that lists SchedulerProfiles.
type listing struct {
	client.Client
	all []v1alpha1.SchedulerProfile
}

// List implements client.Reader.
func (l listing) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.SchedulerProfileList).Items = l.all
	return nil
}

// TestSeries: the label has names of SchedulerProfiles alone, which have their series however many other names pods have.
func TestSeries(t *testing.T) {
	down := *named("down", serving("down", "also-down"))
	w := newWaiting()
	add := func(name, scheduler string, with ...func(*corev1.Pod)) {
		_ = w.Add(foreign(name, scheduler, time.Hour, with...)) // it never fails
	}
	add("waits", "down")
	add("looked at", "also-down", scheduled(corev1.ConditionFalse))
	for i := range 60 {
		add(fmt.Sprint("junk-", i, "-a"), fmt.Sprint("junk-", i))
		add(fmt.Sprint("junk-", i, "-b"), fmt.Sprint("junk-", i))
	}
	add("forged", "(others)")
	u := &unserved{client: listing{all: []v1alpha1.SchedulerProfile{down}}, waiting: w, clock: clocktesting.NewFakePassiveClock(noon)}
	ch := make(chan prometheus.Metric, 100)
	u.Collect(ch)
	close(ch)
	got := map[string]float64{}
	for m := range ch {
		out := &dto.Metric{}
		if err := m.Write(out); err != nil {
			t.Fatal(err)
		}
		got[out.GetLabel()[0].GetValue()] += out.GetGauge().GetValue()
	}
	if diff := cmp.Diff(map[string]float64{"down": 1, "(others)": 121}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
