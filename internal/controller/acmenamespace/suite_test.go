// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"context"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/external/billing"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const (
	labelOwnerUID      = "platform.acme.com/owner-uid"
	labelManagedBy     = "app.kubernetes.io/managed-by"
	annotationOwner    = "platform.acme.com/owner"
	annotationReleased = "tenancy.acme.com/released-by"
	annotationSkip     = "tenancy.acme.com/skip-billing"
	finalizer          = "namespace.finalizer.tenancy.acme.com"
)

var ctx = context.Background()

func TestController(t *testing.T) { Run(t, "AcmeNamespace") }

// team makes an AcmeNamespace of that name for the namespace "app-<name>" and the user sam.
func team(name string, with ...func(*v1alpha1.AcmeNamespaceSpec)) *v1alpha1.AcmeNamespace {
	n := &v1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Spec = v1alpha1.AcmeNamespaceSpec{NamespaceName: "app-" + name, AdminUsername: "sam"}
	for _, w := range with {
		w(&n.Spec)
	}
	return n
}

// created creates an AcmeNamespace and waits until it is ready.
func created(n *v1alpha1.AcmeNamespace) *v1alpha1.AcmeNamespace {
	GinkgoHelper()
	return AwaitReady(Create(n))
}

// in reads an object of a namespace, or a cluster-scoped one when the namespace is empty.
func in[T client.Object](namespace, name string, o T) T {
	GinkgoHelper()
	o.SetNamespace(namespace)
	o.SetName(name)
	Expect(Reload(o)).To(Succeed())
	return o
}

func namespaceOf(n *v1alpha1.AcmeNamespace) *corev1.Namespace {
	GinkgoHelper()
	return in("", n.Spec.NamespaceName, &corev1.Namespace{})
}

func bindingOf(n *v1alpha1.AcmeNamespace) *rbacv1.RoleBinding {
	GinkgoHelper()
	return in(n.Spec.NamespaceName, "namespace-admin", &rbacv1.RoleBinding{})
}

// ledger is a billing that specs look into and break.
type ledger struct {
	mu       sync.Mutex
	err      error
	releases []billing.Release
	look     func()
}

// Released implements billing.Ledger.
func (l *ledger) Released(_ context.Context, r billing.Release) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.releases = append(l.releases, r)
	if l.look != nil {
		l.look()
	}
	return l.err
}

// Of lists the reports to billing about an AcmeNamespace.
func (l *ledger) Of(n *v1alpha1.AcmeNamespace) func() []billing.Release {
	return func() []billing.Release {
		l.mu.Lock()
		defer l.mu.Unlock()
		var all []billing.Release
		for _, r := range l.releases {
			if r.Name == n.Name {
				all = append(all, r)
			}
		}
		return all
	}
}

// watch calls a function at each report to billing.
func (l *ledger) watch(look func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look = look
}

func (l *ledger) answer(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}
