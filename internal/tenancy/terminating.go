// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/acme/platform-operator/internal/names"
)

// maxHindrance bounds the part of a condition that is repeated: it names finalizers, which tenants choose.
const maxHindrance = 1024

// Hindrances returns what blocks the deletion of a Namespace, from its own conditions: each is True while
// something is in the way. It is empty if nothing is known, and otherwise begins with a full stop.
func Hindrances(ns *corev1.Namespace) string {
	var b strings.Builder
	stuck := len(ns.Finalizers) > 0
	for _, c := range ns.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		stuck = stuck || c.Type == corev1.NamespaceFinalizersRemaining
		fmt.Fprintf(&b, ". %s: %s", c.Type, names.Clip(strings.TrimSuffix(c.Message, "."), maxHindrance))
	}
	if len(ns.Finalizers) > 0 {
		fmt.Fprintf(&b, ". The Namespace itself has the finalizers %s", names.Clip(strings.Join(ns.Finalizers, ", "), maxHindrance))
	}
	if stuck {
		b.WriteString(". A finalizer is removed by the controller that set it; if that is gone, remove it from the object by hand")
	}
	return b.String()
}
