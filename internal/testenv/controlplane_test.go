// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/testenv"
)

func TestRepoFile(t *testing.T) {
	if _, err := os.Stat(testenv.RepoFile("internal", "testenv", "controlplane.go")); err != nil {
		t.Error(err)
	}
	t.Chdir(t.TempDir())
	defer func() {
		if recover() == nil {
			t.Error("RepoFile outside of the repository did not panic")
		}
	}()
	testenv.RepoFile("go.mod")
}

func TestMissingBinariesSayHowToGetThem(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", filepath.Join(t.TempDir(), "nowhere"))
	_, err := testenv.Start(testenv.Options{})
	if err == nil || !strings.Contains(err.Error(), `run "make test" or "go run ./hack/cluster build"`) {
		t.Errorf("Start = %v", err)
	}
}

func TestMissingCRDsAreAnError(t *testing.T) {
	_, err := testenv.Start(testenv.Options{CRDs: []string{filepath.Join(t.TempDir(), "nowhere")}})
	if err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("Start = %v", err)
	}
}

func TestControllers(t *testing.T) {
	plane, err := testenv.Start(testenv.Options{WithControllers: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin, err := client.New(plane.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "busy"}}
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner", Namespace: ns.Name}}
	create(t, admin, ns)
	create(t, admin, owner)
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "owned", Namespace: ns.Name,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}},
	}}
	create(t, admin, owned)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "quota", Namespace: ns.Name},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("5")}},
	}
	create(t, admin, quota)

	t.Run("a quota is counted", func(t *testing.T) {
		eventually(t, func(ctx context.Context) bool {
			used := quota.Status.Used["count/configmaps"]
			return admin.Get(ctx, client.ObjectKeyFromObject(quota), quota) == nil && used.Value() == 2
		})
	})
	t.Run("an owner takes its children along", func(t *testing.T) {
		if err := admin.Delete(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		eventually(t, gone(admin, owned))
	})
	t.Run("a user may do what RBAC says", func(t *testing.T) {
		cfg, err := plane.User("nobody", "nogroup")
		if err != nil {
			t.Fatal(err)
		}
		nobody, err := client.New(cfg, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := nobody.Get(t.Context(), client.ObjectKeyFromObject(ns), ns); !apierrors.IsForbidden(err) ||
			!strings.Contains(err.Error(), `"nobody"`) {
			t.Errorf("Get = %v", err)
		}
	})
	t.Run("a deleted namespace goes", func(t *testing.T) {
		if err := admin.Delete(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		eventually(t, gone(admin, ns))
	})
}

func create(t *testing.T, cl client.Client, o client.Object) {
	t.Helper()
	if err := cl.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func gone(cl client.Client, o client.Object) func(context.Context) bool {
	return func(ctx context.Context) bool {
		return apierrors.IsNotFound(cl.Get(ctx, client.ObjectKeyFromObject(o), o))
	}
}

func eventually(t *testing.T, holds func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for !holds(ctx) {
		select {
		case <-ctx.Done():
			t.Fatal("did not come true within two minutes")
		case <-time.After(50 * time.Millisecond):
		}
	}
}
