// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"os"
	"testing"

	"github.com/acme/platform-operator/internal/testenv/schematest"
)

func TestMain(m *testing.M) {
	os.Exit(schematest.Main(m)) //nolint:forbidigo // That is how a TestMain ends.
}
