// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity is the port to the directory that knows an organisation's people. It answers one question: does a
// user name, as a Kubernetes API server spells it, belong to somebody? Adapters live in the folders beside it; where no
// directory is configured, the caller holds a nil Directory.
package identity

import "context"

// Directory is asked whether a user exists.
type Directory interface {
	// Lookup reports whether username names somebody. "Nobody of that name" is found == false with a nil error; an
	// error always means that the directory could not be asked, or that its answer said nothing about the user, and
	// then found is false and without meaning.
	//
	// Lookup ends when ctx does, and after a time-out of its own. The text of its errors holds no credentials. It is
	// meant for a log and may differ from one try to the next (ports, the time of day), so do not put it in a status.
	Lookup(ctx context.Context, username string) (found bool, err error)
}
