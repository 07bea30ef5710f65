// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import "fmt"

// AnnotationRunNow on a CronTab requests a run by hand: its value names the request. It is on that run's Job
// and pods, too.
const AnnotationRunNow = "batch.acme.com/run-now"

// MaxRequest is the longest value of the annotation, in bytes, that is recorded unchanged.
const MaxRequest = 128

// Request returns the value of the annotation as it is recorded: one that is too long is shortened.
func Request(value string) string {
	if len(value) <= MaxRequest {
		return value
	}
	return fmt.Sprintf("%.*s... (%d bytes, %s)", MaxRequest/8, value, len(value), Digest(value))
}
