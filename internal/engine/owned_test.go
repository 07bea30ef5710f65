// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestOwnedByANamespacedOwner: its children are in its own namespace, and have a controller reference with its UID.
func TestOwnedByANamespacedOwner(t *testing.T) {
	owner := &thing{}
	owner.Namespace, owner.Name, owner.UID = "ns", "w", "uid-1"
	s := Scope[*thing]{Obj: owner, runner: &runner[*thing]{gvk: schema.GroupVersionKind{Group: "test.acme.com", Version: "v1", Kind: "Thing"}}}
	for _, tc := range []struct {
		reason, namespace string
		ref               metav1.OwnerReference
		want              bool
	}{
		{"its own", "ns", metav1.OwnerReference{APIVersion: "test.acme.com/v1", Kind: "Thing", Name: "w", UID: "uid-1"}, true},
		{"by another version", "ns", metav1.OwnerReference{APIVersion: "test.acme.com/v2", Kind: "Thing", Name: "w", UID: "uid-1"}, true},
		{"in another namespace", "other", metav1.OwnerReference{APIVersion: "test.acme.com/v1", Kind: "Thing", Name: "w", UID: "uid-1"}, false},
		{"of a former object of the name", "ns", metav1.OwnerReference{APIVersion: "test.acme.com/v1", Kind: "Thing", Name: "w", UID: "uid-0"}, false},
		{"of another kind", "ns", metav1.OwnerReference{APIVersion: "test.acme.com/v1", Kind: "Other", Name: "w", UID: "uid-1"}, false},
		{"of another group", "ns", metav1.OwnerReference{APIVersion: "evil.com/v1", Kind: "Thing", Name: "w", UID: "uid-1"}, false},
	} {
		for _, controls := range []bool{true, false} {
			tc.ref.Controller = new(controls)
			child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: tc.namespace, Name: "c", OwnerReferences: []metav1.OwnerReference{tc.ref}}}
			if got := s.Owned(child); got != (tc.want && controls) {
				t.Errorf("%s, with a controller: %v: owned is %v", tc.reason, controls, got)
			}
		}
	}
}

// TestClaimsOfAClusterScopedOwner: in a declared place, children are known by name; elsewhere there are none.
func TestClaimsOfAClusterScopedOwner(t *testing.T) {
	owner := &thing{}
	owner.Name, owner.UID = "w", "uid-1"
	s := Scope[*thing]{Obj: owner, runner: &runner[*thing]{Config: Config[*thing]{
		Name: "thing", ByMark: true,
		Places: func(*thing) []string { return []string{"place"} },
		Proves: func(_ *thing, o client.Object) bool { return slices.Contains([]string{"q"}, o.GetName()) },
	}}}
	marked := func(namespace, name string) client.Object {
		labels, annotations := s.marks()
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, Annotations: annotations}}
	}
	for _, tc := range []struct {
		namespace, name string
		want            bool
	}{
		{"place", "q", true}, {"place", "other", false}, {"elsewhere", "q", false}, {"", "q", true}, {"", "other", false},
	} {
		if got := s.claims(marked(tc.namespace, tc.name)); got != tc.want {
			t.Errorf("%q in %q: claimed is %v", tc.name, tc.namespace, got)
		}
		if s.Owned(marked(tc.namespace, tc.name)) && tc.namespace != "" {
			t.Errorf("%q in %q counts without a look at its Namespace", tc.name, tc.namespace)
		}
	}
}

// TestMarksProveNothing: what holds data is not the owner's by its marks alone, which a tenant may have copied, no more than any
// other child.
// A Namespace, which no tenant may mark, is; but only one of the owner's places, and not by its name alone.
func TestMarksProveNothing(t *testing.T) {
	namespaced, cluster := &thing{}, &thing{}
	namespaced.Namespace, namespaced.Name, namespaced.UID = "ns", "w", "uid-1"
	cluster.Name, cluster.UID = "w", "uid-1"
	keeps := []client.Object{&corev1.PersistentVolumeClaim{}, &corev1.Namespace{}}
	ofNamespaced := Scope[*thing]{Obj: namespaced, runner: &runner[*thing]{Config: Config[*thing]{Name: "thing", Keeps: keeps}}}
	ofCluster := Scope[*thing]{Obj: cluster, runner: &runner[*thing]{Config: Config[*thing]{
		Name: "thing", Keeps: keeps, ByMark: true,
		Places: func(*thing) []string { return []string{"place"} },
		Proves: func(*thing, client.Object) bool { return false },
	}}}
	for _, tc := range []struct {
		reason string
		owner  Scope[*thing]
		live   client.Object
		marked bool
		want   bool
	}{
		{"a claim in its namespace", ofNamespaced, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data"}}, true, false},
		{"a quota in its namespace", ofNamespaced, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q"}}, true, false},
		{"a claim in its place", ofCluster, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "place", Name: "data"}}, true, false},
		{"its place", ofCluster, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "place"}}, true, true},
		{"a Namespace of the name of its place", ofCluster, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "place"}}, false, false},
		{"another Namespace", ofCluster, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}, true, false},
	} {
		if tc.marked {
			labels, annotations := tc.owner.marks()
			tc.live.SetLabels(labels)
			tc.live.SetAnnotations(annotations)
		}
		if got := tc.owner.claims(tc.live); got != tc.want {
			t.Errorf("%s, with the marks: %v, counts: %v", tc.reason, tc.marked, got)
		}
	}
}
