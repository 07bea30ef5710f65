// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limit lets Ginkgo give up before Go does, which ends the process at its time-out with nothing cleaned up.
package limit

import (
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// cleaningUp is the most that is kept for taking down what specs run against.
const cleaningUp = 5 * time.Minute

// Of configures Ginkgo to end well before the deadline of a test: a fifth of the time, or cleaningUp, is left then.
// It is an argument for RunSpecs.
func Of(t interface{ Deadline() (time.Time, bool) }) types.SuiteConfig {
	config, _ := ginkgo.GinkgoConfiguration()
	if deadline, ok := t.Deadline(); ok {
		left := time.Until(deadline) //nolint:forbidigo // it is this process that has the deadline
		config.Timeout = min(config.Timeout, left-min(left/5, cleaningUp))
	}
	return config
}
