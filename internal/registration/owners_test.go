// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	worlds "github.com/acme/platform-operator/internal/testenv/explore"
)

// roleOf is a ClusterRole with the right to do something with an APIService.
func roleOf(name, apiService string, verbs ...string) rbacv1.ClusterRole {
	return rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid of " + name)}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"patch"}},
		{APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, ResourceNames: []string{apiService}, Verbs: verbs},
	}}
}

func TestOwners(t *testing.T) {
	mine, version2 := roleOf("x.v1-abc", apiServiceName, "get", "patch", "delete"), roleOf("x.v2-abc", apiServiceName, "patch")
	reader, other := roleOf("x.v1-def", apiServiceName, "get", "delete"), roleOf("y.v1-abc", "v1.example.com", "patch")
	ending := roleOf("x.v0-abc", apiServiceName, "patch")
	ending.DeletionTimestamp = &metav1.Time{Time: noon}
	users := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: ours.Role(), UID: "uid"}}
	for _, tc := range []struct {
		reason, csv string
		anchors     []rbacv1.ClusterRole
		want        string
	}{
		{"without OLM, the role of the users", "", []rbacv1.ClusterRole{users}, "platform-operator-views-user"},
		{"none", "", nil, ""},
		{"with OLM, the role that it made for the operator", "x.v1", []rbacv1.ClusterRole{other, reader, mine}, "x.v1-abc"},
		{"of both versions, in any order", "x.v1", []rbacv1.ClusterRole{version2, mine}, "x.v1-abc x.v2-abc"},
		{"of the other version only", "x.v1", []rbacv1.ClusterRole{version2}, "x.v2-abc"},
		{"one that is being deleted", "x.v1", []rbacv1.ClusterRole{ending}, ""},
		{"with OLM, never the role of the users, which OLM keeps", "x.v1", []rbacv1.ClusterRole{users, other, reader}, ""},
	} {
		o := Options{Names: ours, ClusterServiceVersion: tc.csv}
		var got []string
		for _, owner := range o.owners(tc.anchors) {
			got = append(got, owner.Name)
			if owner.UID == "" || owner.Kind != "ClusterRole" || owner.APIVersion != "rbac.authorization.k8s.io/v1" || owner.BlockOwnerDeletion != nil {
				t.Errorf("%s: %v", tc.reason, owner)
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %v", tc.reason, got)
		}
	}
}

// lifecycle is a world of an installation by OLM: which ClusterRoles there are, and whether there is an APIService, and of which owners.
type lifecycle struct {
	// role says of each version whether the role is there that OLM made for it. That of the users is there to the end and after it.
	role [2]bool
	// leader is the version of the operator that leads, or -1; seen are the roles that it has seen.
	leader int
	seen   [2]bool
	// registered, and owner says of each role whether the APIService belongs to it; users that it belongs to the role of the users.
	registered bool
	owner      [2]bool
	users      bool
	// safe is true once a leader has registered for the roles of both versions, and missing when the API was collected in spite of that.
	safe, missing bool
}

var versions = []string{"x.v1", "x.v2"}

// next are all steps of OLM, of leaders, whose caches may be behind and whose requests may be allowed a moment longer, and of the garbage
// collector.
func (w lifecycle) next(do func(string, lifecycle)) {
	step := func(by string, change func(*lifecycle)) {
		x := w
		change(&x)
		do(by, x)
	}
	if w.role[0] && !w.role[1] {
		step("OLM installs the second version", func(x *lifecycle) { x.role[1] = true })
	}
	for i := range w.role {
		if w.role[i] {
			step("OLM removes "+versions[i], func(x *lifecycle) { x.role[i] = false })
		}
	}
	if w.leader == 0 && w.role[1] {
		step("the second version leads", func(x *lifecycle) { x.leader, x.seen = 1, w.role })
	}
	if w.leader >= 0 {
		step("the leader ends", func(x *lifecycle) { x.leader = -1 })
		step("the leader sees the roles", func(x *lifecycle) { x.seen = w.role })
		step("the leader decides", func(x *lifecycle) { x.decide() })
	}
	alive := w.users || w.owner[0] && w.role[0] || w.owner[1] && w.role[1]
	if w.registered && !alive {
		step("the garbage collector deletes the APIService", func(x *lifecycle) {
			x.missing = w.safe && w.role[1]
			x.registered, x.owner, x.users, x.safe = false, [2]bool{}, false, false
		})
	}
}

func (w *lifecycle) decide() {
	anchors := []rbacv1.ClusterRole{{ObjectMeta: metav1.ObjectMeta{Name: ours.Role()}}}
	for i, there := range w.seen {
		if there {
			anchors = append(anchors, roleOf(versions[i], apiServiceName, "patch"))
		}
	}
	o := Options{Names: ours, ClusterServiceVersion: versions[w.leader]}
	owners := o.owners(anchors)
	belongs := func(name string) bool {
		return slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.Name == name })
	}
	w.registered = len(owners) > 0
	w.owner, w.users = [2]bool{belongs(versions[0]), belongs(versions[1])}, belongs(ours.Role())
	w.safe = w.registered && w.owner[1]
}

// Whatever the order, an APIService that is left when nobody leads goes with the roles that OLM deletes; and an upgrade does not take it
// away once the leader, of whichever version, has seen the role of the new one.
func TestAnUninstallInAnyOrderLeavesNoRegistration(t *testing.T) {
	space := worlds.Space[lifecycle, lifecycle]{
		First: lifecycle{role: [2]bool{true, false}, seen: [2]bool{true, false}}, Key: worlds.Same[lifecycle],
		Next: func(w lifecycle, do func(string, lifecycle)) { w.next(do) },
		Wrong: func(w lifecycle) string {
			switch {
			case w.registered && w.leader < 0 && w.role == [2]bool{} && w.users:
				return "the operator is gone, and the APIService is left"
			case w.missing:
				return "an upgrade took the APIService away"
			}
			return ""
		},
	}
	way, n := space.Search()
	t.Logf("%d worlds", n)
	if way != nil || n < 50 {
		t.Errorf("%d worlds:\n%s", n, strings.Join(way, "\n"))
	}
}
