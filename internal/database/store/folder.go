// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/acme/platform-operator/internal/database/result"
)

type folder struct{ root *os.Root }

// openFolder needs the folder: one that is made on the spot would hide that a volume is not mounted.
func openFolder(dir string) (Destination, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, result.Errorf(result.DestinationUnreachable, "opening the folder of the backups: %w", err)
	}
	return folder{root: root}, nil
}

// reason gives an error of the file system its reason.
func reason(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return result.Errorf(result.DestinationFull, "the destination is full: make room, or make its volume larger: %w", err)
	case errors.Is(err, fs.ErrPermission):
		return result.Errorf(result.CredentialsRejected, "the destination may not be used: %w", err)
	default:
		return result.Errorf(result.DestinationUnreachable, "the destination: %w", err)
	}
}

type fileWriter struct {
	*os.File
	root *os.Root
	name string
}

func (f folder) Create(_ context.Context, name string) (Writer, error) {
	if err := f.root.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return nil, reason(err)
	}
	file, err := f.root.OpenFile(name+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return nil, reason(err)
	}
	return &fileWriter{File: file, root: f.root, name: name}, nil
}

func (w *fileWriter) Write(b []byte) (int, error) {
	n, err := w.File.Write(b)
	return n, reason(err)
}

// Commit makes the file durable, its name and the folders above it.
func (w *fileWriter) Commit() error {
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		return reason(err)
	}
	if err := w.root.Rename(w.name+".part", w.name); err != nil {
		return reason(err)
	}
	for dir := filepath.Dir(w.name); ; dir = filepath.Dir(dir) {
		if err := w.syncFolder(dir); err != nil {
			return reason(err)
		}
		if dir == "." {
			return nil
		}
	}
}

func (w *fileWriter) syncFolder(dir string) error {
	d, err := w.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (w *fileWriter) Abort() { _, _ = w.Close(), w.root.Remove(w.name+".part") } // the next backup or a sweep removes what stays

func (f folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	file, err := f.root.Open(name)
	if err != nil {
		return nil, reason(err)
	}
	return file, nil
}

func (f folder) Remove(_ context.Context, name string) error {
	err := f.root.Remove(name + "/" + manifestName)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return reason(errors.Join(err, f.root.RemoveAll(name)))
}

func (f folder) Folders(_ context.Context, name string) (names []string, err error) {
	dir, err := f.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, reason(err)
	}
	entries, err := dir.ReadDir(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, reason(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}
