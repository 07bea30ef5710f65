// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/acme/platform-operator/internal/external/sqldb"
)

var (
	polls = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "platform_operator_database_polls_total",
		Help: "Readings of values for RebootPolicies, by the type of database and what came of them: Value, or why there was none.",
	}, []string{"type", "result"})
	pollTime = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "platform_operator_database_poll_seconds",
		Help:    "Time that one reading took, including the wait for a connection.",
		Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30},
	}, []string{"type"})
)

func init() { metrics.Registry.MustRegister(polls, pollTime) }

func count(t sqldb.Type, a answer, took time.Duration) {
	result := "Value"
	if a.failed() {
		result = string(a.fault.Reason)
	}
	polls.WithLabelValues(string(t), result).Inc()
	pollTime.WithLabelValues(string(t)).Observe(took.Seconds())
}
