// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/database/server"
)

// checkProgram rejects an image of another version: MySQL would change the data so that the former one cannot read them.
func (r *runner) checkProgram(ctx context.Context) error {
	if r.Version == "" {
		return nil
	}
	cmd, err := r.engine.Program()
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(r.RunDir, "version"))
	if err != nil {
		return err
	}
	cmd.Stdout = file
	if err := errors.Join(r.output(ctx, cmd), file.Close()); err != nil {
		return fmt.Errorf("asking the server for its version: %w", err)
	}
	said, err := os.ReadFile(file.Name())
	if err == nil && !server.IsOfVersion(string(said), r.Version) {
		return result.Errorf(result.InvalidInput, "the image has %q, but the database is of version %s: nothing was changed; correct the image",
			strings.TrimSpace(string(said)), r.Version)
	}
	return err
}

// initialize makes the data folder beside its place and renames it when it is complete. A folder with anything else in it is left alone.
func (r *runner) initialize(ctx context.Context) error {
	entries, err := os.ReadDir(r.data())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("looking at the data: %w", err)
	}
	if len(entries) > 0 {
		if !r.engine.IsData(r.data()) {
			return result.Errorf(result.InvalidInput, "%s holds something that is no data of %s: nothing was changed; move it away", r.data(), r.Type)
		}
		return nil
	}
	if r.Adopted {
		return result.Errorf(result.InvalidInput, "the volume that was adopted has no data in its folder %q, and nothing was changed: "+
			"put the volume that has the data in its place", filepath.Base(r.data()))
	}
	return r.makeData(ctx)
}

func (r *runner) makeData(ctx context.Context) error {
	r.setPhase(result.Initializing)
	half := filepath.Join(r.DataDir, ".init")
	if err := errors.Join(os.RemoveAll(half), os.MkdirAll(half, 0o700)); err != nil {
		return fmt.Errorf("making room for the data: %w", err)
	}
	l, err := r.launch(nil)
	if err != nil {
		return err
	}
	l.Data = half
	cmd, err := r.engine.Initialize(ctx, l)
	if err != nil {
		return err
	}
	if err := r.output(ctx, cmd); err != nil {
		return fmt.Errorf("initialising the data: %w", err)
	}
	if err := os.Remove(r.data()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// Everything is durable before its name says that it is complete.
	if err := syncTree(half); err != nil {
		return fmt.Errorf("writing the data to disk: %w", err)
	}
	return errors.Join(os.Rename(half, r.data()), syncFolder(r.DataDir))
}

func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() && !entry.Type().IsRegular() {
			return err
		}
		return syncFolder(path)
	})
}

func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
