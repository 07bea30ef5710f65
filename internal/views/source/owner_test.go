// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	tenancy "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// offline is a source that no API server answers. Its informers know what a test adds to them.
func offline(t *testing.T) *Source {
	t.Helper()
	s, err := New(&rest.Config{Host: "http://127.0.0.1:1"}, clocktesting.NewFakeClock(time.Unix(1e9, 0)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t *testing.T, i *informer, o any) {
	t.Helper()
	if err := i.GetIndexer().Add(o); err != nil {
		t.Fatal(err)
	}
}

func acme(name, uid, target, admin string) *tenancy.AcmeNamespace {
	return &tenancy.AcmeNamespace{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), ResourceVersion: "7"},
		Spec:       tenancy.AcmeNamespaceSpec{NamespaceName: target, AdminUsername: admin, DeploymentTier: "dev"},
	}
}

// Of many AcmeNamespaces for one name, the owner by UID counts, wherever it comes among them. Without one there is no owner.
func TestTheOwnerByUIDCounts(t *testing.T) {
	s := offline(t)
	for i := range 20 {
		add(t, s.informer.acmeNamespaces, acme(fmt.Sprint("impostor-", i), fmt.Sprint("uid-", i), "a", "impostor"))
	}
	add(t, s.informer.acmeNamespaces, acme("unborn", "", "a", "impostor"))
	add(t, s.informer.acmeNamespaces, acme("ours", "uid-ours", "a", "sam"))
	add(t, s.informer.acmeNamespaces, acme("elsewhere", "uid-elsewhere", "b", "kim"))
	labelled := acme("labelled", "uid-labelled", "a", "sam")
	labelled.Labels = map[string]string{LabelTenant: "team"}
	add(t, s.informer.acmeNamespaces, labelled)
	for _, c := range []struct{ uid, name, tenant string }{
		{"uid-ours", "ours", "sam"},
		{"uid-labelled", "labelled", "team"},
		{"uid-gone", "", ""},
		{"", "", ""},
		{"uid-elsewhere", "", ""}, // it owns another Namespace
	} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{names.LabelOwnerUID: c.uid}}}
		got := s.informer.owner(ns)
		switch {
		case got == nil && c.name == "":
		case got == nil || got.Name != c.name || got.Tenant != c.tenant || got.Tier != "dev" || got.Version != 7:
			t.Errorf("the owner of a Namespace of %q is %+v", c.uid, got)
		}
	}
}

// An AcmeNamespace that names another Namespace than before has both read again: the former one has no tenant any more.
func TestTheFormerNamespaceIsReadAgain(t *testing.T) {
	s := offline(t)
	handler := s.handler(s.acmeNamespaceChanged)
	before, now := acme("a", "uid", "former", "sam"), acme("a", "uid", "latter", "sam")
	now.ResourceVersion = "9"
	handler.OnAdd(before, false)
	wantTaken(t, s, "it is new", "former")
	handler.OnUpdate(before, now)
	wantTaken(t, s, "it has changed", "former", "latter")
	handler.OnDelete(now)
	wantTaken(t, s, "it is gone", "latter")
	if seen := s.seen.Load(); seen != 9 {
		t.Errorf("the largest number that was seen is %d", seen)
	}

	add(t, s.informer.namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "former", Labels: map[string]string{names.LabelOwnerUID: "uid"}}})
	add(t, s.informer.acmeNamespaces, before)
	if n := s.informer.namespace("former"); n.Tenant() != "sam" {
		t.Errorf("the tenant is %q", n.Tenant())
	}
	if err := s.informer.acmeNamespaces.GetIndexer().Update(now); err != nil {
		t.Fatal(err)
	}
	if n := s.informer.namespace("former"); n.Tenant() != "" {
		t.Errorf("the former Namespace is still that of %q", n.Tenant())
	}
}
