// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// offer is a namespaced kind of the operator's own that tenants use.
type offer struct {
	group, resource string
	// scale tells that the kind has the subresource scale.
	scale bool
}

// offersDev are how many objects of each of them a namespace of the tier dev may hold (see objectBounds).
const offersDev = 20

// offers has a row for each namespaced kind, sorted. Administrators of namespaces may write it, and a quota counts it.
var offers = []offer{
	{group: "autoreboot.acme.com", resource: "configwatchers"},
	{group: "autoreboot.acme.com", resource: "rebootpolicies"},
	{group: "batch.acme.com", resource: "crontabs", scale: true},
	{group: "coordination.acme.com", resource: "leaderelections"},
	{group: "databases.acme.com", resource: "databases"},
	{group: "workloads.apps.acme.com", resource: "webapps", scale: true},
}

// offerRules let administrators write the offers: a rule for each group, and one for each scale.
func offerRules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	last := map[string]int{}
	for _, o := range offers {
		i, found := last[o.group]
		if !found {
			i = len(rules)
			last[o.group] = i
			rules = append(rules, rule(o.group, full))
		}
		rules[i].Resources = append(rules[i].Resources, o.resource)
	}
	for _, o := range offers {
		if o.scale {
			rules = append(rules, rule(o.group, []string{"get", "patch", "update"}, o.resource+"/scale"))
		}
	}
	return rules
}

// offerBounds are the bounds of the offers in a namespace of the tier dev.
func offerBounds() map[corev1.ResourceName]int64 {
	bounds := map[corev1.ResourceName]int64{}
	for _, o := range offers {
		bounds[corev1.ResourceName("count/"+o.resource+"."+o.group)] = offersDev
	}
	return bounds
}
