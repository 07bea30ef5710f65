// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const groups = "/sys/fs/cgroup"

// RemoveControlGroups removes the control groups called name and those below them, in every hierarchy
// that the machine has. No process may be left in them.
func RemoveControlGroups(name string) error { return removeGroups(groups, name) }

func removeGroups(root, name string) error {
	inHierarchies, err := filepath.Glob(filepath.Join(root, "*", name)) // version 1
	if err != nil {
		return fmt.Errorf("finding control groups: %w", err)
	}
	var errs []error
	for _, top := range append(inHierarchies, filepath.Join(root, name)) { // version 2
		var tree []string
		err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				tree = append(tree, path)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("listing control groups: %w", err))
		}
		for _, path := range slices.Backward(tree) { // the files in it are the kernel's and go with the folder
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("removing a control group: %w", err))
			}
		}
	}
	return errors.Join(errs...)
}
