// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"errors"
	"strings"
	"testing"

	"github.com/acme/platform-operator/internal/inforce"
)

func TestJudgeBounds(t *testing.T) {
	for name, c := range map[string]struct {
		found  inforce.Finding
		reason string
		serves bool
		says   string
	}{
		"in force":  {inforce.Finding{}, "", true, ""},
		"missing":   {inforce.Finding{Lacks: "the policy is not installed"}, ReasonPolicyMissing, false, "the policy is not installed: Databases are not served"},
		"different": {inforce.Finding{Lacks: "the policy", Differs: true}, ReasonPolicyDiffers, true, "the policy does not match this version"},
		"unknown":   {inforce.Finding{Err: errors.New("forbidden")}, ReasonPolicyUnknown, false, "grant it the verb get"},
	} {
		t.Run(name, func(t *testing.T) {
			out := judgeBounds(c.found, "bounds", "kubectl apply this")
			if out.GoesOn() != c.serves {
				t.Errorf("it serves: %t", out.GoesOn())
			}
			if c.reason != "" && out.Reason() != c.reason {
				t.Errorf("the reason is %s", out.Reason())
			}
			if !strings.Contains(out.Message(), c.says) {
				t.Errorf("it says: %s", out.Message())
			}
			if c.found.Lacks != "" && !strings.HasSuffix(out.Message(), "installs it with: kubectl apply this") {
				t.Errorf("it does not say how to install it: %s", out.Message())
			}
		})
	}
}
