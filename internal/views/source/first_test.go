// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/views/access"
)

// master is a user who sees all namespaces.
var master = access.NewUser("root", []string{"system:masters"})

// A replica is not ready until it has the rows: an empty answer would delete everything that a client has.
func TestTheFirstSnapshotIsComplete(t *testing.T) {
	s := offline(t)
	const count = 3
	for i := range count {
		name := fmt.Sprint("space-", i)
		add(t, s.informer.namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		s.mark(name)
	}
	add(t, s.informer.clusterRoles, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Rules: access.RulesOf(access.Rights{Get: true})})
	add(t, s.informer.clusterRoleBindings, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "all"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "all"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "sam"}},
	})
	s.markCluster()
	if err := s.Check(); err == nil || s.Now() != nil {
		t.Fatalf("it is ready before it has a snapshot: %v", err)
	}
	s.publish()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if got := s.Now().Gettable(access.NewUser("sam", nil)); len(got) != count {
		t.Errorf("sam may get %v of %d namespaces", got, count)
	}
	select {
	case <-s.Now().Superseded():
		t.Error("the first snapshot is superseded")
	default:
	}
}

// A cluster without anything has a snapshot, too.
func TestAnEmptyClusterIsReady(t *testing.T) {
	s := offline(t)
	s.publish()
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// As the one above, of an API server with so many namespaces that their rows take a while.
func TestNoSnapshotIsPublishedBeforeTheFirstOne(t *testing.T) {
	const count = 3000
	a := serve(t)
	items := make([]string, count)
	for i := range items {
		items[i] = fmt.Sprintf(`{"metadata":{"name":"space-%d","uid":"%d","resourceVersion":"7"},"status":{"phase":"Active"}}`, i, i)
	}
	a.set("namespaces", "["+strings.Join(items, ",")+"]")
	s := run(t, a)
	for s.Now() == nil { // without a pause, in which the second one could come
		runtime.Gosched()
	}
	if got := len(s.Now().Gettable(master)); got != count {
		t.Errorf("the first snapshot has %d of %d namespaces", got, count)
	}
}

// ownedSpace and itsOwner are a namespace and its AcmeNamespace, as lists of one.
const (
	ownedSpace = `[{"metadata":{"name":"space","uid":"1","resourceVersion":"7","labels":{"` + names.LabelOwnerUID + `":"2"}}}]`
	itsOwner   = `[{"apiVersion":"tenancy.acme.com/v1alpha1","kind":"AcmeNamespace","metadata":{"name":"acme","uid":"2","resourceVersion":"8"},
		"spec":{"namespaceName":"space","adminUsername":"sam","deploymentTier":"dev"}}]`
)

// AcmeNamespaces are read before the first snapshot: without them tenants and tiers are blank, and the sum of a tenant is missing.
func TestTheFirstSnapshotHasTenants(t *testing.T) {
	a := serve(t)
	a.set("namespaces", ownedSpace)
	a.set("acmenamespaces", itsOwner)
	release := a.hold("acmenamespaces")
	s := run(t, a)
	for _, i := range s.informer.hard() {
		until(t, i.registration.HasSynced)
	}
	waits := func(synced cache.InformerSynced) bool { return !synced() }
	if err := s.Check(); err == nil || !slices.ContainsFunc(s.informer.synced(), waits) {
		t.Errorf("it does not wait for AcmeNamespaces: %v", err)
	}
	release()
	until(t, func() bool { return s.Now() != nil })
	if got := s.Now().Tenants(master); !slices.Equal(got, []string{"sam"}) {
		t.Errorf("the first snapshot has the tenants %v", got)
	}
}

// Where the CustomResourceDefinition is missing, there are namespaces without tenants. It is read once it is installed.
func TestAMissingDefinitionOfAcmeNamespacesIsNotWaitedFor(t *testing.T) {
	a := serve(t)
	a.set("namespaces", ownedSpace)
	s := run(t, a)
	until(t, func() bool { return s.Check() == nil })
	if names, tenants := s.Now().Gettable(master), s.Now().Tenants(master); len(names) != 1 || len(tenants) != 0 {
		t.Errorf("the namespaces are %v, of the tenants %v", names, tenants)
	}
	a.set("acmenamespaces", itsOwner)
	until(t, func() bool { return slices.Equal(s.Now().Tenants(master), []string{"sam"}) })
}
