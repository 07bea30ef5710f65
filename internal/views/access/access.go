// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// AllRoles stands for the roles of members of system:masters.
const AllRoles = "*"

// Role names a role: Role/NAME or ClusterRole/NAME.
func Role(ref rbacv1.RoleRef) string { return ref.Kind + "/" + ref.Name }

// Binding is what a RoleBinding or a ClusterRoleBinding contains.
type Binding struct {
	// Role names the role, as Role does.
	Role string
	// Verdict is what the role grants.
	Verdict Verdict
	// Subjects are who gets it.
	Subjects []Subject
	// Version is the number of the binding's last change.
	Version uint64
}

// Grant is what a subject has in one namespace by RoleBindings.
type Grant struct {
	Rights
	// Roles are the names of the roles, sorted.
	Roles []string
	// Version is the number of the last change of a binding.
	Version uint64
}

// Grants are what the RoleBindings of one namespace give.
type Grants map[Subject]Grant

// GrantsOf reads the RoleBindings of a namespace whose roles exist. Tenants may bind hundreds of roles to the same subjects, so each list is
// sorted once.
func GrantsOf(namespace string, bindings []Binding) Grants {
	grants := Grants{}
	for _, b := range bindings {
		rights := b.Verdict.In(namespace)
		for _, s := range b.Subjects {
			g := grants[s]
			grants[s] = Grant{Rights: g.Rights.Or(rights), Roles: append(g.Roles, b.Role), Version: max(g.Version, b.Version)}
		}
	}
	for s, g := range grants {
		slices.Sort(g.Roles)
		g.Roles = slices.Clip(slices.Compact(g.Roles))
		grants[s] = g
	}
	return grants
}

// Equal reports whether two namespaces' bindings give the same.
func (g Grants) Equal(other Grants) bool { return maps.EqualFunc(g, other, Grant.equal) }

func (g Grant) equal(other Grant) bool {
	return g.Rights == other.Rights && g.Version == other.Version && slices.Equal(g.Roles, other.Roles)
}

// Cluster is what ClusterRoleBindings give.
type Cluster map[Subject]Everywhere

// Everywhere is what a subject has by ClusterRoleBindings.
type Everywhere struct {
	// Rights hold in every namespace.
	Rights
	// Roles are the names of the roles that allow to get every Namespace, sorted.
	Roles []string
	// Named are the names of the roles, sorted, that allow to get single Namespaces, by the names of those.
	Named map[string][]string
}

// ClusterOf reads the ClusterRoleBindings whose roles exist. Those that grant nothing here are left out.
func ClusterOf(bindings []Binding) Cluster {
	cluster := Cluster{}
	for _, b := range bindings {
		if !b.Verdict.Any() && len(b.Verdict.Names) == 0 {
			continue
		}
		for _, s := range b.Subjects {
			e := cluster[s]
			e.Rights = e.Rights.Or(b.Verdict.Rights)
			if b.Verdict.Get {
				e.Roles = with(e.Roles, b.Role)
			}
			for _, name := range b.Verdict.Names {
				if e.Named == nil {
					e.Named = map[string][]string{}
				}
				e.Named[name] = with(e.Named[name], b.Role)
			}
			cluster[s] = e
		}
	}
	return cluster
}

// Equal reports whether ClusterRoleBindings give the same.
func (c Cluster) Equal(other Cluster) bool { return maps.EqualFunc(c, other, Everywhere.equal) }

func (e Everywhere) equal(other Everywhere) bool {
	return e.Rights == other.Rights && slices.Equal(e.Roles, other.Roles) &&
		maps.EqualFunc(e.Named, other.Named, func(a, b []string) bool { return slices.Equal(a, b) })
}

// with adds a name to a sorted list, once, and leaves the list that it was given as it is.
func with(names []string, name string) []string {
	i, found := slices.BinarySearch(names, name)
	if found {
		return names
	}
	return slices.Insert(slices.Clip(slices.Clone(names)), i, name)
}

// Answer is what a user may in one namespace, and by which roles.
type Answer struct {
	Rights
	// Roles are those that the RoleBindings of the namespace give, and those that ClusterRoleBindings give if they allow to get it.
	// Sorted.
	Roles []string
	// Version is the number of the last change of a RoleBinding that counts.
	Version uint64
}

// Of answers for a user and a namespace.
func Of(u User, cluster Cluster, namespace string, grants Grants) Answer {
	if u.master {
		return Answer{Rights: Rights{Get: true, List: true}, Roles: []string{AllRoles}}
	}
	var a Answer
	for _, s := range u.subjects {
		if g, ok := grants[s]; ok {
			a.Rights = a.Rights.Or(g.Rights)
			a.Version = max(a.Version, g.Version)
			a.add(g.Roles)
		}
		if e, ok := cluster[s]; ok {
			a.Rights = a.Rights.Or(e.Rights)
			a.add(e.Roles)
			if roles := e.Named[namespace]; roles != nil {
				a.Get = true
				a.add(roles)
			}
		}
	}
	return a
}

// add adds roles. The first list is shared, and never changed.
func (a *Answer) add(roles []string) {
	if len(a.Roles) == 0 {
		a.Roles = roles
		return
	}
	for _, r := range roles {
		a.Roles = with(a.Roles, r)
	}
}

// Scope is where a user may have a right by ClusterRoleBindings.
type Scope struct {
	// All are the rights that hold in every namespace.
	All Rights
	// Names are single Namespaces that the user may get, if they exist. In no order, and maybe twice.
	Names []string
}

// ScopeOf reads what ClusterRoleBindings give a user.
func ScopeOf(u User, cluster Cluster) Scope {
	if u.master {
		return Scope{All: Rights{Get: true, List: true}}
	}
	var s Scope
	for _, subject := range u.subjects {
		e := cluster[subject]
		s.All = s.All.Or(e.Rights)
		s.Names = slices.AppendSeq(s.Names, maps.Keys(e.Named))
	}
	return s
}
