// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/names"
)

const (
	reasonRegistered   = "Registered"
	reasonUnregistered = "Unregistered"
	actionRegister     = "Register"
)

// report reports a decision that is another one than before: by an event on the Deployment, and the log.
func (r *registrar) report(ctx context.Context, d decision) {
	if d.register == r.reported.register && (d.register || d.cause == r.reported.cause) {
		return
	}
	r.reported = d
	reason, action, kind := reasonRegistered, actionRegister, corev1.EventTypeNormal
	if !d.register {
		// The cause is the action: client-go drops the note of an event that differs from another in nothing else.
		reason, action = reasonUnregistered, string(d.cause)
		if d.cause != causeDisabled {
			kind = corev1.EventTypeWarning
		}
	}
	ctrl.LoggerFrom(ctx).Info(d.sentence(&r.Options), "registered", d.register, "cause", d.cause)
	r.recorder.Eventf(r.deployment(ctx), nil, kind, reason, action, "%s", names.Note(d.sentence(&r.Options)))
}

// deployment returns what the events are about. Its UID lets `kubectl describe` find them.
func (r *registrar) deployment(ctx context.Context) *corev1.ObjectReference {
	d := &appsv1.Deployment{}
	ref := &corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: r.Namespace, Name: r.Deployment()}
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Deployment()}, d); err == nil {
		ref.UID = d.UID
	}
	return ref
}

// gauge is the metric. It has no value while the views are disabled, and at replicas that do not lead.
type gauge struct{ value atomic.Pointer[float64] }

var registeredMetric = prometheus.NewDesc("platform_operator_views_registered",
	"1 while the API of the views is registered, 0 while it is enabled and is not; absent while it is disabled.", nil, nil)

// set takes what is seen, not what was decided: a registration that the API server rejects is none.
func (g *gauge) set(o observation) {
	switch {
	case !o.enabled:
		g.value.Store(nil)
	case o.present && o.holder == "":
		g.value.Store(new(1.0))
	default:
		g.value.Store(new(0.0))
	}
}

// Describe implements prometheus.Collector.
func (g *gauge) Describe(ch chan<- *prometheus.Desc) { ch <- registeredMetric }

// Collect implements prometheus.Collector.
func (g *gauge) Collect(ch chan<- prometheus.Metric) {
	if value := g.value.Load(); value != nil {
		ch <- prometheus.MustNewConstMetric(registeredMetric, prometheus.GaugeValue, *value)
	}
}
