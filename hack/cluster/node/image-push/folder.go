// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// folder is an image to make of a folder: what the folder holds is what the image holds.
type folder struct {
	dir        string
	entrypoint []string
	labels     map[string]string
}

func (f folder) image() (v1.Image, error) {
	packed, err := pack(f.dir)
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", f.dir, err)
	}
	layer, err := quickLayer(packed)
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", f.dir, err)
	}
	return imageWith(layer, f.entrypoint, f.labels)
}

// pack makes an archive of what is in dir, in the order of its names, owned by root and dated 1970, so that the same
// content gives the same image.
func pack(dir string) (*bytes.Buffer, error) {
	packed := &bytes.Buffer{}
	archive := tar.NewWriter(packed)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		return add(archive, dir, path, entry)
	})
	if err != nil {
		return nil, err
	}
	return packed, archive.Close()
}

// add puts one file, folder or symbolic link into the archive.
func add(archive *tar.Writer, dir, path string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	var target string
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err = os.Readlink(path); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	if header.Name, err = filepath.Rel(dir, path); err != nil {
		return err
	}
	header.Uid, header.Gid, header.Uname, header.Gname = 0, 0, "", ""
	header.ModTime, header.AccessTime, header.ChangeTime = time.Unix(0, 0), time.Time{}, time.Time{}
	if err := archive.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	_, err = io.Copy(archive, file)
	return err
}
