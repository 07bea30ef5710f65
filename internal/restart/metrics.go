// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

var (
	restarts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "platform_operator_restarts_total",
		Help: "Restarts that were begun, by the kind of the object that asked for them.",
	}, []string{"kind"})
	suppressed = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "platform_operator_restarts_suppressed_total",
		Help: "Restarts that were put off or not done, by the reason: Debounce, MinInterval, OutsideWindow, Suspended, " +
			"MaxConcurrent, RolloutUnfinished, Evicting, Refused put off; DryRun, ChangeUndone do not restart at all.",
	}, []string{"kind", "reason"})
)

func init() { metrics.Registry.MustRegister(restarts, suppressed) }

// suppressed counts a restart that is put off or not done.
func (q Request) suppressed(reason string) {
	q.Told(func() { suppressed.WithLabelValues(q.kind, reason).Inc() })
}

// age tells, whenever metrics are read, for how long the oldest pending restart of a kind has waited.
type age struct {
	desc  *prometheus.Desc
	clock clock.PassiveClock
	list  func(ctx context.Context) ([]*common.PendingRestart, error)
}

// observePending registers the age of the oldest pending restart of a kind. A manager that starts again in
// the same process replaces it.
func observePending(kind string, c clock.PassiveClock, list func(ctx context.Context) ([]*common.PendingRestart, error)) error {
	a := &age{prometheus.NewDesc("platform_operator_restart_pending_age_seconds",
		"For how long the oldest restart that has not ended has been pending; 0 when there is none.",
		nil, prometheus.Labels{"kind": kind}), c, list}
	// Alerts are about the growth of these, and it is seen only from 0 to 1, not from nothing to 1.
	for _, reason := range []string{"Suspended", "Refused"} {
		suppressed.WithLabelValues(kind, reason)
	}
	return engine.Observe(a)
}

// Describe implements prometheus.Collector.
func (a *age) Describe(ch chan<- *prometheus.Desc) { ch <- a.desc }

// Collect implements prometheus.Collector. A cache that is not synced within a second tells nothing.
func (a *age) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	all, err := a.list(ctx)
	if err != nil {
		return
	}
	oldest := time.Duration(0)
	for _, p := range all {
		if p != nil {
			oldest = max(oldest, a.clock.Since(p.Since.Time))
		}
	}
	ch <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, oldest.Seconds())
}
