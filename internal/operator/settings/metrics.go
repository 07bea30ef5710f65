// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics shows the state of the configuration. Create it once per process and pass it to every Watcher, so
// that the counts outlive a restart of the manager.
type Metrics struct {
	valid   prometheus.Gauge
	reloads *prometheus.CounterVec
}

const (
	resultApplied  = "applied"
	resultRejected = "rejected"
)

// NewMetrics creates the metrics and registers them, in the operator with controller-runtime's
// metrics.Registry. It fails if the registry has them already.
//
// - platform_operator_config_valid: 1 while the current configuration is valid, 0 while it is invalid and the
// previous one is in effect.
// - platform_operator_config_reloads_total{result}: changed configurations that were `applied` by a restart, or
// `rejected` as invalid.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		valid: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "platform_operator_config_valid",
			Help: "1 if the current configuration is valid, 0 if it is invalid and the previous one is in effect.",
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
	// A rate needs the step from 0 to 1.
	m.reloads.WithLabelValues(resultApplied)
	m.reloads.WithLabelValues(resultRejected)
	return m, nil
}
