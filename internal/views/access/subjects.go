// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"slices"
	"unique"

	rbacv1 "k8s.io/api/rbac/v1"
)

// masters is the group whose members may do everything, regardless of RBAC.
const masters = "system:masters"

// Subject is a user or a group by its name. Equal ones share their memory.
type Subject = unique.Handle[subject]

type subject struct {
	group bool
	name  string
}

// UserSubject is the subject of a user's name.
func UserSubject(name string) Subject { return unique.Make(subject{name: name}) }

// GroupSubject is the subject of a group's name.
func GroupSubject(name string) Subject { return unique.Make(subject{group: true, name: name}) }

// ServiceAccountName is how the API server knows a service account after authentication.
func ServiceAccountName(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

// SubjectsOf reads the subjects of a binding in a namespace, or of a ClusterRoleBinding if that is empty: each once, in no
// order. A service account without a namespace is one of the binding's; in a ClusterRoleBinding it is nobody.
func SubjectsOf(namespace string, subjects []rbacv1.Subject) []Subject {
	found := make([]Subject, 0, len(subjects))
	known := make(map[Subject]bool, len(subjects))
	add := func(s Subject) {
		if !known[s] {
			known[s] = true
			found = append(found, s)
		}
	}
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			add(UserSubject(s.Name))
		case rbacv1.GroupKind:
			add(GroupSubject(s.Name))
		case rbacv1.ServiceAccountKind:
			in := s.Namespace
			if in == "" {
				in = namespace
			}
			if in != "" {
				add(UserSubject(ServiceAccountName(in, s.Name)))
			}
		}
	}
	return found
}

// User is who asks, as the API server has authenticated.
type User struct {
	// Name and Groups are those of the request.
	Name   string
	Groups []string

	subjects []Subject
	master   bool
}

// NewUser is a user with the groups of a request. Other properties of the request mean nothing to RBAC.
func NewUser(name string, groups []string) User {
	groups = slices.Clone(groups)
	slices.Sort(groups)
	groups = slices.Compact(groups)
	u := User{Name: name, Groups: groups, subjects: []Subject{UserSubject(name)}, master: slices.Contains(groups, masters)}
	for _, g := range groups {
		u.subjects = append(u.subjects, GroupSubject(g))
	}
	return u
}

// Subjects are what bindings may call the user.
func (u User) Subjects() []Subject { return u.subjects }
