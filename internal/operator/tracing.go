// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// What a collector that is slow or away may cost: spans wait in a queue of 2048 and are dropped beyond it, one export takes
// exportTimeout at most, and an operator that ends waits flushTimeout for the last one.
const (
	exportTimeout = 10 * time.Second
	flushTimeout  = 3 * time.Second
)

// tracing sends spans to the collector that the configuration names. Without one it does nothing.
type tracing struct{ provider *sdktrace.TracerProvider }

// startTracing sets the process's provider of tracers, which the engine asks for.
func startTracing(ctx context.Context, c configv1alpha1.TracingConfig, own ownNamespace, version string) (*tracing, error) {
	if c.Endpoint == "" {
		otel.SetTracerProvider(tracenoop.NewTracerProvider())
		return &tracing{}, nil
	}
	otel.SetErrorHandler(&reportRarely{rate.Sometimes{First: 1, Interval: time.Minute}})
	exporter, err := otlptrace.New(ctx, own.collector(c))
	if err != nil {
		return nil, fmt.Errorf("exporting traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithHost(), resource.WithFromEnv(), resource.WithAttributes(
		attribute.String("service.name", names.Operator), attribute.String("service.version", version),
	))
	if err != nil {
		return nil, fmt.Errorf("describing the operator to the collector of traces: %w", err)
	}
	t := &tracing{sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, sdktrace.WithExportTimeout(exportTimeout)),
		sdktrace.WithResource(about),
		sdktrace.WithSampler(sdktrace.TraceIDRatioBased(float64(*c.SamplingRatePerMillion)/1e6)),
	)}
	otel.SetTracerProvider(t.provider)
	return t, nil
}

// stop sends what is left, if the collector accepts it soon.
func (t *tracing) stop() {
	if t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		ctrl.Log.WithName("tracing").Info("The last spans were not sent", "error", err.Error())
	}
}

// requests returns a configuration whose requests have spans, if they belong to a run that is traced. The API server gets
// the trace, so that its own spans join it.
func (t *tracing) requests(config *rest.Config) *rest.Config {
	if t.provider == nil {
		return config
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return otelhttp.NewTransport(next,
			otelhttp.WithTracerProvider(t.provider),
			otelhttp.WithMeterProvider(metricnoop.NewMeterProvider()),
			otelhttp.WithPropagators(propagation.TraceContext{}),
			otelhttp.WithFilter(func(r *http.Request) bool { return trace.SpanContextFromContext(r.Context()).IsSampled() }),
			otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method + " " + resourceOf(r.URL.Path) }),
		)
	})
	return config
}

// resourceOf returns the resource that a path of the Kubernetes API names, such as "deployments", or "" if it names none.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	before := map[string]int{"api": 2, "apis": 3}[parts[0]]
	if before == 0 || len(parts) <= before {
		return ""
	}
	parts = parts[before:]
	if parts[0] == "namespaces" && len(parts) > 2 && !slices.Contains([]string{"status", "finalize"}, parts[2]) {
		parts = parts[2:]
	}
	return parts[0]
}

// reportRarely logs that spans are lost, once a minute at most: the collector gets some every few seconds.
type reportRarely struct{ rate.Sometimes }

// Handle implements otel.ErrorHandler.
func (r *reportRarely) Handle(err error) {
	r.Do(func() {
		ctrl.Log.WithName("tracing").Info("Spans are lost; check tracing.endpoint of the configuration, and the collector there", "error", err.Error())
	})
}
