// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/acme/platform-operator/internal/testenv/schematest"
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code) //nolint:forbidigo // That is how a TestMain ends.
}

// run generates the CustomResourceDefinition, which is not among the others while the group is not served.
func run(m *testing.M) (code int, err error) {
	crds, remove, err := schematest.Unserved("scheduling")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	return schematest.MainWith(m, crds), nil
}
