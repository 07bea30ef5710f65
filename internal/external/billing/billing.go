/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package billing is the port to the system that charges for namespaces. It is told when one is given back. Adapters
// live in the folders beside it; where no billing is configured, the caller holds a nil Ledger.
package billing

import (
	"context"
	"errors"
	"time"
)

// Release says that a tenant gave a namespace back.
type Release struct {
	// ID names this release for ever: the UID of the AcmeNamespace. Telling the ledger twice with one ID is telling it
	// once. Required.
	ID string
	// Name is the name of the AcmeNamespace.
	Name string
	// Namespace is the name of the Namespace that it provided.
	Namespace string
	// Tier is its deployment tier.
	Tier string
	// Admin is the user name of its administrator.
	Admin string
	// At is the moment of the release: the time of the deletion request, not that of the try.
	At time.Time
}

// Ledger is told what was released.
type Ledger interface {
	// Released returns nil when billing knows about r, or has nothing to bill for it; then it need not be told again.
	// An error means: try again, with the same r. Released does not retry by itself.
	//
	// It ends when ctx does, and after a time-out of its own. The text of its errors holds no credentials. It is meant
	// for a log and may differ from one try to the next (ports, the time of day), so do not put it in a status: what may
	// stand there is Why.
	Released(ctx context.Context, r Release) error
}

// Failure is an error of a Ledger with words for a status.
type Failure struct {
	// Why completes "billing could not be reached: ". It is one of a few fixed phrases: it holds no address, no
	// credential and nothing that the other side said, and is the same for every try that fails in the same way.
	Why string
	// Err is the error for the log.
	Err error
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap gives the error for the log.
func (f *Failure) Unwrap() error { return f.Err }

// Why says in words for a status why billing could not be told.
func Why(err error) string {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Why
	}
	return "it cannot be asked as configured; the operator's log has the details"
}
