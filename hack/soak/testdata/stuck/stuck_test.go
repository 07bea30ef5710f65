// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stuck has tests that do not begin, and do not end.
package stuck

import (
	"os/signal"
	"testing"
	"time"
)

func TestMain(*testing.M) {
	signal.Ignore()
	time.Sleep(time.Hour)
}

func TestNothing(*testing.T) {}
