// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics tells how the configuration fares. Make it once per process and hand it to every Watcher, so
// that the counts outlive a restart of the manager.
type Metrics struct {
	valid   prometheus.Gauge
	reloads *prometheus.CounterVec
}

const (
	resultApplied  = "applied"
	resultRejected = "rejected"
)

// NewMetrics makes the metrics and registers them, in the operator with controller-runtime's
// metrics.Registry. It fails when the registry has them already.
//
//   - platform_operator_config_valid: 1 when the configuration that is there now is valid, 0 when it is
//     not and the one read before stays in effect.
//   - platform_operator_config_reloads_total{result}: changed configurations that were `applied` by a
//     restart, or `rejected` as invalid.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		valid: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "platform_operator_config_valid",
			Help: "1 if the present configuration is valid, 0 if it is not and an earlier one stays in effect.",
		}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "platform_operator_config_reloads_total",
			Help: "Changed configurations by result: applied by a restart, or rejected as invalid.",
		}, []string{"result"}),
	}
	for _, c := range []prometheus.Collector{m.valid, m.reloads} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("registering the metrics of the configuration: %w", err)
		}
	}
	// A rate needs to see the step from 0 to 1.
	m.reloads.WithLabelValues(resultApplied)
	m.reloads.WithLabelValues(resultRejected)
	return m, nil
}
