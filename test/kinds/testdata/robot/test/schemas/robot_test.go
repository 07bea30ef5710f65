// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"testing"

	"github.com/acme/platform-operator/internal/testenv/schematest"
)

func TestRobotRefused(t *testing.T) {
	got := schematest.Create(t, `{apiVersion: toys.acme.com/v1alpha1, kind: Robot, metadata: {name: r, namespace: default}, spec: {app: "A B"}}`)
	schematest.WantRefused(t, got, "spec.app", "should match")
}
