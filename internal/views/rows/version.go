// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	fingerprintDigits = 20 // of the largest uint64
	checksumDigits    = 10
	checksumRange     = 10_000_000_000
)

// version is the resourceVersion of a row: the largest number of the sources that it is made of, then ten digits of its checksum.
// It is the same on all replicas. No watch starts from it.
func version(source, sum uint64) string {
	return fmt.Sprintf("%d%0*d", source, checksumDigits, sum%checksumRange)
}

// Tombstone is the resourceVersion in an event about a row that was deleted.
func Tombstone(horizon, sum uint64) string { return version(horizon, sum) }

// Fingerprint is a checksum of all rows that a user sees of a view. Rows are added and removed in any order.
type Fingerprint uint64

// NewFingerprint is that of a view without rows. Those of different views differ.
func NewFingerprint(view string) Fingerprint {
	sum := sha256.Sum256([]byte(view))
	return Fingerprint(binary.BigEndian.Uint64(sum[:]))
}

// Toggle adds a row that was not there, or removes one that was.
func (f Fingerprint) Toggle(sum uint64) Fingerprint { return f ^ Fingerprint(sum) }

// Version is the resourceVersion of a list: how far the sources had been read, and what the user saw.
type Version struct {
	Horizon     uint64
	Fingerprint Fingerprint
}

// String writes the horizon, then 20 digits of the fingerprint. Of two versions that differ in horizon, the later is the larger
// number.
func (v Version) String() string {
	return fmt.Sprintf("%d%0*d", v.Horizon, fingerprintDigits, uint64(v.Fingerprint))
}

var (
	// ErrMalformed is about a resourceVersion that is no number.
	ErrMalformed = errors.New("must be a number that a list of this view has returned")
	// ErrForeign is about one that is no version of a list.
	ErrForeign = errors.New("is no version of a list of this view")
)

// ParseVersion reads the resourceVersion of a list.
func ParseVersion(text string) (Version, error) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return Version{}, ErrMalformed
	}
	split := len(text) - fingerprintDigits
	if split < 1 || text[0] == '0' {
		return Version{}, ErrForeign
	}
	horizon, err := strconv.ParseUint(text[:split], 10, 64)
	if err != nil {
		return Version{}, ErrForeign
	}
	fingerprint, err := strconv.ParseUint(text[split:], 10, 64)
	if err != nil {
		return Version{}, ErrForeign
	}
	return Version{Horizon: horizon, Fingerprint: Fingerprint(fingerprint)}, nil
}
