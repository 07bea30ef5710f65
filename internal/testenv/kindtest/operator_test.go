// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/kindtest"
	"github.com/acme/platform-operator/internal/testenv/suite"
)

func TestOperator(t *testing.T) {
	plane, err := testenv.Start(testenv.Options{WithControllers: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := testenv.InstallConfig(plane); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(plane.Config, client.Options{Scheme: operator.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	op := kindtest.Start(t, plane, func(o *operator.Options) { o.WebhookPort = 0 })

	t.Run("its webhooks default", func(t *testing.T) {
		n := acmeNamespace("prod")
		n.Spec.DeploymentTier = "prod"
		create(t, admin, n)
		if n.Spec.DeletionPolicy != tenancyv1alpha1.DeletionRetain {
			t.Errorf("the deletion policy is %q", n.Spec.DeletionPolicy)
		}
		awaitReady(t, admin, n)
	})
	t.Run("its webhooks refuse", func(t *testing.T) {
		n := acmeNamespace("taken")
		n.Spec.NamespaceName = "prod"
		if err := admin.Create(t.Context(), n); !apierrors.IsInvalid(err) {
			t.Errorf("Create = %v", err)
		}
	})
	t.Run("it may do what its role says and no more", func(t *testing.T) {
		config, err := plane.User(testenv.OperatorUser)
		if err != nil {
			t.Fatal(err)
		}
		if err := reads(t, config, &corev1.NamespaceList{}); err != nil {
			t.Error(err)
		}
		if err := reads(t, config, &corev1.PersistentVolumeList{}); !apierrors.IsForbidden(err) {
			t.Errorf("listing PersistentVolumes = %v", err)
		}
	})
	t.Run("it heals from faults, and its writes are seen", func(t *testing.T) {
		refused := op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool { return w.For("ill") }, First: 2, Count: 1})
		lost := op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool { return w.For("ill") }, First: 4, Count: 1, Lost: true})
		n := acmeNamespace("ill")
		create(t, admin, n)
		awaitReady(t, admin, n)
		if refused.Tripped() != 1 || lost.Tripped() != 1 {
			t.Errorf("refused %d, lost %d", refused.Tripped(), lost.Tripped())
		}
		writes := op.Wire.Writes(func(w testenv.Write) bool { return w.For("ill") })
		if len(writes) < 9 || writes[0].String() != "PATCH acmenamespaces/ill" || !strings.Contains(string(writes[0].Body), "finalizers") {
			t.Errorf("writes: %v", writes)
		}
		op.Wire.Heal()
	})
	t.Run("it can be waited for until it has looked", func(t *testing.T) {
		gomega.RegisterTestingT(t)
		gomega.SetDefaultEventuallyTimeout(2 * time.Minute)
		suite.Admin = admin
		n := acmeNamespace("looked-at")
		create(t, admin, n)
		awaitReady(t, admin, n)
		for op.Quiet(n) != nil { // its own writes, and what Kubernetes makes in a new Namespace, make it run again
			t.Log("it has something to do")
		}
		runs := op.Runs(n)
		if writes := op.Quiet(n); len(writes) > 0 || op.Runs(n) < runs+2 {
			t.Errorf("%d runs after %d; writes: %v", op.Runs(n), runs, writes)
		}
		suite.Change(n, func(n *tenancyv1alpha1.AcmeNamespace) { n.Spec.DeploymentTier = "prod" })
		if writes := op.Quiet(n); len(writes) == 0 {
			t.Error("there is no write for a change")
		}
	})
	t.Run("one that is stopped does nothing, and its webhooks stay configured", func(t *testing.T) {
		op.Stop()
		op.Wire.Forget()
		n := acmeNamespace("late")
		create(t, admin, n)
		if writes := op.Wire.Writes(); len(writes) > 0 {
			t.Errorf("writes: %v", writes)
		}
		op.Start()
		awaitReady(t, admin, n)
	})
}

func acmeNamespace(name string) *tenancyv1alpha1.AcmeNamespace {
	return &tenancyv1alpha1.AcmeNamespace{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       tenancyv1alpha1.AcmeNamespaceSpec{NamespaceName: name, AdminUsername: "sam"},
	}
}

func create(t *testing.T, cl client.Client, o client.Object) {
	t.Helper()
	if err := cl.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func awaitReady(t *testing.T, cl client.Client, n *tenancyv1alpha1.AcmeNamespace) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := cl.Get(ctx, client.ObjectKeyFromObject(n), n)
		return err == nil && meta.IsStatusConditionTrue(n.Status.Conditions, "Ready"), nil
	})
	if err != nil {
		t.Fatalf("not ready: %v", err)
	}
}

func reads(t *testing.T, config *rest.Config, list client.ObjectList) error {
	t.Helper()
	cl, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return cl.List(t.Context(), list)
}
