// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/registration"
)

// roleOfOLM is a ClusterRole as OLM makes it for a ClusterServiceVersion in the operator's namespace, with the rules of the operator.
func (c *cluster) roleOfOLM(csv string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	c.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{GenerateName: csv + "-", Labels: map[string]string{
			"olm.owner": csv, "olm.owner.namespace": ops, "olm.owner.kind": "ClusterServiceVersion",
		}},
		Rules: append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}}),
	}
	if len(rules) == 0 {
		operator := &rbacv1.ClusterRole{}
		c.must(admin.Get(c.Context(), client.ObjectKey{Name: "platform-operator-manager-role"}, operator))
		role.Rules = operator.Rules
	}
	c.must(admin.Create(c.Context(), role))
	c.Cleanup(func() { c.remove(role) })
	return role
}

func byOLM(csv string) func(*registration.Options) {
	return func(o *registration.Options) { o.ClusterServiceVersion = csv }
}

// owners are the names of the owners of the APIService.
func (c *cluster) owners() (names []string) {
	if u := c.registered(); u != nil {
		for _, owner := range u.GetOwnerReferences() {
			names = append(names, owner.Name)
		}
	}
	slices.Sort(names)
	return names
}

// When OLM removes the operator, it first deletes the ClusterRoles that it made, and keeps that of the users. From then on neither the
// operator nor the reader may do anything, and while both end the endpoints may still be shown as ready.
func TestItDoesNotOutliveItsClusterServiceVersion(t *testing.T) {
	c := newCluster(t)
	one := c.roleOfOLM("x.v1")
	c.roleOfOLM("another-operator.v1", rbacv1.PolicyRule{
		APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, Verbs: []string{"patch"},
	})
	c.start(byOLM("x.v1"))
	c.eventually("it is available", c.available)
	owned := func(roles ...*rbacv1.ClusterRole) func() bool {
		return func() bool {
			var want []string
			for _, r := range roles {
				want = append(want, r.Name)
			}
			slices.Sort(want)
			return slices.Equal(c.owners(), want)
		}
	}
	c.eventually("it belongs to the role of the operator", owned(one))
	before := c.registered().GetUID()

	two := c.roleOfOLM("x.v2")
	c.eventually("it belongs to those of both versions, although the first one leads", owned(one, two))
	c.must(admin.Delete(t.Context(), one))
	c.eventually("it belongs to that of the second one", owned(two))
	c.start(byOLM("x.v2"))
	c.settle()
	if u := c.registered(); u == nil || u.GetUID() != before {
		t.Error("the upgrade took it away")
	}

	c.stop()
	c.must(admin.Delete(t.Context(), two))
	took := c.eventually("it is collected without an operator", func() bool { return c.registered() == nil })
	c.took("the collection", took, time.Minute)
	if c.role() == nil {
		t.Error("the role of the users is gone")
	}

	c.start(byOLM("x.v2"))
	c.eventually("an event says what is missing", c.eventOf("Unregistered", "NoRole"))
	three := c.roleOfOLM("x.v3")
	c.eventually("it is registered again", owned(three))
	c.must(admin.Delete(t.Context(), three))
	c.eventually("it is gone, while the operator still runs", func() bool { return c.registered() == nil })
	c.settle()
	if c.registered() != nil {
		t.Error("it is registered again, for no role")
	}
}
