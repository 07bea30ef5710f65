// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultViews(t *testing.T) {
	got := &PlatformOperatorConfig{}
	Default(got)
	want := ViewsConfig{State: Enabled, Certificate: SelfSigned, UnreachableAfter: seconds(60)}
	if diff := cmp.Diff(want, got.Views); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestValidateViews(t *testing.T) {
	set := func(do func(*ViewsConfig)) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { do(&c.Views) }
	}
	patience := func(s int) func(*PlatformOperatorConfig) {
		return set(func(c *ViewsConfig) { c.UnreachableAfter = seconds(s) })
	}
	checkRules(t, []rule{
		{"a certificate of somebody else", set(func(c *ViewsConfig) { c.Certificate = Provided }), nil},
		{"disabled", set(func(c *ViewsConfig) { c.State = Disabled }), nil},
		{"another state", set(func(c *ViewsConfig) { c.State = "On" }), []string{
			`views.state: Unsupported value: "On": supported values: "Enabled", "Disabled"`,
		}},
		{"another certificate", set(func(c *ViewsConfig) { c.Certificate = "CertManager" }), []string{
			`views.certificate: Unsupported value: "CertManager": supported values: "SelfSigned", "Provided"`,
		}},
		{"the least patience", patience(30), nil},
		{"the most patience", patience(600), nil},
		{"less", patience(29), []string{`views.unreachableAfter: Invalid value: "29s": must be between 30s and 10m0s`}},
		{"more", patience(601), []string{`views.unreachableAfter: Invalid value: "10m1s": must be between 30s and 10m0s`}},
	})
}
