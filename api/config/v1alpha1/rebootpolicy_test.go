// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"testing"
)

func TestValidateRebootPolicy(t *testing.T) {
	networks := func(n ...string) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { c.RebootPolicy.AllowedNetworks = n }
	}
	refused := func(n string) []string {
		return []string{`rebootPolicy.allowedNetworks[0]: Invalid value: "` + n + `": must be a network in CIDR form, such as 127.0.0.0/8`}
	}
	none := int32(0)
	checkRules(t, []rule{
		{"networks", networks("127.0.0.0/8", "::1/128", "10.1.2.3/32"), nil},
		{"an address", networks("127.0.0.1"), refused("127.0.0.1")},
		{"an address within a network", networks("127.0.0.1/8"), refused("127.0.0.1/8")},
		{"a name", networks("localhost"), refused("localhost")},
		{"nothing", networks(""), refused("")},
		{"denied networks", func(c *PlatformOperatorConfig) { c.RebootPolicy.DeniedNetworks = []string{"0.0.0.0/0", "::/0"} }, nil},
		{"a denied address", func(c *PlatformOperatorConfig) { c.RebootPolicy.DeniedNetworks = []string{"10.0.0.0/8", "10.0.0.1"} }, []string{
			`rebootPolicy.deniedNetworks[1]: Invalid value: "10.0.0.1": must be a network in CIDR form, such as 127.0.0.0/8`,
		}},
		{"no pause after errors", func(c *PlatformOperatorConfig) { c.RebootPolicy.RetryMax = seconds(0) }, []string{
			`rebootPolicy.retryMax: Invalid value: "0s": must be more than 0s`,
		}},
		{"no reconciles", func(c *PlatformOperatorConfig) { c.RebootPolicy.MaxConcurrentReconciles = &none }, []string{
			"rebootPolicy.maxConcurrentReconciles: Invalid value: 0: must be between 1 and 100",
		}},
	})
}

func TestNetworks(t *testing.T) {
	c := RebootPolicyConfig{AllowedNetworks: []string{"127.0.0.0/8"}, DeniedNetworks: []string{"10.0.0.0/8", "::/0"}}
	if got := fmt.Sprint(c.Allowed(), c.Denied()); got != "[127.0.0.0/8] [10.0.0.0/8 ::/0]" {
		t.Error(got)
	}
}
