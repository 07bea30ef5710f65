// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package billing is the port to the system that charges for namespaces: the release of each one is reported to
// it. The adapters are in the folders beside it. If no billing is configured, the caller has a nil Ledger.
package billing

import (
	"context"
	"errors"
	"time"
)

// Release is the end of a tenant's namespace.
type Release struct {
	// ID identifies this release permanently: the UID of the AcmeNamespace. Reports with the same ID count as
	// one. Required.
	ID string
	// Name is the name of the AcmeNamespace.
	Name string
	// Namespace is the name of the Namespace that it provided.
	Namespace string
	// Tier is its deployment tier.
	Tier string
	// Admin is the user name of its administrator.
	Admin string
	// At is the time of the release: that of the deletion request, not that of the report.
	At time.Time
}

// Ledger records releases.
type Ledger interface {
	// Released reports a release. It returns nil when r is recorded by billing, or there is nothing to bill for
	// it; then it must not be reported again. After an error, report the same r again: Released does not retry
	// by itself.
	//
	// It ends when ctx does, and after a timeout of its own. The text of its errors holds no credentials. It is meant
	// for a log and may differ from one attempt to the next (ports, the time of day): use Why for a status.
	Released(ctx context.Context, r Release) error
}

// Failure is an error of a Ledger with a text for a status.
type Failure struct {
	// Why completes "billing could not be reached: ". It is one of a few fixed phrases: it contains no address,
	// no credential and no text of the other side, and is the same for every attempt that fails in the same
	// way.
	Why string
	// Err is the error for the log.
	Err error
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error for the log.
func (f *Failure) Unwrap() error { return f.Err }

// Why returns the reason for a status why a release could not be reported.
func Why(err error) string {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Why
	}
	return "its configuration does not work; the operator's log has the details"
}
