// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import "fmt"

// AnnotationRunNow on a CronTab requests a run by hand: its value names the request. It is on that run's Job
// and pods, too.
const AnnotationRunNow = "batch.acme.com/run-now"

// maxRequest is the longest value of the annotation that is recorded unchanged.
const maxRequest = 128

// Request returns the value of the annotation as it is recorded: one that is too long is shortened.
func Request(value string) string {
	if len(value) <= maxRequest {
		return value
	}
	return fmt.Sprintf("%.*s... (%d bytes, %s)", maxRequest/8, value, len(value), Digest(value))
}
