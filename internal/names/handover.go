// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package names

const coordinationPrefix = "coordination.acme.com/"

const (
	// AnnotationHandOver on a LeaderElection requests a hand-over: its value names the request.
	AnnotationHandOver = coordinationPrefix + "hand-over"
	// AnnotationSkipClearing with the value "true" on a LeaderElection that is being deleted leaves the marks on pods.
	AnnotationSkipClearing = coordinationPrefix + "skip-clearing"

	// AnnotationRevoking on the Lease of a LeaderElection is the pod that is to be fenced before there is a new leader.
	AnnotationRevoking = coordinationPrefix + "revoking"
	// AnnotationLast on it is what is remembered of the last hand-over.
	AnnotationLast = coordinationPrefix + "last"
)

// LeaderMark returns the annotation on pods for the named LeaderElection. Different ones never share one.
func LeaderMark(election string) string { return coordinationPrefix + distinct(election) }

// LeaderMarkBy returns the annotation beside LeaderMark that has the UID of the LeaderElection.
func LeaderMarkBy(election string) string { return "by." + LeaderMark(election) }
