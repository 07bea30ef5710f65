// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names holds every name that the operator gives: labels, annotations, field managers, and
// the names of children. What carries state between runs, or is selected on, is spelled here once.
package names

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Operator is the operator's name: its Deployment, its field managers and its metrics begin with it.
	Operator = "platform-operator"

	// LabelManagedBy with the value Operator marks every object that the operator makes. It is for people: nothing selects
	// on it.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelOwnerUID carries the UID of the object that an object was made for. It is for people, and for policies:
	// whoever may write an object may write its labels, so it proves nothing on what tenants may write.
	LabelOwnerUID = "platform.acme.com/owner-uid"
	// AnnotationOwner names the object that an object was made for, as OwnerMark spells it. It is an annotation
	// because names may be longer than a label's value. It proves as little as the label.
	AnnotationOwner = "platform.acme.com/owner"
	// AnnotationCut is on what the caches hold of a large object: the rest of it is on the API server alone. It is
	// never written to the cluster.
	AnnotationCut = "platform.acme.com/cut"
	// AnnotationPaused with the value "true" on one of our objects stops its reconciliation.
	AnnotationPaused = "platform.acme.com/paused"
	// AnnotationPodSelector on a ConfigMap or a Secret selects the pods to restart when its content changes.
	AnnotationPodSelector = restartPrefix + "podSelector"
	// AnnotationLegacyStatus on such an object is what version 0.1.0 recorded.
	AnnotationLegacyStatus = restartPrefix + "status"
	// AnnotationTemplate stands for the pod template of a workload in the operator's caches. It is written nowhere else.
	AnnotationTemplate = restartPrefix + "template"
)

// OwnerMark is the value of AnnotationOwner on what was made for the owner: KIND/NAME or KIND/NAMESPACE/NAME, the kind
// in lower case.
func OwnerMark(kind string, owner metav1.Object) string {
	if ns := owner.GetNamespace(); ns != "" {
		return kind + "/" + ns + "/" + owner.GetName()
	}
	return kind + "/" + owner.GetName()
}

// ParseOwnerMark reads an OwnerMark. What is not one gives empty strings.
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

// Marked tells whether an object carries the owner's marks: its UID, or its name, so that one that was created again
// under its old name finds what it left. That proves ownership only where tenants cannot write the marks, as on a
// Namespace.
func Marked(o metav1.Object, kind string, owner metav1.Object) bool {
	uid := string(owner.GetUID())
	return uid != "" && o.GetLabels()[LabelOwnerUID] == uid || o.GetAnnotations()[AnnotationOwner] == OwnerMark(kind, owner)
}

// FieldManager is the server-side apply field manager of a kind, given in lower case.
func FieldManager(kind string) string { return Operator + "-" + kind }

// IsFieldManager tells whether a field manager is one of the operator's.
func IsFieldManager(manager string) bool { return strings.HasPrefix(manager, Operator+"-") }

// restartPrefix is the prefix of all annotations about restarts.
const restartPrefix = "autoreboot.acme.com/"

// RestartMark is the annotation on a pod template that tells for which content the named object, of a
// kind in lower case, has restarted it. Different objects never share one.
func RestartMark(kind, name string) string {
	full := kind + "." + name
	if len(full) > maxLabel {
		sum := sha256.Sum256([]byte(full))
		tail := "_" + hex.EncodeToString(sum[:])[:16] // no object's name has a _
		full = full[:maxLabel-len(tail)] + tail
	}
	return restartPrefix + full
}

// maxLabel is the longest DNS-1123 label, and the longest value of a label.
const maxLabel = 63

// maxJob is the longest name of an Indexed Job of up to ten pods: their host names add a "-" and a digit.
const maxJob = maxLabel - 2

// Child is the name of an object made for the named owner: "<owner>-<suffix>", or just the owner's
// name when the suffix is empty. A name longer than 63 characters is cut and ends in a hash of the
// whole, so that different owners never share one.
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

// Job is the name of one of many Jobs of the named owner: "<owner>-<suffix>". Only the owner's part is cut and
// hashed, to what leaves room for the host names of its pods: the suffix tells what the Job is for. Suffixes of
// one length give different owners different names.
func Job(owner, suffix string) string {
	room := maxJob - 1 - len(suffix)
	if len(owner) > room || strings.Contains(owner, ".") {
		owner = cut(owner, owner, room)
	}
	return owner + "-" + suffix
}

// cut shortens a name to at most n characters, which end in a hash.
func cut(name, hashed string, n int) string {
	sum := sha256.Sum256([]byte(hashed))
	tail := "-" + hex.EncodeToString(sum[:])[:10]
	head := strings.ReplaceAll(name, ".", "-")
	if len(head) > n-len(tail) {
		head = head[:n-len(tail)]
	}
	return strings.Trim(head, "-") + tail
}
