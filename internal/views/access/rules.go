// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access decides, as Kubernetes' RBAC authorizer does, the two questions that the views ask: who may get the Namespace N, and who
// may list the ResourceQuotas in N. It is pure: it knows rules, bindings and users, and neither clients nor caches.
package access

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

const (
	namespaces     = "namespaces"
	resourceQuotas = "resourcequotas"
)

// Rights are the answers to the two questions for one namespace.
type Rights struct {
	// Get allows to get the Namespace.
	Get bool
	// List allows to list the ResourceQuotas in it.
	List bool
}

// Any reports whether there is any right.
func (r Rights) Any() bool { return r.Get || r.List }

// Or gives the rights of either.
func (r Rights) Or(other Rights) Rights {
	return Rights{Get: r.Get || other.Get, List: r.List || other.List}
}

// Verdict is what the rules of a role grant, wherever the role is bound.
type Verdict struct {
	// Rights hold for each namespace that a binding covers.
	Rights
	// Names are the only Namespaces that rules with resourceNames allow to get, sorted.
	Names []string
}

// In gives the rights in one namespace that a binding covers.
func (v Verdict) In(namespace string) Rights {
	r := v.Rights
	if !r.Get {
		_, r.Get = slices.BinarySearch(v.Names, namespace)
	}
	return r
}

// Equal reports whether two verdicts grant the same.
func (v Verdict) Equal(other Verdict) bool {
	return v.Rights == other.Rights && slices.Equal(v.Names, other.Names)
}

// VerdictOf reads rules. Those for URLs and for subresources grant nothing here.
func VerdictOf(rules []rbacv1.PolicyRule) Verdict {
	var v Verdict
	for _, rule := range rules {
		if covers(rule, resourceQuotas, "list") && named(rule, "") {
			v.List = true
		}
		switch {
		case !covers(rule, namespaces, "get"):
		case len(rule.ResourceNames) == 0:
			v.Get = true
		default:
			v.Names = append(v.Names, rule.ResourceNames...)
		}
	}
	slices.Sort(v.Names)
	v.Names = slices.Compact(v.Names)
	return v
}

// RightsIn is what rules grant in one namespace: the same as In of their verdict. It makes no list of names, which may be long.
func RightsIn(rules []rbacv1.PolicyRule, namespace string) Rights {
	var r Rights
	for _, rule := range rules {
		r.Get = r.Get || covers(rule, namespaces, "get") && named(rule, namespace)
		r.List = r.List || covers(rule, resourceQuotas, "list") && named(rule, "")
	}
	return r
}

// RulesOf are the shortest rules that grant some rights.
func RulesOf(r Rights) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	add := func(granted bool, resource, verb string) {
		if granted {
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{corev1.GroupName}, Resources: []string{resource}, Verbs: []string{verb}})
		}
	}
	add(r.Get, namespaces, "get")
	add(r.List, resourceQuotas, "list")
	return rules
}

// Bears reports whether a rule grants anything of the two questions. Caches may drop the others.
func Bears(rule rbacv1.PolicyRule) bool {
	return covers(rule, namespaces, "get") || covers(rule, resourceQuotas, "list") && named(rule, "")
}

func covers(rule rbacv1.PolicyRule, resource, verb string) bool {
	return has(rule.APIGroups, corev1.GroupName, rbacv1.APIGroupAll) && has(rule.Resources, resource, rbacv1.ResourceAll) &&
		has(rule.Verbs, verb, rbacv1.VerbAll)
}

func has(values []string, either, or string) bool {
	return slices.Contains(values, either) || slices.Contains(values, or)
}

// named reports whether a rule holds for requests for a name; requests for collections have an empty one. The authorizer compares
// strings, and the API server accepts an empty string among the names.
func named(rule rbacv1.PolicyRule, name string) bool {
	return len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, name)
}
