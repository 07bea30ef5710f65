// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"testing"
)

func TestLockWaitsForTheHolder(t *testing.T) {
	dir := t.TempDir()
	unlock, err := Lock(t.Context(), dir, func() { t.Error("a free folder was waited for") })
	if err != nil {
		t.Fatal(err)
	}
	waits := 0
	second, err := Lock(t.Context(), dir, func() { waits++; unlock() })
	if err != nil {
		t.Fatal(err)
	}
	defer second()
	if waits != 1 {
		t.Errorf("said %d times that it waits, want once", waits)
	}

	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Lock(ctx, dir, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it to give up when the context ends", err)
	}
}
