// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerant

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	unreadable = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "platform_operator_unreadable_objects",
		Help: "Objects that cannot be decoded, by kind. They are not reconciled until they are corrected; the log and an event name each.",
	}, []string{"kind"})
	filled = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "platform_operator_cache_synced",
		Help: "Whether the cache of a type is filled: 1, or 0. While it is 0, objects of the type are not reconciled.",
	}, []string{"type"})
)

func init() { metrics.Registry.MustRegister(unreadable, filled) }

// leftOut are the objects of a kind that could not be decoded, with the version that was reported.
type leftOut struct {
	gauge  prometheus.Gauge
	report func(client.Object, error)

	mu      sync.Mutex
	objects map[types.NamespacedName]string
}

func newLeftOut(gvk schema.GroupVersionKind, report func(client.Object, error)) *leftOut {
	l := &leftOut{
		gauge: unreadable.WithLabelValues(strings.ToLower(gvk.Kind)), report: report,
		objects: map[types.NamespacedName]string{},
	}
	l.gauge.Set(0)
	return l
}

// add leaves an object out, and reports each version of it once.
func (l *leftOut) add(u *unstructured.Unstructured, err error) {
	key := client.ObjectKeyFromObject(u)
	l.mu.Lock()
	before := l.objects[key]
	l.objects[key] = u.GetResourceVersion()
	l.gauge.Set(float64(len(l.objects)))
	l.mu.Unlock()
	if before != u.GetResourceVersion() {
		l.report(u, err)
	}
}

func (l *leftOut) has(u *unstructured.Unstructured) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, has := l.objects[client.ObjectKeyFromObject(u)]
	return has
}

// forget stops leaving an object out: it can be decoded now, or is deleted.
func (l *leftOut) forget(u *unstructured.Unstructured) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.objects, client.ObjectKeyFromObject(u))
	l.gauge.Set(float64(len(l.objects)))
}

// forgetAll starts over, before all objects are listed again.
func (l *leftOut) forgetAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.objects)
	l.gauge.Set(0)
}
