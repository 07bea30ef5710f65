// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/acme/platform-operator/internal/database/result"
)

// TestDataOfAnotherBackupIsCorrupted exchanges data that are whole in themselves and of the same size.
func TestDataOfAnotherBackupIsCorrupted(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"a/b/20261123T011500Z-1", "a/b/20261123T011500Z-2"}
	for i, path := range paths {
		s, err := NewStream(t.Context(), d, path, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(s, []string{"first", "other"}[i]); err != nil {
			t.Fatal(err)
		}
		m := Manifest{Engine: result.Postgres}
		m.Path = path
		if m.SHA256, m.Size, m.PlainSize, err = s.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := WriteManifest(t.Context(), d, m); err != nil {
			t.Fatal(err)
		}
	}
	verify := func() error {
		m, err := ReadManifest(t.Context(), d, paths[0])
		if err != nil {
			return err
		}
		data, err := OpenData(t.Context(), d, m)
		if err != nil {
			return err
		}
		defer data.Close()
		return data.Verify()
	}
	if err := verify(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, paths[1], dataName), filepath.Join(dir, paths[0], dataName)); err != nil {
		t.Fatal(err)
	}
	if err := verify(); result.ReasonOf(err) != result.Corrupted {
		t.Errorf("data of another backup: %v, want %s", err, result.Corrupted)
	}
}
