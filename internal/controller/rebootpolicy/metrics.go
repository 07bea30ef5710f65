/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
