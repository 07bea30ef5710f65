// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import "strings"

// Clip cuts a text to at most n bytes of whole characters, and marks an omission with "…".
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// maxNote is the longest note of an event that the API server accepts, in bytes.
const maxNote = 1024

// Note shortens a text, if need be, to what an event may have as its note: one that is longer would never be seen.
func Note(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return Clip(text, maxNote-len("…"))
}
