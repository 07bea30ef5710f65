// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// An APIService that outlives the installation keeps every namespace of the cluster from being deleted, and nobody is left to delete it: an
// uninstall takes the rights and the account of the operator and of the reader before they end. So it belongs to what the uninstall
// deletes, and the garbage collector deletes it.
//
// That is the ClusterRole of the users, unless OLM installed the operator: OLM keeps the ClusterRoles that a bundle has as manifests. It
// deletes those that it made for the rights of a ClusterServiceVersion, before that one is gone.

// anchors select the ClusterRoles among which the owners are.
func (o *Options) anchors() cache.ByObject {
	if o.ClusterServiceVersion == "" {
		return cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", o.Role())}
	}
	return cache.ByObject{Label: labels.SelectorFromSet(labels.Set{labelOwnerKind: csvKind, labelOwnerNamespace: o.Namespace})}
}

// anchor names the ClusterRole that owns the registration, for people.
func (o *Options) anchor() string {
	if o.ClusterServiceVersion == "" {
		return "ClusterRole " + o.Role()
	}
	return "The ClusterRole that OLM makes for the ClusterServiceVersion " + o.ClusterServiceVersion
}

// owners returns those of the anchors that own the registration. With OLM they are the roles by which any version of the operator may
// keep it up to date: during an upgrade there are two, and the registration goes with the last one.
func (o *Options) owners(anchors []rbacv1.ClusterRole) (out []metav1.OwnerReference) {
	for i := range anchors {
		role := &anchors[i]
		if role.DeletionTimestamp.IsZero() && (o.ClusterServiceVersion == "" || registers(role)) {
			out = append(out, metav1.OwnerReference{
				APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: role.Name, UID: role.UID,
			})
		}
	}
	slices.SortFunc(out, func(a, b metav1.OwnerReference) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// registers reports whether a role is the operator's: whether it gives the right to change the one APIService by its name.
func registers(role *rbacv1.ClusterRole) bool {
	return slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.ResourceNames, apiServiceName) && slices.Contains(r.Resources, "apiservices") && slices.Contains(r.Verbs, "patch")
	})
}
