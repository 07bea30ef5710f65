// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// counters is what the operator has counted since its start.
type counters struct {
	// methods counts the requests to the API server, of any part of the operator, by HTTP method
	// (rest_client_requests_total).
	methods map[string]float64
	// writes counts those that reconciles made, by verb (platform_operator_api_writes_total).
	writes map[string]float64
	// reconciles counts runs that have ended.
	reconciles float64
	// queued is how many objects wait or are worked on. It is a level, not a count.
	queued float64
	// cpu is the processor time that the process has used, in seconds.
	cpu float64
}

// count reads the operator's metrics.
func (p *process) count(ctx context.Context) (counters, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metrics, nil)
	if err != nil {
		return counters{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return counters{}, fmt.Errorf("reading the operator's metrics: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // all that matters has been read
	return parseCounters(resp.Body, p.kind)
}

// parseCounters reads the counters of one kind from metrics in the text format.
func parseCounters(text io.Reader, kind string) (counters, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return counters{}, fmt.Errorf("reading the operator's metrics: %w", err)
	}
	one := func(name string, labels map[string]string) float64 { return sum(families[name], "", labels)[""] }
	return counters{
		methods:    sum(families["rest_client_requests_total"], "method", nil),
		writes:     sum(families["platform_operator_api_writes_total"], "verb", map[string]string{"kind": kind}),
		reconciles: one("controller_runtime_reconcile_total", map[string]string{"controller": kind}),
		queued: one("workqueue_depth", map[string]string{"name": kind}) +
			one("controller_runtime_active_workers", map[string]string{"controller": kind}),
		cpu: one("process_cpu_seconds_total", nil),
	}, nil
}

// sum adds up the series of a family that have the labels, by the value of another label.
func sum(family *dto.MetricFamily, by string, labels map[string]string) map[string]float64 {
	total := map[string]float64{}
series:
	for _, m := range family.GetMetric() {
		have := map[string]string{}
		for _, l := range m.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		for name, value := range labels {
			if have[name] != value {
				continue series
			}
		}
		total[have[by]] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return total
}

// requests is what happened between two readings, for one object.
type requests struct {
	Total float64 `json:"total"`
	// Apply and Patch are the reconciles' server-side applies, and their merge patches of finalizer and
	// status. Events are creations and patches of Events. Get is every read: get, list and watch.
	Apply  float64 `json:"apply"`
	Patch  float64 `json:"patch"`
	Delete float64 `json:"delete"`
	Events float64 `json:"events"`
	Get    float64 `json:"get"`
}

// since is what was requested since an earlier reading, for each of n objects. What reconciles did not
// write was written by the event recorder; nothing else in the operator writes.
func (c counters) since(before counters, n int) requests {
	each := func(now, was float64) float64 { return (now - was) / float64(n) }
	r := requests{
		Apply:  each(c.writes["apply"], before.writes["apply"]),
		Patch:  each(c.writes["patch"], before.writes["patch"]),
		Delete: each(c.methods[http.MethodDelete], before.methods[http.MethodDelete]),
		Get:    each(c.methods[http.MethodGet], before.methods[http.MethodGet]),
	}
	for method, now := range c.methods {
		r.Total += each(now, before.methods[method])
	}
	r.Events = r.Total - r.Apply - r.Patch - r.Delete - r.Get
	return r
}

// written is how many write requests there were, by any part of the operator.
func (c counters) written() float64 {
	var n float64
	for method, count := range c.methods {
		if method != http.MethodGet {
			n += count
		}
	}
	return n
}
