// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests holds what the bundle says against a real API server, without the Operator Lifecycle
// Manager.
package manifests

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

const (
	// namespace is not the one that the bundle suggests, since it may be installed in any.
	namespace = "elsewhere"
	operator  = "system:serviceaccount:" + namespace + ":platform-operator-controller-manager"
	patience  = 2 * time.Minute
)

// TestBundleIsAccepted does what OLM does with a bundle's manifests: it applies each, those that have one in the
// namespace of the installation. It is Slow: other tests apply what the bundle is made of, and make bundle-check compares the two.
func TestBundleIsAccepted(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	plane, err := testenv.Start(testenv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := apiextensionsv1.AddToScheme(clientgoscheme.Scheme); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(plane.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	csv := applyBundle(t, admin)
	crds := envtest.CRDInstallOptions{Paths: []string{testenv.RepoFile("bundle", "manifests")}, ErrorIfPathMissing: true}
	if _, err := envtest.InstallCRDs(plane.Config, crds); err != nil {
		t.Fatalf("awaiting the CRDs: %v", err)
	}

	t.Run("alerts", func(t *testing.T) { applyAlerts(t, plane.Config, admin) })
	t.Run("examples", func(t *testing.T) { createExamples(t, admin, csv) })
	t.Run("permissions", func(t *testing.T) {
		for _, want := range []authorizationv1.ResourceAttributes{
			{Namespace: namespace, Verb: "get", Resource: "secrets", Name: "any"},
			{Namespace: namespace, Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Name: "platform-operator.acme.com"},
			{Namespace: namespace, Verb: "watch", Resource: "configmaps", Name: "platform-operator-config"},
		} {
			err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
				return may(ctx, admin, operator, want)
			})
			if err != nil {
				t.Errorf("the operator may not %s %s in its namespace: %v", want.Verb, want.Resource, err)
			}
			want.Namespace = "default"
			if allowed, err := may(t.Context(), admin, operator, want); err != nil || allowed {
				t.Errorf("may the operator %s %s in another namespace? %v, %v", want.Verb, want.Resource, allowed, err)
			}
		}
	})
	t.Run("permissions of the views", func(t *testing.T) { checkViews(t, admin) })
}

// checkViews checks what OLM does not fold into the ClusterServiceVersion: who may use the views, what the roles for people and billing allow,
// and that the operator may register one API. Each line is allowed or denied.
func checkViews(t *testing.T, admin client.Client) {
	const group, everybody = "views.acme.com", "system:authenticated"
	grant(t, admin, "billing", "platform-operator-usage-reader")
	grant(t, admin, "visitor", "platform-operator-namespace-visitor")
	for _, tc := range []struct {
		user    string
		groups  []string
		what    authorizationv1.ResourceAttributes
		allowed bool
	}{
		{"anybody", []string{everybody}, authorizationv1.ResourceAttributes{Verb: "watch", Group: group, Resource: "mynamespaces"}, true},
		{"anybody", []string{everybody}, authorizationv1.ResourceAttributes{Verb: "list", Group: group, Resource: "tenantusages"}, true},
		{"anybody", []string{everybody}, authorizationv1.ResourceAttributes{Verb: "delete", Group: group, Resource: "mynamespaces"}, false},
		{"anybody", []string{everybody}, authorizationv1.ResourceAttributes{Verb: "list", Resource: "namespaces"}, false},
		{"system:anonymous", []string{"system:unauthenticated"}, authorizationv1.ResourceAttributes{Verb: "list", Group: group, Resource: "mynamespaces"}, false},
		{"billing", nil, authorizationv1.ResourceAttributes{Verb: "list", Resource: "resourcequotas", Namespace: "any"}, true},
		{"billing", nil, authorizationv1.ResourceAttributes{Verb: "get", Resource: "namespaces", Name: "any", Namespace: "any"}, true},
		{"billing", nil, authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods", Namespace: "any"}, false},
		{"visitor", nil, authorizationv1.ResourceAttributes{Verb: "get", Resource: "namespaces", Name: "any", Namespace: "any"}, true},
		{"visitor", nil, authorizationv1.ResourceAttributes{Verb: "list", Resource: "resourcequotas", Namespace: "any"}, false},
	} {
		if tc.allowed {
			err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
				return may(ctx, admin, tc.user, tc.what, tc.groups...)
			})
			if err != nil {
				t.Errorf("%s may not %s %s: %v", tc.user, tc.what.Verb, tc.what.Resource, err)
			}
		} else if allowed, err := may(t.Context(), admin, tc.user, tc.what, tc.groups...); err != nil || allowed {
			t.Errorf("may %s %s %s? %v, %v", tc.user, tc.what.Verb, tc.what.Resource, allowed, err)
		}
	}
}

// grant binds a ClusterRole of the bundle in the cluster.
func grant(t *testing.T, admin client.Client, user, role string) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if err := admin.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
}

// applyBundle applies the manifests but for the ClusterServiceVersion, which it returns.
func applyBundle(t *testing.T, admin client.Client) *operatorsv1alpha1.ClusterServiceVersion {
	t.Helper()
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	files, err := filepath.Glob(testenv.RepoFile("bundle", "manifests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no bundle: %v", err)
	}
	for _, file := range files {
		objects, err := testenv.ReadObjects(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.GetKind() == operatorsv1alpha1.ClusterServiceVersionKind {
				readCSV(t, file, csv)
				continue
			}
			applyObject(t, admin, o)
		}
	}
	if csv.Name == "" {
		t.Fatal("the bundle has no ClusterServiceVersion")
	}
	return csv
}

func readCSV(t *testing.T, file string, csv *operatorsv1alpha1.ClusterServiceVersion) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(text, csv)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func applyObject(t *testing.T, admin client.Client, o *unstructured.Unstructured) {
	t.Helper()
	place(t, admin, o)
	if err := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("olm")); err != nil {
		t.Errorf("%s %s is rejected: %v", o.GetKind(), o.GetName(), err)
	}
}

// place sets the namespace of an object that has to have one.
func place(t *testing.T, admin client.Client, o *unstructured.Unstructured) {
	t.Helper()
	namespaced, err := admin.IsObjectNamespaced(o)
	if err != nil {
		t.Fatalf("%s: %v", o.GetKind(), err)
	}
	if namespaced {
		o.SetNamespace(namespace)
	}
}

// createExamples creates what consoles offer as examples.
func createExamples(t *testing.T, admin client.Client, csv *operatorsv1alpha1.ClusterServiceVersion) {
	t.Helper()
	var examples []*unstructured.Unstructured
	if err := json.Unmarshal([]byte(csv.Annotations["alm-examples"]), &examples); err != nil || len(examples) == 0 {
		t.Fatalf("examples %v: %v", examples, err)
	}
	for _, example := range examples {
		place(t, admin, example)
		if err := admin.Create(t.Context(), example); err != nil {
			t.Errorf("%s %s is rejected: %v", example.GetKind(), example.GetName(), err)
		}
	}
}

func may(ctx context.Context, admin client.Client, user string, what authorizationv1.ResourceAttributes, groups ...string) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups, ResourceAttributes: &what}}
	err := admin.Create(ctx, review)
	return review.Status.Allowed, err
}
