// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"fmt"
	"slices"

	"github.com/acme/platform-operator/internal/testenv"
)

const (
	own   = "app-escape"
	other = "app-neighbour"
)

var (
	reads  = []string{"get", "list", "watch"}
	writes = []string{"create", "update", "patch", "delete", "deletecollection"}
	every  = slices.Concat(reads, writes)
)

// access is one question that is put to the API server, and the answer that is right.
type access struct {
	verb, group, resource, namespace string
	allowed                          bool
}

func (a access) String() string {
	scope := a.namespace
	if scope == "" {
		scope = "the whole cluster"
	}
	return fmt.Sprintf("%s %s.%s in %s", a.verb, a.resource, a.group, scope)
}

// block is a part of the matrix: each of the resources with each of the verbs.
func block(allowed bool, namespace string, verbs []string, group string, resources ...string) []access {
	var all []access
	for _, r := range resources {
		for _, v := range verbs {
			all = append(all, access{v, group, r, namespace, allowed})
		}
	}
	return all
}

// matrix is what an administrator may and may not do, said independently of the rules that make it so.
func matrix() []access {
	all := slices.Concat(
		// A team can do its work.
		block(true, own, every, "", "pods", "services", "configmaps", "secrets", "persistentvolumeclaims", "serviceaccounts"),
		block(true, own, every, "apps", "deployments", "statefulsets", "daemonsets"),
		block(true, own, every, "batch", "jobs", "cronjobs"),
		block(true, own, every, "networking.k8s.io", "ingresses"),
		block(true, own, every, "autoscaling", "horizontalpodautoscalers"),
		block(true, own, every, "policy", "poddisruptionbudgets"),
		block(true, own, every, "rbac.authorization.k8s.io", "roles", "rolebindings"),
		block(true, own, []string{"create"}, "", "pods/exec", "pods/attach", "pods/portforward", "pods/eviction"),
		block(true, own, []string{"get"}, "", "pods/log"),
		block(true, own, []string{"patch"}, "apps", "deployments/scale"),
		// It sees its guardrails and cannot change them.
		block(true, own, reads, "", "resourcequotas", "limitranges", "namespaces", "events", "endpoints"),
		block(true, own, reads, "networking.k8s.io", "networkpolicies"),
		block(false, own, writes, "", "resourcequotas", "limitranges", "namespaces", "endpoints"),
		block(false, own, writes, "networking.k8s.io", "networkpolicies"),
		block(false, own, writes, "discovery.k8s.io", "endpointslices"),
		block(false, own, []string{"get", "update", "patch"}, "", "namespaces/status", "namespaces/finalize", "resourcequotas/status"),
		// It has no way around RBAC.
		block(false, own, []string{"bind", "escalate"}, "rbac.authorization.k8s.io", "roles", "clusterroles"),
		block(false, own, []string{"impersonate"}, "", "users", "groups", "serviceaccounts"),
		block(false, own, []string{"create"}, "", "serviceaccounts/token", "pods/binding", "bindings", "pods/proxy", "services/proxy"),
		block(false, own, []string{"update", "patch"}, "", "pods/status", "pods/resize"),
		block(false, own, []string{"*"}, "", "pods", "*"),
		block(false, own, []string{"get", "*"}, "*", "*"),
	)
	return append(all, beyond()...)
}

// beyond is the rest of the cluster: nothing of it is the administrator's.
func beyond() []access {
	var all []access
	for _, ns := range []string{other, "default", "kube-system", testenv.OperatorNamespace} {
		all = append(all, block(false, ns, every, "", "pods", "secrets")...)
		all = append(all, block(false, ns, []string{"get", "create"}, "rbac.authorization.k8s.io", "roles", "rolebindings")...)
	}
	const cluster = ""
	return slices.Concat(all,
		block(false, other, reads, "", "namespaces", "configmaps"),
		block(false, cluster, every, "", "nodes", "persistentvolumes", "namespaces"),
		block(false, cluster, []string{"list", "watch"}, "", "pods", "secrets"),
		block(false, cluster, []string{"get", "create"}, "", "nodes/proxy"),
		block(false, cluster, every, "rbac.authorization.k8s.io", "clusterroles", "clusterrolebindings"),
		block(false, cluster, every, "tenancy.acme.com", "acmenamespaces", "deploymenttiers"),
		block(false, cluster, []string{"update", "patch"}, "tenancy.acme.com", "acmenamespaces/status", "acmenamespaces/finalizers"),
		block(false, cluster, []string{"bind", "escalate"}, "rbac.authorization.k8s.io", "clusterroles"),
		block(false, cluster, []string{"impersonate"}, "", "users", "groups", "serviceaccounts"),
		block(false, cluster, []string{"create", "delete"}, "apiextensions.k8s.io", "customresourcedefinitions"),
		block(false, cluster, []string{"create", "delete"}, "admissionregistration.k8s.io", "validatingadmissionpolicies",
			"validatingadmissionpolicybindings", "validatingwebhookconfigurations", "mutatingwebhookconfigurations"),
		block(false, cluster, []string{"create", "approve"}, "certificates.k8s.io", "certificatesigningrequests"),
		block(false, cluster, []string{"create"}, "scheduling.k8s.io", "priorityclasses"),
		block(false, cluster, []string{"create"}, "storage.k8s.io", "storageclasses"),
		block(false, cluster, []string{"create"}, "authentication.k8s.io", "tokenreviews"),
		block(false, cluster, []string{"create"}, "authorization.k8s.io", "subjectaccessreviews"),
	)
}
