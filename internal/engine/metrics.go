// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "platform_operator_api_writes_total",
		Help: "Write requests to the API server, by kind and verb. Constant while nothing changes.",
	}, []string{"kind", "verb"})
	transitions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "platform_operator_condition_transitions_total",
		Help: "Changes of a condition's status or reason.",
	}, []string{"kind", "condition", "status"})
	timeToReady = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "platform_operator_time_to_ready_seconds",
		Help:    "Time from an object's creation until it was Ready for the first time.",
		Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
	}, []string{"kind"})
)

func init() { metrics.Registry.MustRegister(writes, transitions, timeToReady) }

// Observe registers a collector. It replaces one with the same metrics that an earlier manager of this process
// has registered.
func Observe(c prometheus.Collector) error {
	err := metrics.Registry.Register(c)
	if already := (prometheus.AlreadyRegisteredError{}); errors.As(err, &already) {
		metrics.Registry.Unregister(already.ExistingCollector)
		err = metrics.Registry.Register(c)
	}
	return err
}

// Label is a label of a metric, with all values that it may have.
type Label struct {
	Name   string
	Values []string
}

// OtherLabel is the value of a label in place of one that is not listed.
const OtherLabel = "Other"

// Counter counts by labels, each of which has a closed list of values. Any other value counts as OtherLabel: a series is kept until the
// process ends, so that no text that others write may become one.
type Counter struct {
	vec    *prometheus.CounterVec
	labels []Label
}

// NewCounter registers a counter with labels. It panics if there is one of the name.
func NewCounter(name, help string, labels ...Label) *Counter {
	var labelNames []string
	for _, l := range labels {
		labelNames = append(labelNames, l.Name)
	}
	c := &Counter{prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labelNames), labels}
	metrics.Registry.MustRegister(c.vec)
	return c
}

// Inc counts once, with a value for each label, in their order.
func (c *Counter) Inc(values ...string) {
	listed := slices.Clone(values)
	for i, l := range c.labels {
		if !slices.Contains(l.Values, values[i]) {
			listed[i] = OtherLabel
		}
	}
	c.vec.WithLabelValues(listed...).Inc()
}

// CountRequests counts the write requests of runs, and the bytes of all answers. It wraps the transport of the manager's rest.Config,
// so that it counts what is really sent.
func CountRequests(next http.RoundTripper) http.RoundTripper { return requestCounter{next} }

type requestCounter struct{ next http.RoundTripper }

var verbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// RoundTrip implements http.RoundTripper.
func (c requestCounter) RoundTrip(req *http.Request) (*http.Response, error) {
	run := runOf(req.Context())
	if run == nil {
		return c.next.RoundTrip(req)
	}
	if verb, isWrite := verbs[req.Method]; isWrite {
		if strings.HasPrefix(req.Header.Get("Content-Type"), "application/apply-patch") {
			verb = "apply"
		}
		writes.WithLabelValues(run.kind, verb).Inc()
	}
	res, err := c.next.RoundTrip(req)
	if err == nil {
		res.Body = counted{res.Body, run}
	}
	return res, err
}
