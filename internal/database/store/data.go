// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/acme/platform-operator/internal/database/result"
)

// window bounds what compression and decompression hold in memory.
const window = 4 << 20

// Stream takes a dump and stores it: compressed, encrypted if there is a recipient, hashed.
type Stream struct {
	to     Writer
	sum    hash.Hash
	stored counter
	sealed io.WriteCloser // nil without encryption
	packed *zstd.Encoder
	plain  int64
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// NewStream begins the data of a backup. Recipient is one of age, or empty.
func NewStream(ctx context.Context, d Destination, path, recipient string) (*Stream, error) {
	to, err := d.Create(ctx, path+"/"+dataName)
	if err != nil {
		return nil, err
	}
	s := &Stream{to: to, sum: sha256.New()}
	s.stored.w = io.MultiWriter(to, s.sum)
	var next io.Writer = &s.stored
	if recipient != "" {
		r, err := age.ParseX25519Recipient(recipient)
		if err == nil {
			s.sealed, err = age.Encrypt(next, r)
		}
		if err != nil {
			to.Abort()
			return nil, result.Errorf(result.InvalidInput, "the recipient of the encryption: %w", err)
		}
		next = s.sealed
	}
	s.packed, err = zstd.NewWriter(next, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(window))
	if err != nil {
		to.Abort()
		return nil, err
	}
	return s, nil
}

// Write takes a part of the dump.
func (s *Stream) Write(b []byte) (int, error) {
	n, err := s.packed.Write(b)
	s.plain += int64(n)
	return n, err
}

// Commit stores the rest; only the manifest is missing then.
func (s *Stream) Commit() (sha string, size, plain int64, err error) {
	err = s.packed.Close()
	if s.sealed != nil {
		err = errors.Join(err, s.sealed.Close())
	}
	if err != nil {
		s.to.Abort()
		return "", 0, 0, err
	}
	return hex.EncodeToString(s.sum.Sum(nil)), s.stored.n, s.plain, s.to.Commit()
}

// Abort leaves nothing.
func (s *Stream) Abort() { s.to.Abort() }

// Data reads the data of a backup and hashes every stored byte of it.
type Data struct {
	file   io.ReadCloser
	sum    hash.Hash
	tee    io.Reader
	size   int64
	packed *zstd.Decoder
	m      Manifest
}

// OpenData opens the data of a backup. Identity is the key of age; without one the data of an encrypted backup can be hashed only.
func OpenData(ctx context.Context, d Destination, m Manifest) (*Data, error) {
	file, err := d.Open(ctx, m.Path+"/"+dataName)
	if errors.Is(err, ErrNotFound) {
		return nil, result.Errorf(result.Corrupted, "the data of the backup at %s is gone: %w", m.Path, err)
	}
	if err != nil {
		return nil, err
	}
	data := &Data{file: file, sum: sha256.New(), m: m}
	data.tee = io.TeeReader(file, io.MultiWriter(data.sum, (*sizer)(&data.size)))
	return data, nil
}

type sizer int64

func (s *sizer) Write(b []byte) (int, error) {
	*s += sizer(len(b))
	return len(b), nil
}

// Plain returns the dump. Errors of what cannot be decoded are Corrupted.
func (d *Data) Plain(identity string) (io.Reader, error) {
	from := d.tee
	if d.m.Encrypted {
		key, err := age.ParseX25519Identity(identity)
		if err != nil {
			return nil, result.Errorf(result.KeyMissing, "the backup at %s is encrypted, and there is no key for it: %w", d.m.Path, err)
		}
		if from, err = age.Decrypt(from, key); err != nil {
			var wrong *age.NoIdentityMatchError
			if errors.As(err, &wrong) {
				return nil, result.Errorf(result.KeyMissing, "the backup at %s is encrypted for another key: %w", d.m.Path, err)
			}
			return nil, result.Errorf(result.Corrupted, "the backup at %s cannot be decrypted: %w", d.m.Path, err)
		}
	}
	packed, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window*2))
	if err != nil {
		return nil, err
	}
	d.packed = packed
	return struct{ io.Reader }{packed}, nil // a writer that ends early is no error of the data
}

// Verify reads what is left and compares the hash of all stored bytes with the manifest.
func (d *Data) Verify() error {
	if _, err := io.Copy(io.Discard, d.tee); err != nil {
		return fmt.Errorf("reading the backup at %s: %w", d.m.Path, err)
	}
	if got := hex.EncodeToString(d.sum.Sum(nil)); got != d.m.SHA256 || d.size != d.m.Size {
		return result.Errorf(result.Corrupted, "the backup at %s was changed after it was written: %d bytes with the checksum %s, want %d with %s",
			d.m.Path, d.size, got, d.m.Size, d.m.SHA256)
	}
	return nil
}

// Close ends reading.
func (d *Data) Close() {
	if d.packed != nil {
		d.packed.Close()
	}
	_ = d.file.Close() // it was only read
}
