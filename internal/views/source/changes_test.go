// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/acme/platform-operator/internal/views/access"
	"github.com/acme/platform-operator/internal/views/rows"
)

// A ClusterRole that is new, gone, or grants something else concerns the namespaces where it is bound, and ClusterRoleBindings. One that
// grants the same concerns nobody.
func TestWhatAClusterRoleConcerns(t *testing.T) {
	s := offline(t)
	add(t, s.informer.roleBindings, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "reader"},
	})
	role := func(label string, verbs ...string) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader", Labels: map[string]string{"a": label}}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: verbs},
		}}
	}
	handler := s.handler(s.clusterRoleChanged)
	want := func(why string, concerned bool) {
		t.Helper()
		got, cluster, _ := s.take()
		if slices.Contains(got, "a") != concerned || cluster != concerned {
			t.Errorf("%s: %v, ClusterRoleBindings %t", why, got, cluster)
		}
	}
	handler.OnAdd(role("x", "get"), false)
	want("it is new", true)
	handler.OnUpdate(role("x", "get"), role("y", "get", "list"))
	want("it grants the same", false)
	handler.OnUpdate(role("x", "get"), role("x"))
	want("it grants less", true)
	handler.OnDelete(role("x", "get"))
	want("it is gone", true)
	handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "reader", Obj: role("x", "get")})
	want("its deletion was missed", true)
}

// A binding to a kind of role that does not exist grants nothing, and neither does a ClusterRoleBinding to a Role.
func TestARoleOfAnotherKindGrantsNothing(t *testing.T) {
	s := offline(t)
	add(t, s.informer.roles, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "r"}})
	for kind, want := range map[string]bool{"Role": true, "ClusterRole": false, "role": false, "": false} {
		if _, ok := s.informer.verdict("a", rbacv1.RoleRef{Kind: kind, Name: "r"}); ok != want {
			t.Errorf("a binding to the kind %q counts: %t", kind, ok)
		}
	}
}

// owned is a namespace of a tenant that a user may get and whose ResourceQuotas the user may list.
func owned(tenant, user string, version uint64) *rows.Namespace {
	return rows.NewNamespace(rows.Facts{
		Name: "a", UID: "uid", Version: version, Phase: corev1.NamespaceActive, Owner: &rows.Owner{Name: "acme", Tenant: tenant},
		Grants: access.GrantsOf("a", []access.Binding{{
			Role: "Role/r", Verdict: access.Verdict{Rights: access.Rights{Get: true, List: true}}, Subjects: []access.Subject{access.UserSubject(user)},
		}}),
	})
}

// Who has lost a right is looked for no longer, the former tenant is summed again, and each content has a horizon of its own.
func TestTheNextSnapshotForgets(t *testing.T) {
	const horizon = 7
	next := func(s *Snapshot, n *rows.Namespace) *Snapshot {
		return s.Next(horizon, map[string]*rows.Namespace{"a": n}, access.Cluster{})
	}
	sam, kim := access.NewUser("sam", nil), access.NewUser("kim", nil)
	first := next(NewSnapshot(), owned("red", "sam", 1))
	if first.Horizon != horizon || !slices.Equal(first.Gettable(sam), []string{"a"}) {
		t.Fatalf("the horizon is %d, and sam may get %v", first.Horizon, first.Gettable(sam))
	}
	second := next(first, owned("blue", "kim", 1))
	if second.Horizon != horizon+1 {
		t.Errorf("another content has the horizon %d", second.Horizon)
	}
	if got := second.Gettable(sam); len(got) > 0 || !slices.Equal(second.Gettable(kim), []string{"a"}) {
		t.Errorf("sam may get %v, and kim %v", got, second.Gettable(kim))
	}
	if _, kept := second.tenants["red"]; kept || second.tenants["blue"] == nil {
		t.Errorf("the tenants are %v", second.tenants)
	}
	if changes, ok := second.Since(first); !ok || !slices.Equal(changes[0].Tenants, []string{"blue", "red"}) {
		t.Errorf("the changes are %v", changes)
	}
	if same := next(second, owned("blue", "kim", 1)); same != second {
		t.Error("an equal content makes another snapshot")
	}
}
