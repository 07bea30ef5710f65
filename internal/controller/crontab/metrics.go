// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

var (
	startDelay = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "platform_operator_crontab_start_delay_seconds",
		Help:    "Time from the instant at which a run was due, jitter included, until its Job was created.",
		Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600},
	})
	missedRuns = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "platform_operator_crontab_missed_runs_total",
		Help: "Slots for which no run was started because they were too late.",
	})
)

func init() { metrics.Registry.MustRegister(startDelay, missedRuns) }

// activeRuns counts the runs in progress of all CronTabs in the cache when metrics are scraped.
type activeRuns struct {
	desc   *prometheus.Desc
	reader client.Reader
}

// observeActive registers the metric.
func observeActive(reader client.Reader) error {
	return engine.Observe(&activeRuns{
		prometheus.NewDesc("platform_operator_crontab_active_runs", "Runs of CronTabs in progress.", nil, nil), reader,
	})
}

// Describe implements prometheus.Collector.
func (a *activeRuns) Describe(ch chan<- *prometheus.Desc) { ch <- a.desc }

// Collect implements prometheus.Collector. A cache that is not synced within a second counts as empty.
func (a *activeRuns) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	list := &v1alpha1.CronTabList{}
	if err := a.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	n := 0
	for i := range list.Items {
		n += len(list.Items[i].Status.Active)
	}
	ch <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, float64(n))
}
