// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const lockInterval = 100 * time.Millisecond

// Lock holds the folder dir against other processes that lock it, until unlock is called or this
// process ends. It leaves no file. When somebody else holds it, Lock calls waiting once and waits
// until the folder is free or ctx ends.
func Lock(ctx context.Context, dir string, waiting func()) (unlock func(), err error) {
	handle, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("locking a folder: %w", err)
	}
	for told := false; ; told = true {
		err = syscall.Flock(int(handle.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = handle.Close() }, nil // closing ends the lock
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking folder %s: %w", dir, err), handle.Close())
		}
		if !told {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("locking folder %s: %w", dir, context.Cause(ctx)), handle.Close())
		case <-time.After(lockInterval):
		}
	}
}
