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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var (
	op     *Operator
	people = &directory{}
	ctx    = context.Background()
)

// No controllers run: what a quota has in use is up to the specs.
func TestWebhook(t *testing.T) {
	OfKinds(Setup{Prepare: func() {
		op = StartOperator(Configured("acmeNamespace: {protectedNames: [monitoring, infra-*]}"),
			func(o *operator.Options) { o.WebhookPort, o.Directory = 0, people })
	}}).Run(t, "Webhook of AcmeNamespaces")
}

var _ = BeforeEach(func() {
	people.answer(nil)
	Warned.Take()
})

// directory knows every user except "nobody". It may be broken.
type directory struct {
	mu    sync.Mutex
	ask   func(context.Context) error
	asked []string
}

// Lookup implements identity.Directory.
func (d *directory) Lookup(ctx context.Context, name string) (bool, error) {
	d.mu.Lock()
	d.asked = append(d.asked, name)
	ask := d.ask
	d.mu.Unlock()
	if ask != nil {
		return false, ask(ctx)
	}
	return name != "nobody", nil
}

func (d *directory) answer(ask func(context.Context) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ask = ask
}

func team(name string, with ...func(*v1alpha1.AcmeNamespaceSpec)) *v1alpha1.AcmeNamespace {
	n := &v1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Spec = v1alpha1.AcmeNamespaceSpec{NamespaceName: "app-" + name, AdminUsername: "sam"}
	for _, w := range with {
		w(&n.Spec)
	}
	return n
}

func inNamespace(name string) func(*v1alpha1.AcmeNamespaceSpec) {
	return func(s *v1alpha1.AcmeNamespaceSpec) { s.NamespaceName = name }
}

// created creates an AcmeNamespace and waits until it is ready.
func created(n *v1alpha1.AcmeNamespace) *v1alpha1.AcmeNamespace {
	GinkgoHelper()
	return AwaitReady(Create(n))
}

// update changes an object, again after each conflict, and returns the result.
func update[T client.Object](o T, do func(T)) error {
	GinkgoHelper()
	var err error
	Eventually(func() bool {
		Expect(Reload(o)).To(Succeed())
		do(o)
		err = Admin.Update(ctx, o)
		return apierrors.IsConflict(err)
	}).Should(BeFalse())
	return err
}

func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}
