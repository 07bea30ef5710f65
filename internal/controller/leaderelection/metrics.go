// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

var (
	handOvers = engine.NewCounter("platform_operator_leaderelection_hand_overs_total",
		"Changes of the leader, by reason; Other where the record of the reason is lost or forged.", engine.Label{Name: "reason", Values: reasons})
	withoutLeader = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "platform_operator_leaderelection_seconds_without_leader",
		Help:    "Time from the decision to hand over until another pod was the leader.",
		Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600},
	})
)

func init() { metrics.Registry.MustRegister(withoutLeader) }

// candidates counts the candidates of all LeaderElections in the cache when metrics are scraped.
type candidates struct {
	desc   *prometheus.Desc
	reader client.Reader
}

// observeCandidates registers the metric.
func observeCandidates(reader client.Reader) error {
	return engine.Observe(&candidates{
		prometheus.NewDesc("platform_operator_leaderelection_candidates", "Candidates of LeaderElections, by whether they are Ready.",
			[]string{"ready"}, nil), reader,
	})
}

// Describe implements prometheus.Collector.
func (c *candidates) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector. A cache that is not synced within a second counts as empty.
func (c *candidates) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	list := &v1alpha1.LeaderElectionList{}
	if err := c.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	all, ready := 0, 0
	for i := range list.Items {
		all += int(list.Items[i].Status.Candidates)
		ready += int(list.Items[i].Status.ReadyCandidates)
	}
	ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(ready), "true")
	ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(all-ready), "false")
}
