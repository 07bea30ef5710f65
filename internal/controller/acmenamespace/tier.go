// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"context"
	"fmt"
	"strings"

	"github.com/acme/platform-operator/internal/tenancy"
)

// tierCheck is how far a namespace meets its tier.
type tierCheck struct {
	// message describes it.
	message string
	// violated: something does not meet the tier.
	violated bool
}

// checkTier reports what in the namespace violates its tier: it continues to run, and nothing else reports it.
// Pods are listed unless the status records that all of them meet the level.
func (r *run) checkTier(ctx context.Context) (tierCheck, error) {
	n, level := r.Obj, r.grant.Tier.PodSecurity
	said := fmt.Sprintf("the Namespace %q has all guardrails, with the Pod Security level %s", n.Spec.NamespaceName, level)
	insecure, all := "", true
	if n.Status.PodSecurity != level {
		var err error
		if insecure, all, err = tenancy.InsecurePods(ctx, r.Live, n.Spec.NamespaceName, level); err != nil {
			return tierCheck{}, err
		}
	}
	var violations []string
	switch {
	case insecure != "":
		violations = append(violations, insecure)
	case !all:
		said += fmt.Sprintf(", which the first %d pods meet; more exist and were not checked", tenancy.MaxPods)
	default:
		n.Status.PodSecurity = level
		said += ", which all pods meet"
	}
	if q := n.Status.Quota; q != nil {
		violations = append(violations, tenancy.QuotaExceeded(q.Hard, q.Used)...)
	}
	return tierCheck{strings.Join(append([]string{said}, violations...), "; "), len(violations) > 0}, nil
}

// forgetPods removes the record that all pods meet a level if pods may have been created that do not: another
// level is wanted, or the Namespace is another one, or it enforces another level or none.
func (r *run) forgetPods() {
	n, ns := r.Obj, r.before
	if n.Status.PodSecurity != r.grant.Tier.PodSecurity || ns == nil || ns.UID != n.Status.NamespaceUID ||
		ns.Labels[podSecurityLabel] != string(n.Status.PodSecurity) {
		n.Status.PodSecurity = ""
	}
}
