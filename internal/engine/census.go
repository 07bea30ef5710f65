// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// States of which the census tells how long an object has been in them; alerts are about those that last.
const (
	stateNotReady = "NotReady"
	stateStalled  = "Stalled"
	stateDeleting = "Deleting"
)

// census counts the objects of one kind in the cache when metrics are scraped. Its series are as many for one object as for
// thousands.
type census struct {
	objects *prometheus.Desc
	age     *prometheus.Desc
	clock   clock.PassiveClock
	reader  client.Reader
	newList func() client.ObjectList
}

// observe registers the census of a kind. It replaces that of an earlier manager in the same process.
func observe(mgr ctrl.Manager, prototype Object, name string, c clock.PassiveClock) error {
	newList, err := ListOf(mgr.GetScheme(), prototype)
	if err != nil {
		return err
	}
	kind := prometheus.Labels{"kind": name}
	return Observe(&census{
		objects: prometheus.NewDesc("platform_operator_objects",
			"Objects, by kind and by the status of their condition Ready.", []string{"ready"}, kind),
		age: prometheus.NewDesc("platform_operator_object_state_age_seconds",
			"For how long the object that has been in a state for longest is in it; 0 when none is. NotReady leaves out objects that are "+
				"paused or are being deleted.", []string{"state"}, kind),
		clock: c, reader: mgr.GetCache(), newList: newList,
	})
}

// Describe implements prometheus.Collector.
func (c *census) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.objects
	ch <- c.age
}

// Collect implements prometheus.Collector. A cache that is not synced within a second counts as empty.
func (c *census) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	list := c.newList()
	if err := c.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	count := map[string]int{"True": 0, "False": 0, "Unknown": 0}
	oldest := map[string]time.Duration{stateNotReady: 0, stateStalled: 0, stateDeleting: 0}
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		o := item.(Object)
		ready := metav1.ConditionUnknown
		if c := meta.FindStatusCondition(o.CommonStatus().Conditions, Ready); c != nil {
			ready = c.Status
		}
		count[string(ready)]++
		for state, since := range states(o, ready) {
			oldest[state] = max(oldest[state], c.clock.Since(since))
		}
		return nil
	})
	for ready, n := range count {
		ch <- prometheus.MustNewConstMetric(c.objects, prometheus.GaugeValue, float64(n), ready)
	}
	for state, age := range oldest {
		ch <- prometheus.MustNewConstMetric(c.age, prometheus.GaugeValue, age.Seconds(), state)
	}
}

// states tells since when an object has been in each of the states that it is in.
func states(o Object, ready metav1.ConditionStatus) map[string]time.Time {
	conditions := o.CommonStatus().Conditions
	in := map[string]time.Time{}
	if at := o.GetDeletionTimestamp(); at != nil {
		in[stateDeleting] = at.Time
	}
	if c := meta.FindStatusCondition(conditions, Stalled); c != nil {
		in[stateStalled] = c.LastTransitionTime.Time
	}
	if ready == metav1.ConditionTrue || o.GetDeletionTimestamp() != nil || meta.IsStatusConditionTrue(conditions, Paused) {
		return in
	}
	in[stateNotReady] = o.GetCreationTimestamp().Time
	if c := meta.FindStatusCondition(conditions, Ready); c != nil {
		in[stateNotReady] = c.LastTransitionTime.Time
	}
	return in
}
