// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import rbacv1 "k8s.io/api/rbac/v1"

// RoleName is the name of the administrator's Role and RoleBinding in every namespace. The operator may
// grant what it does not itself have (escalate, bind) under this name only.
const RoleName = "namespace-admin"

var (
	full = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	read = []string{"get", "list", "watch"}
)

// AdminRules are what the administrator of a namespace may do unless the tier is overridden: everything
// that a team needs to run its work, and nothing that would undo the guardrails. There is no wildcard,
// because a wildcard holds the verbs bind, escalate and impersonate and the Namespace itself, and no
// write on guardrails or on Endpoints and EndpointSlices (CVE-2021-25740).
func AdminRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("", full, "configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "secrets", "serviceaccounts", "services"),
		rule("", []string{"create", "get"}, "pods/attach", "pods/exec", "pods/portforward"),
		rule("", []string{"create"}, "pods/eviction"),
		rule("", []string{"get", "patch", "update"}, "pods/ephemeralcontainers", "replicationcontrollers/scale"),
		rule("", read, "endpoints", "events", "limitranges", "namespaces", "pods/log", "pods/status", "resourcequotas"),
		rule("apps", full, "daemonsets", "deployments", "replicasets", "statefulsets"),
		rule("apps", []string{"get", "patch", "update"}, "deployments/scale", "replicasets/scale", "statefulsets/scale"),
		rule("apps", read, "controllerrevisions"),
		rule("authorization.k8s.io", []string{"create"}, "localsubjectaccessreviews"),
		rule("autoreboot.acme.com", full, "configwatchers", "rebootpolicies"),
		rule("autoscaling", full, "horizontalpodautoscalers"),
		rule("batch", full, "cronjobs", "jobs"),
		rule("batch.acme.com", full, "crontabs"),
		rule("batch.acme.com", []string{"get", "patch", "update"}, "crontabs/scale"),
		rule("coordination.k8s.io", full, "leases"),
		rule("discovery.k8s.io", read, "endpointslices"),
		rule("events.k8s.io", read, "events"),
		rule("metrics.k8s.io", []string{"get", "list"}, "pods"),
		rule("networking.k8s.io", full, "ingresses"),
		rule("networking.k8s.io", read, "networkpolicies"),
		rule("policy", full, "poddisruptionbudgets"),
		rule("rbac.authorization.k8s.io", full, "rolebindings", "roles"),
		rule("workloads.apps.acme.com", full, "webapps"),
		rule("workloads.apps.acme.com", []string{"get", "patch", "update"}, "webapps/scale"),
	}
}

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Verbs: verbs, Resources: resources}
}
