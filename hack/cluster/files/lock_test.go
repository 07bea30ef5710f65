/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
