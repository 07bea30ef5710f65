// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

func TestEffectiveDeletionPolicy(t *testing.T) {
	const del, retain = v1alpha1.DeletionDelete, v1alpha1.DeletionRetain
	for _, tc := range []struct {
		reason      string
		asked       v1alpha1.DeletionPolicy
		tier        common.TierName
		before, now v1alpha1.DeletionPolicy
	}{
		{"dev, for the first time", "", "dev", "", del},
		{"dev", "", "dev", del, del},
		{"stg", "", "stg", del, del},
		{"no tier at all", "", "", "", del},
		{"prod, with the webhook away", "", "prod", "", retain},
		{"promoted to prod, and nothing was recorded yet", "", "prod", del, retain},
		{"demoted from prod: Retain is on record", "", "dev", retain, retain},
		{"demoted from prod, and asked to delete", del, "dev", retain, del},
		{"prod, and asked to delete", del, "prod", retain, del},
		{"dev, and asked to retain", retain, "dev", del, retain},
		{"dev, and asked to retain before", "", "dev", retain, retain},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			n := &v1alpha1.AcmeNamespace{}
			n.Spec.DeletionPolicy, n.Spec.DeploymentTier, n.Status.DeletionPolicy = tc.asked, tc.tier, tc.before
			if got := n.EffectiveDeletionPolicy(); got != tc.now {
				t.Errorf("%s, want %s", got, tc.now)
			}
			n.Status.DeletionPolicy = n.EffectiveDeletionPolicy()
			if got := n.EffectiveDeletionPolicy(); got != tc.now {
				t.Errorf("%s once it is recorded, want %s", got, tc.now)
			}
		})
	}
}
