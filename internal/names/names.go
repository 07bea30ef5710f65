// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names defines every name that the operator uses: labels, annotations, field managers, and the names
// of children. Names that carry state, or that selectors use, are defined here once.
package names

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Operator is the operator's name: the prefix of its Deployment, its field managers and its metrics.
	Operator = "platform-operator"

	// Lease is the Lease by which replicas of the operator elect a leader. It never changes, because replicas of two versions
	// compete for it during an upgrade.
	Lease = "platform-operator.acme.com"

	// LabelManagedBy with the value Operator is on every object that the operator creates. It is for users: no
	// selector uses it.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelOwnerUID is the UID of the object's owner. It is for users and for policies. It proves nothing if
	// tenants may write the object, because they may then write its labels.
	LabelOwnerUID = "platform.acme.com/owner-uid"
	// AnnotationOwner names the object's owner, as OwnerMark spells it. It is an annotation because names may
	// be longer than a label's value. It proves as little as the label.
	AnnotationOwner = "platform.acme.com/owner"
	// AnnotationCut is on a large object of which the caches hold only a part; the rest must be read from the
	// API server. It is never written to the cluster.
	AnnotationCut = "platform.acme.com/cut"
	// AnnotationPaused with the value "true" on an object of the operator's kinds stops its reconciliation.
	AnnotationPaused = "platform.acme.com/paused"
	// AnnotationPodSelector on a ConfigMap or a Secret selects the pods to restart when its content changes.
	AnnotationPodSelector = restartPrefix + "podSelector"
	// AnnotationLegacyStatus on such an object is the record of version 0.1.0.
	AnnotationLegacyStatus = restartPrefix + "status"
	// AnnotationTemplate replaces the pod template of a workload in the operator's caches. It is never written
	// to the cluster.
	AnnotationTemplate = restartPrefix + "template"
)

// OwnerMark returns the value of AnnotationOwner for children of the owner: KIND/NAME or KIND/NAMESPACE/NAME,
// the kind in lower case.
func OwnerMark(kind string, owner metav1.Object) string {
	if ns := owner.GetNamespace(); ns != "" {
		return kind + "/" + ns + "/" + owner.GetName()
	}
	return kind + "/" + owner.GetName()
}

// ParseOwnerMark parses an OwnerMark. It returns empty strings for any other text.
func ParseOwnerMark(mark string) (kind, namespace, name string) {
	switch parts := strings.Split(mark, "/"); {
	case slices.Contains(parts, ""):
		return "", "", ""
	case len(parts) == 2:
		return parts[0], "", parts[1]
	case len(parts) == 3:
		return parts[0], parts[1], parts[2]
	}
	return "", "", ""
}

// Marked reports whether an object carries the owner's marks: its UID, or its name, so that an owner that was
// created again under its old name finds its former children. That proves ownership only if tenants cannot
// write the marks, as on a Namespace.
func Marked(o metav1.Object, kind string, owner metav1.Object) bool {
	uid := string(owner.GetUID())
	return uid != "" && o.GetLabels()[LabelOwnerUID] == uid || o.GetAnnotations()[AnnotationOwner] == OwnerMark(kind, owner)
}

// FieldManager returns the server-side apply field manager of a kind, given in lower case.
func FieldManager(kind string) string { return Operator + "-" + kind }

// IsFieldManager reports whether a field manager is one of the operator's.
func IsFieldManager(manager string) bool { return strings.HasPrefix(manager, Operator+"-") }

// restartPrefix is the prefix of all annotations about restarts.
const restartPrefix = "autoreboot.acme.com/"

// RestartMark returns the annotation on pod templates for restarts by the named object, of a kind in lower
// case. Different objects never share one.
func RestartMark(kind, name string) string {
	return restartPrefix + distinct(kind+"."+name)
}

// distinct shortens a name to what an annotation may have, so that it is no other one's.
func distinct(full string) string {
	if len(full) > maxLabel {
		sum := sha256.Sum256([]byte(full))
		tail := "_" + hex.EncodeToString(sum[:])[:16] // no object's name has a _
		full = full[:maxLabel-len(tail)] + tail
	}
	return full
}

// maxLabel is the longest DNS-1123 label, and the longest value of a label.
const maxLabel = 63

// maxJob is the longest name of an Indexed Job of up to ten pods: their host names add a "-" and a digit.
const maxJob = maxLabel - 2

// Child returns the name of an object that is created for the named owner: "<owner>-<suffix>", or the owner's
// name if the suffix is empty. A name longer than 63 characters is cut and ends in a hash of the whole, so that
// different owners never share one.
func Child(owner, suffix string) string {
	full := owner
	if suffix != "" {
		full += "-" + suffix
	}
	if len(full) <= maxLabel && !strings.Contains(owner, ".") {
		return full
	}
	return cut(full, owner+"\x00"+suffix, maxLabel)
}

// Job returns the name of one of many Jobs of the named owner: "<owner>-<suffix>". Only the owner's part is cut
// and hashed, to leave room for the host names of the pods: the suffix identifies the run. With suffixes of the
// same length, different owners get different names.
func Job(owner, suffix string) string {
	room := maxJob - 1 - len(suffix)
	if len(owner) > room || strings.Contains(owner, ".") {
		owner = cut(owner, owner, room)
	}
	return owner + "-" + suffix
}

// DigestLength is how many characters a digest has.
const DigestLength = 10

// Digest returns a short hash of a text.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:DigestLength]
}

// IsDigested reports whether a name is one that Job gives for a suffix that is a prefix and a digest.
func IsDigested(name, owner, prefix string) bool {
	tail := name[max(len(name)-DigestLength, 0):]
	return len(tail) == DigestLength && strings.Trim(tail, "0123456789abcdef") == "" && name == Job(owner, prefix+tail)
}

// cut shortens a name to at most n characters, which end in a hash.
func cut(name, hashed string, n int) string {
	tail := "-" + Digest(hashed)
	head := strings.ReplaceAll(name, ".", "-")
	if len(head) > n-len(tail) {
		head = head[:n-len(tail)]
	}
	return strings.Trim(head, "-") + tail
}
