// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// RoleName is the name of the administrator's Role and RoleBinding in every namespace. Only under this name may
// the operator grant rights that it does not have (escalate, bind).
const RoleName = "namespace-admin"

var (
	full = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	read = []string{"get", "list", "watch"}
)

// AdminRules are what the administrator of a namespace may do unless the tier is overridden: everything
// that a team needs to run its work, and nothing that would undo the guardrails. There is no wildcard,
// because a wildcard holds the verbs bind, escalate and impersonate and the Namespace itself, and no
// write on guardrails or on Endpoints and EndpointSlices (CVE-2021-25740). The operator's own kinds come from offers.
func AdminRules() []rbacv1.PolicyRule {
	rules := append(offerRules(), []rbacv1.PolicyRule{
		rule("", full, "configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "secrets", "serviceaccounts", "services"),
		rule("", []string{"create", "get"}, "pods/attach", "pods/exec", "pods/portforward"),
		rule("", []string{"create"}, "pods/eviction"),
		rule("", []string{"get", "patch", "update"}, "pods/ephemeralcontainers", "replicationcontrollers/scale"),
		rule("", read, "endpoints", "events", "limitranges", "namespaces", "pods/log", "pods/status", "resourcequotas"),
		rule("apps", full, "daemonsets", "deployments", "replicasets", "statefulsets"),
		rule("apps", []string{"get", "patch", "update"}, "deployments/scale", "replicasets/scale", "statefulsets/scale"),
		rule("apps", read, "controllerrevisions"),
		rule("authorization.k8s.io", []string{"create"}, "localsubjectaccessreviews"),
		rule("autoscaling", full, "horizontalpodautoscalers"),
		rule("batch", full, "cronjobs", "jobs"),
		rule("coordination.k8s.io", full, "leases"),
		rule("discovery.k8s.io", read, "endpointslices"),
		rule("events.k8s.io", read, "events"),
		rule("metrics.k8s.io", []string{"get", "list"}, "pods"),
		rule("networking.k8s.io", full, "ingresses"),
		rule("networking.k8s.io", read, "networkpolicies"),
		rule("policy", full, "poddisruptionbudgets"),
		rule("rbac.authorization.k8s.io", full, "rolebindings", "roles"),
	}...)
	slices.SortStableFunc(rules, func(a, b rbacv1.PolicyRule) int { return cmp.Compare(a.APIGroups[0], b.APIGroups[0]) })
	return rules
}

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Verbs: verbs, Resources: resources}
}
