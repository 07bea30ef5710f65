// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/acme/platform-operator/internal/database/result"
)

// formatVersion rises when an older agent would misread a newer backup.
const formatVersion = 1

// Manifest makes a backup exist. It holds no secrets.
type Manifest struct {
	Format int `json:"format"`
	// UID is that of the object that the backup was made for.
	UID      string `json:"uid"`
	Engine   string `json:"engine"`
	Database string `json:"database"`
	User     string `json:"user"`

	result.Backup
	// Rows of each table, all of them.
	Counts map[string]int64 `json:"counts,omitempty"`
	// Check is the SHA-256 of the manifest without it.
	Check string `json:"check,omitempty"`
}

func (m Manifest) sum() (string, error) {
	m.Check = ""
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// maxManifest bounds what is read: 100,000 tables have room in it.
const maxManifest = 16 << 20

// ReadManifest reads the manifest of a backup. Without one there is no backup: NotFound. One that was changed is Corrupted.
func ReadManifest(ctx context.Context, d Destination, path string) (Manifest, error) {
	r, err := d.Open(ctx, path+"/"+manifestName)
	if errors.Is(err, ErrNotFound) {
		return Manifest{}, result.Errorf(result.NotFound, "there is no complete backup at %s: %w", path, err)
	}
	if err != nil {
		return Manifest{}, err
	}
	defer func() { _ = r.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(r, maxManifest))
	if errors.Is(err, ErrNotFound) {
		return Manifest{}, result.Errorf(result.NotFound, "there is no complete backup at %s: %w", path, err)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("reading the manifest of %s: %w", path, err)
	}
	var m Manifest
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&m); err != nil {
		return Manifest{}, result.Errorf(result.Corrupted, "the manifest of %s cannot be read: %w", path, err)
	}
	if m.Format > formatVersion {
		return Manifest{}, result.Errorf(result.NewerVersion, "the backup at %s has format %d, this agent reads %d: upgrade the operator",
			path, m.Format, formatVersion)
	}
	sum, err := m.sum()
	if err != nil {
		return Manifest{}, err
	}
	if sum != m.Check || m.Path != path {
		return Manifest{}, result.Errorf(result.Corrupted, "the manifest of %s was changed after it was written", path)
	}
	return m, nil
}

// WriteManifest makes a backup exist, and reads the manifest back.
func WriteManifest(ctx context.Context, d Destination, m Manifest) error {
	m.Format = formatVersion
	sum, err := m.sum()
	if err != nil {
		return err
	}
	m.Check = sum
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	w, err := d.Create(ctx, m.Path+"/"+manifestName)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		w.Abort()
		return err
	}
	if err := w.Commit(); err != nil {
		return err
	}
	_, err = ReadManifest(ctx, d, m.Path)
	return err
}
