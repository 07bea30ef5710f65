// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"context"
	"fmt"
	"strings"

	"github.com/acme/platform-operator/internal/tenancy"
)

// judged is how a namespace meets its tier.
type judged struct {
	// message says so.
	message string
	// violated: something does not meet the tier.
	violated bool
}

// judgeTier says what of the namespace violates its tier: it continues to run, and nobody else would say so. Pods are
// listed unless the status has on record that all of them meet the level.
func (r *run) judgeTier(ctx context.Context) (judged, error) {
	n, level := r.Obj, r.grant.Tier.PodSecurity
	said := fmt.Sprintf("the Namespace %q and its guardrails are in place, with the Pod Security level %s", n.Spec.NamespaceName, level)
	insecure, all := "", true
	if n.Status.PodSecurity != level {
		var err error
		if insecure, all, err = tenancy.InsecurePods(ctx, r.Live, n.Spec.NamespaceName, level); err != nil {
			return judged{}, err
		}
	}
	var violations []string
	switch {
	case insecure != "":
		violations = append(violations, insecure)
	case !all:
		said += fmt.Sprintf(", which the first %d pods meet; there are more, and nobody has looked at them", tenancy.MaxPods)
	default:
		n.Status.PodSecurity = level
		said += ", which all pods meet"
	}
	if q := n.Status.Quota; q != nil {
		violations = append(violations, tenancy.QuotaExceeded(q.Hard, q.Used)...)
	}
	return judged{strings.Join(append([]string{said}, violations...), "; "), len(violations) > 0}, nil
}

// forgetPods drops the record that all pods meet a level, once pods may have come that do not: the level that is wanted is
// another one, or the Namespace is another one, or enforces another level or none.
func (r *run) forgetPods() {
	n, ns := r.Obj, r.before
	if n.Status.PodSecurity != r.grant.Tier.PodSecurity || ns == nil || ns.UID != n.Status.NamespaceUID ||
		ns.Labels[podSecurityLabel] != string(n.Status.PodSecurity) {
		n.Status.PodSecurity = ""
	}
}
