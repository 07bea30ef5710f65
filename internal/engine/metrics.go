// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// census counts the objects of one kind in the cache when metrics are scraped.
type census struct {
	desc    *prometheus.Desc
	reader  client.Reader
	newList func() client.ObjectList
}

// observe registers the census of a kind. It replaces that of an earlier manager in the same process.
func observe(mgr ctrl.Manager, prototype Object, name string) error {
	newList, err := ListOf(mgr.GetScheme(), prototype)
	if err != nil {
		return err
	}
	c := &census{prometheus.NewDesc("platform_operator_objects",
		"Objects, by kind and by the status of their condition Ready.",
		[]string{"ready"}, prometheus.Labels{"kind": name}), mgr.GetCache(), newList}
	return Observe(c)
}

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

// Describe implements prometheus.Collector.
func (c *census) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector. A cache that is not synced within a second counts as empty.
func (c *census) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	count := map[string]int{"True": 0, "False": 0, "Unknown": 0}
	list := c.newList()
	if err := c.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		ready := "Unknown"
		if c := meta.FindStatusCondition(item.(Object).CommonStatus().Conditions, Ready); c != nil {
			ready = string(c.Status)
		}
		count[ready]++
		return nil
	})
	for ready, n := range count {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), ready)
	}
}

// kindKey is the context key of the name of the kind in a reconcile.
type kindKey struct{}

// CountWrites counts the write requests of reconciles. It wraps the transport of the manager's rest.Config, so
// that it counts what is really sent.
func CountWrites(next http.RoundTripper) http.RoundTripper { return writeCounter{next} }

type writeCounter struct{ next http.RoundTripper }

var verbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// RoundTrip implements http.RoundTripper.
func (w writeCounter) RoundTrip(req *http.Request) (*http.Response, error) {
	kind, inRun := req.Context().Value(kindKey{}).(string)
	if verb, isWrite := verbs[req.Method]; inRun && isWrite {
		if strings.HasPrefix(req.Header.Get("Content-Type"), "application/apply-patch") {
			verb = "apply"
		}
		writes.WithLabelValues(kind, verb).Inc()
	}
	return w.next.RoundTrip(req)
}
