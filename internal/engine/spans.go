// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tracerName is the scope of the engine's spans.
const tracerName = "github.com/acme/platform-operator/internal/engine"

// startRun starts the span of one run of an object. Its steps, and the requests that they send, are below it. While nobody has
// set a provider of tracers, nothing is recorded.
func startRun(ctx context.Context, kind string, o client.Object) (context.Context, trace.Span) {
	about := []attribute.KeyValue{
		attribute.String("platform_operator.kind", kind),
		attribute.String("platform_operator.name", o.GetName()),
		attribute.String("platform_operator.uid", string(o.GetUID())),
		attribute.Int64("platform_operator.generation", o.GetGeneration()),
	}
	if namespace := o.GetNamespace(); namespace != "" {
		about = append(about, attribute.String("k8s.namespace.name", namespace))
	}
	return otel.GetTracerProvider().Tracer(tracerName).Start(ctx, "run "+kind, trace.WithNewRoot(), trace.WithAttributes(about...))
}

// startStep starts the span of one step of the run that ctx belongs to.
func startStep(ctx context.Context, condition string) (context.Context, trace.Span) {
	return trace.SpanFromContext(ctx).TracerProvider().Tracer(tracerName).Start(ctx, "step "+condition)
}

// endStep ends the span of a step with what its condition will say.
func endStep(span trace.Span, out Outcome, err error) {
	span.SetAttributes(
		attribute.String("platform_operator.status", string(out.status())),
		attribute.String("platform_operator.reason", out.reason),
	)
	endSpan(span, err)
}

// endSpan ends a span, and marks it as failed if there is an error.
func endSpan(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
