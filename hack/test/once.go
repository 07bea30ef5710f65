// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// variables are what decides, beside the tree, what a test does.
var variables = []string{"LABELS", "SEED", "GOFLAGS", "KUBEBUILDER_ASSETS"}

// passedBefore reports whether something has passed with this content of the tree, and gives a function that records that
// it has. It is for what Go's cache of test results cannot know: tests of other modules read files of this one, and
// Ginkgo's own program starts the guarantees.
func (t *tests) passedBefore(name string) (bool, func()) {
	stamp := t.file(filepath.Join("passed", name+"-"+t.key))
	if stamp == "" {
		return false, func() {}
	}
	_, err := os.Stat(stamp)
	return err == nil, func() {
		if err := errors.Join(os.MkdirAll(filepath.Dir(stamp), 0o755), os.WriteFile(stamp, nil, 0o600)); err != nil {
			fmt.Fprintf(t.out, "that %s has passed is not recorded: %v\n", name, err)
		}
	}
}

// contentOf is a digest of all files of a work tree that git does not ignore, as they are on the disk, of the version of Go,
// and of the variables.
func contentOf(ctx context.Context, dir string) (string, error) {
	list := exec.CommandContext(ctx, "git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = dir
	files, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("git ls-files: %w", err)
	}
	version, err := exec.CommandContext(ctx, "go", "version").Output()
	if err != nil {
		return "", fmt.Errorf("go version: %w", err)
	}
	digest := sha256.New()
	fmt.Fprintf(digest, "%s\n", version)
	for _, v := range variables {
		fmt.Fprintf(digest, "%s=%s\n", v, os.Getenv(v))
	}
	names := strings.Split(strings.TrimSuffix(string(files), "\x00"), "\x00")
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := addFile(digest, dir, name); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// addFile adds a file's name, mode and content to a digest. A file that is deleted adds its name alone.
func addFile(digest io.Writer, dir, name string) error {
	path := filepath.Join(dir, name)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(digest, "%s is gone\n", name)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(digest, "%s %s %d\n", name, info.Mode(), info.Size())
	if !info.Mode().IsRegular() {
		return nil // a link's target is in the tree as well, or not the tree's
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = io.Copy(digest, f)
	return err
}

// appendLine adds a line to a file. An empty name is no file.
func appendLine(file, line string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}
