// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/tenancy"
)

// cluster is as much of a cluster as Admit reads. An error of a type is given instead of its objects.
type cluster struct {
	namespace *corev1.Namespace
	tier      *v1alpha1.DeploymentTier
	others    []v1alpha1.AcmeNamespace

	namespaceErr, tierErr, othersErr error
}

// Get implements client.Reader.
func (c cluster) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch o := o.(type) {
	case *corev1.Namespace:
		return give(c.namespace, o, c.namespaceErr)
	case *v1alpha1.DeploymentTier:
		return give(c.tier, o, c.tierErr)
	default:
		return fmt.Errorf("%s, a %T, must not be read", key, o)
	}
}

// give copies an object that is there.
func give[T any, P interface {
	*T
	DeepCopyInto(P)
}](from, to P, err error) error {
	switch {
	case err != nil:
		return err
	case from == nil:
		return apierrors.NewNotFound(schema.GroupResource{}, "it")
	default:
		from.DeepCopyInto(to)
		return nil
	}
}

// List implements client.Reader.
func (c cluster) List(_ context.Context, l client.ObjectList, opts ...client.ListOption) error {
	o := &client.ListOptions{}
	o.ApplyOptions(opts)
	if o.FieldSelector.String() != "spec.namespaceName=app-y" {
		return errors.New("the index is not used")
	}
	l.(*v1alpha1.AcmeNamespaceList).Items = c.others
	return c.othersErr
}

func TestAdmit(t *testing.T) {
	now := metav1.NewTime(monday)
	leaving := existing()
	leaving.DeletionTimestamp = &now
	override := func(spec v1alpha1.DeploymentTierSpec) *v1alpha1.DeploymentTier {
		return &v1alpha1.DeploymentTier{ObjectMeta: metav1.ObjectMeta{Name: "dev"}, Spec: spec}
	}
	me := func(options ...func(*v1alpha1.AcmeNamespace)) *v1alpha1.AcmeNamespace {
		return asking("me", 10, options...)
	}
	for _, tc := range []struct {
		reason  string
		me      *v1alpha1.AcmeNamespace
		cluster cluster
		owned   bool
		want    string
		adopts  bool
		hard    corev1.ResourceList
	}{
		{"a free name", me(), cluster{}, false, "", false, amounts("cpu", "5", "memory", "10Gi", "pods", "10")},
		{
			"its own answer does not stand in its way", me(),
			cluster{others: []v1alpha1.AcmeNamespace{*asking("me", 0)}},
			false, "", false,
			amounts("cpu", "5", "memory", "10Gi", "pods", "10"),
		},
		{"its own Namespace", me(), cluster{namespace: existing()}, true, "", false, amounts("cpu", "5", "memory", "10Gi", "pods", "10")},
		{"one that it adopts", me(adopting), cluster{namespace: existing()}, false, "", true, amounts("cpu", "5", "memory", "10Gi", "pods", "10")},
		{
			"with an override", me(func(n *v1alpha1.AcmeNamespace) { n.Spec.Quota = amounts("pods", "2") }),
			cluster{tier: override(v1alpha1.DeploymentTierSpec{Quota: amounts("cpu", "1")})},
			false, "", false, amounts("cpu", "1", "memory", "10Gi", "pods", "2"),
		},
		{"a protected name", me(func(n *v1alpha1.AcmeNamespace) { n.Spec.NamespaceName = "mine" }), cluster{}, false, "NameProtected", false, nil},
		{"an unknown tier", me(func(n *v1alpha1.AcmeNamespace) { n.Spec.DeploymentTier = "qa" }), cluster{}, false, "TierInvalid", false, nil},
		{"a malformed override", me(), cluster{tier: override(v1alpha1.DeploymentTierSpec{Quota: amounts("x", "1")})}, false, "TierInvalid", false, nil},
		{"a malformed quota", me(func(n *v1alpha1.AcmeNamespace) { n.Spec.Quota = amounts("x", "1") }), cluster{}, false, "QuotaInvalid", false, nil},
		{"the one who is not logged in", me(governed("system:anonymous")), cluster{}, false, "AdminReserved", false, nil},
		{"a controller", me(governed("system:kube-controller-manager")), cluster{}, false, "AdminReserved", false, nil},
		{"like a service account", me(governed("system:serviceaccount:ci:a:b")), cluster{}, false, "AdminReserved", false, nil},
		{"everybody", me(governed("sam", "devs", "system:authenticated")), cluster{}, false, "AdminReserved", false, nil},
		{"all service accounts", me(governed("sam", "system:serviceaccounts")), cluster{}, false, "AdminReserved", false, nil},
		{
			"service accounts", me(governed("system:serviceaccount:ci:deployer", "system:serviceaccounts:ci", "devs")),
			cluster{},
			false, "", false, amounts("cpu", "5", "memory", "10Gi", "pods", "10"),
		},
		{"a Namespace without an owner", me(), cluster{namespace: existing()}, false, "NameTaken", false, nil},
		{"an older one", me(), cluster{others: []v1alpha1.AcmeNamespace{*asking("older", 0)}}, false, "NameTaken", false, nil},
		{"its own Namespace that goes away", me(), cluster{namespace: leaving}, true, "NamespaceTerminating", false, nil},
		{"one that goes away before it is adopted", me(adopting), cluster{namespace: leaving}, false, "NamespaceTerminating", false, nil},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got, err := tenancy.Admit(t.Context(), tc.cluster, tc.me, tenancy.Reserved{Names: []string{"mine"}}, func(client.Object) bool { return tc.owned })
			if err != nil || got.Reason != tc.want {
				t.Fatalf("Admit = %+v, %v", got.Refusal, err)
			}
			if tc.want != "" {
				if got.Message == "" {
					t.Error("it has no message")
				}
				return
			}
			for name := range got.Hard { // the bounds of the tier are elsewhere
				if _, asked := tc.hard[name]; !asked {
					delete(got.Hard, name)
				}
			}
			if diff := cmp.Diff(tc.hard, got.Hard); diff != "" || got.Adopts != tc.adopts {
				t.Errorf("adopts: %v, hard limits -want +got:\n%s", got.Adopts, diff)
			}
		})
	}
}

func TestAdmitPassesOnWhatItCannotRead(t *testing.T) {
	broken := errors.New("no connection")
	for want, c := range map[string]cluster{
		"reading the DeploymentTier dev: no connection":      {tierErr: broken},
		"reading the Namespace app-y: no connection":         {namespaceErr: broken},
		"listing the AcmeNamespaces of app-y: no connection": {othersErr: broken},
	} {
		a, err := tenancy.Admit(t.Context(), c, asking("me", 0), tenancy.Reserved{}, func(client.Object) bool { return false })
		if err == nil || err.Error() != want || !errors.Is(err, broken) || a.Reason != "" {
			t.Errorf("Admit = %+v, %v, want %s", a.Refusal, err, want)
		}
	}
}

// governed sets the administrators of an AcmeNamespace.
func governed(user string, groups ...string) func(*v1alpha1.AcmeNamespace) {
	return func(n *v1alpha1.AcmeNamespace) { n.Spec.AdminUsername, n.Spec.AdminGroups = user, groups }
}
