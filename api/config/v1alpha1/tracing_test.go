// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "testing"

func TestValidateTracing(t *testing.T) {
	set := func(do func(*TracingConfig)) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { do(&c.Tracing) }
	}
	to := func(endpoint string) func(*PlatformOperatorConfig) {
		return set(func(c *TracingConfig) { c.Endpoint = endpoint })
	}
	rate := func(n int32) func(*PlatformOperatorConfig) {
		return set(func(c *TracingConfig) { c.SamplingRatePerMillion = &n })
	}
	checkRules(t, []rule{
		{"none", to(""), nil},
		{"in the cluster", to("http://collector.monitoring.svc:4318"), nil},
		{"a path", to("https://traces.example.com/otlp"), nil},
		{"gRPC", to("grpc://collector:4317"), []string{
			`tracing.endpoint: Invalid value: "grpc://collector:4317": must be a URL that begins with https:// or http://, such as https://host`,
		}},
		{"a password", to("https://me:secret@collector"), []string{`tracing.endpoint: Forbidden: must not contain a user, password, query or fragment`}},
		{"a token in clear text", set(func(c *TracingConfig) {
			c.Endpoint, c.TokenSecret = "http://collector:4318", &SecretKeyReference{Name: "token"}
		}), []string{
			`tracing.endpoint: Invalid value: "http://collector:4318": must be https://, because a token is sent (http:// is accepted for a loopback host only)`,
		}},
		{"references without names", set(func(c *TracingConfig) {
			c.Endpoint, c.TokenSecret, c.CAConfigMap = "https://collector", &SecretKeyReference{}, &ConfigMapKeyReference{}
		}), []string{
			`tracing.tokenSecret.name: Required value: the name of an object in the operator's namespace`,
			`tracing.caConfigMap.name: Required value: the name of an object in the operator's namespace`,
		}},
		{"one in a million", rate(1), nil},
		{"none of a million", rate(0), []string{`tracing.samplingRatePerMillion: Invalid value: 0: must be between 1 and 1000000`}},
		{"more than all", rate(1_000_001), []string{`tracing.samplingRatePerMillion: Invalid value: 1000001: must be between 1 and 1000000`}},
	})
}
