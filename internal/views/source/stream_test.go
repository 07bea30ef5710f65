// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// API servers admit names of Roles and RoleBindings of more than a megabyte. Tenants choose them.
func TestLongNamesDoNotCount(t *testing.T) {
	defer goleak.VerifyNone(t)
	most, more := strings.Repeat("n", maxName), strings.Repeat("n", 1<<20)
	role := func(name string) *rbacv1.Role { return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	binding := func(name, role string) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{Name: role}}
	}
	for resource, tc := range map[string]struct {
		list runtime.Object
		all  []runtime.Object
		want int // how many of these count, the first ones
	}{
		"roles": {
			&rbacv1.RoleList{Items: []rbacv1.Role{*role("a"), *role(most), *role(more)}},
			[]runtime.Object{role("a"), role(most), role(more)},
			2,
		},
		"rolebindings": {
			&rbacv1.RoleBindingList{Items: []rbacv1.RoleBinding{*binding("a", "a"), *binding(most, most), *binding(more, "a"), *binding("a", more)}},
			[]runtime.Object{binding("a", "a"), binding(most, most), binding(more, "a"), binding("a", more)},
			2,
		},
		"namespaces of others": {
			&rbacv1.ClusterRoleList{Items: []rbacv1.ClusterRole{{ObjectMeta: metav1.ObjectMeta{Name: more}}}},
			[]runtime.Object{&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: more}}},
			1,
		},
	} {
		t.Run(resource, func(t *testing.T) {
			from, heard := watch.NewFake(), 0
			lw := counting(&cache.ListWatch{
				ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return tc.list, nil },
				WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return from, nil },
			}, func() { heard++ })
			list, err := lw.ListWithContext(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if n := lengthOf(t, list); n != tc.want || heard != 1 {
				t.Errorf("%d of the list count, want %d; heard %d times", n, tc.want, heard)
			}
			w, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for _, o := range slices.Backward(tc.all) { // what does not count comes first
					from.Add(o)
				}
				from.Stop()
			}()
			n := 0
			for range w.ResultChan() {
				n++
			}
			if n != tc.want || heard != 2+len(tc.all) {
				t.Errorf("%d events, want %d; heard %d times, want %d", n, tc.want, heard, 2+len(tc.all))
			}
		})
	}
}

func lengthOf(t *testing.T, list runtime.Object) int {
	t.Helper()
	switch l := list.(type) {
	case *rbacv1.RoleList:
		return len(l.Items)
	case *rbacv1.RoleBindingList:
		return len(l.Items)
	case *rbacv1.ClusterRoleList:
		return len(l.Items)
	}
	t.Fatalf("a list of %T", list)
	return 0
}

// A reflector that ends does not read what is on its way.
func TestAStoppedStreamLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t)
	from := watch.NewFakeWithChanSize(1, false)
	w := newStream(from, func(watch.Event) bool { return true })
	from.Add(&rbacv1.Role{})
	w.Stop()
	w.Stop()
}
