// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machine knows what a real node takes of the machine that it runs on: Debian packages, two
// network links, control groups and namespaces. Everything else (routes and packet filter rules of the
// cluster, mounts, settings of the kernel) exists inside those namespaces and goes with them.
package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNotRoot says that a real node was asked for by a user who may not run one.
var ErrNotRoot = errors.New("a real node needs root")

// RequireRoot returns ErrNotRoot, wrapped, when this process does not run as root.
func RequireRoot() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: run this with sudo, or use simulated nodes", ErrNotRoot)
	}
	return nil
}

// space is what a real node is to find on the disk. With OLM and one version of the operator its folder had 0.8 GB; the
// end-to-end tests make several versions.
const space = 3 << 30

// RequireSpace returns an error when the disk that holds a folder has less space left than a real node is to find.
func RequireSpace(dir string) error { return requireSpace(dir, space) }

func requireSpace(dir string, need uint64) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("asking how much space is left for %s: %w", dir, err)
	}
	if left := disk.Bavail * uint64(disk.Bsize); left < need { //nolint:gosec // sizes of blocks are positive
		return fmt.Errorf("the disk that holds %s has %.1f GB left, and a real node is to find %.1f GB: make room, for instance with go clean -cache",
			dir, float64(left)/1e9, float64(need)/1e9)
	}
	return nil
}

// Path is the search path for programs: the caller's, and the folders of system programs, which are
// not on everybody's path.
func Path() string {
	return os.Getenv("PATH") + ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"
}

// Find returns where a program is, or "" when it is not installed.
func Find(program string) string {
	for _, dir := range filepath.SplitList(Path()) {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// run executes a program and puts what it says on standard error into the error.
func run(ctx context.Context, program string, args ...string) error {
	path := Find(program)
	if path == "" {
		return fmt.Errorf("running %s: it is not installed", program)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "PATH="+Path())
	var words bytes.Buffer
	cmd.Stderr = &words
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running %s %s: %w: %s", program, strings.Join(args, " "), err, bytes.TrimSpace(words.Bytes()))
	}
	return nil
}
