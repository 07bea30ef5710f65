// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TracingConfig configures traces: which run of which object took how long, in which step, and with which requests to
// the API server.
type TracingConfig struct {
	// Endpoint is the http or https address of an OpenTelemetry collector that accepts OTLP over HTTP, such as
	// `http://collector.monitoring.svc:4318`. With TokenSecret it must be https; http is then accepted for a loopback host
	// only. Default: there are no traces.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// SamplingRatePerMillion is how many of a million runs are traced. 1 to 1000000. Default 1000000, which is all: while
	// nothing changes, there are no runs.
	// +optional
	SamplingRatePerMillion *int32 `json:"samplingRatePerMillion,omitempty"`

	// TokenSecret holds the bearer token; its key defaults to `token`. Default: none is sent.
	// +optional
	TokenSecret *SecretKeyReference `json:"tokenSecret,omitempty"`

	// CAConfigMap holds the PEM certificates that verify the collector's certificate. Default: the public
	// ones of the operator's container, or else those built into the operator.
	// +optional
	CAConfigMap *ConfigMapKeyReference `json:"caConfigMap,omitempty"`
}

const million = 1_000_000

func (c *TracingConfig) setDefaults() {
	defaultPointer(&c.SamplingRatePerMillion, million)
	c.TokenSecret.setDefaults()
	c.CAConfigMap.setDefaults()
}

func (c *TracingConfig) validate(path *field.Path) field.ErrorList {
	errs := oneTo(path.Child("samplingRatePerMillion"), *c.SamplingRatePerMillion, million)
	if c.Endpoint != "" {
		errs = append(errs, secureURL(path.Child("endpoint"), c.Endpoint, c.TokenSecret != nil)...)
	}
	errs = append(errs, c.TokenSecret.validate(path.Child("tokenSecret"))...)
	return append(errs, c.CAConfigMap.validate(path.Child("caConfigMap"))...)
}
