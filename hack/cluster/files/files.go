// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package files writes files so that a reader never sees half of one.
package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Write replaces path with data. The new file has exactly the permissions perm from its first byte
// on, whatever an older file of that name had, so a private key is never readable by others.
func Write(path string, data []byte, perm os.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	_, errWrite := tmp.Write(data)
	err = errors.Join(errWrite, tmp.Chmod(perm), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(tmp.Name()))
	}
	return nil
}
