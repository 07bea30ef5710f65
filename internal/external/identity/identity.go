// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity is the port to the directory of an organisation's users. It answers one question: does a
// user name, as a Kubernetes API server spells it, exist? The adapters are in the folders beside it; if no
// directory is configured, the caller has a nil Directory.
package identity

import "context"

// Directory looks up users.
type Directory interface {
	// Lookup reports whether a user with this name exists. If there is none, found is false with a nil error.
	// An error always means that the directory could not be queried, or that its answer did not say; found is
	// then false and has no meaning.
	//
	// Lookup ends when ctx does, and after a time-out of its own. The text of its errors holds no credentials.
	// It is meant for a log and may differ from one attempt to the next (ports, the time of day), so do not put
	// it in a status.
	Lookup(ctx context.Context, username string) (found bool, err error)
}
