/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package acmenamespace_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
)

const (
	labelOwnerUID      = "platform.acme.com/owner-uid"
	labelManagedBy     = "app.kubernetes.io/managed-by"
	annotationOwner    = "platform.acme.com/owner"
	annotationReleased = "tenancy.acme.com/released-by"
	annotationSkip     = "tenancy.acme.com/skip-billing"
	finalizer          = "namespace.finalizer.tenancy.acme.com"
)

// aMoment is how long specs look whether something does not happen.
const aMoment = 500 * time.Millisecond

var (
	plane *testenv.ControlPlane
	admin client.Client // a cluster administrator's, not cached
	ctx   = context.Background()
)

func TestController(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	SetDefaultConsistentlyDuration(aMoment)
	SetDefaultConsistentlyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "AcmeNamespace")
}

var _ = BeforeSuite(func() {
	logf.SetLogger(logr.Discard())
	var err error
	plane, err = testenv.Start(testenv.Options{WithControllers: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(plane.Stop()).To(Succeed()) })
	Expect(testenv.InstallConfig(plane)).To(Succeed())
	admin, err = client.New(plane.Config, client.Options{Scheme: operator.Scheme()})
	Expect(err).NotTo(HaveOccurred())
})

// team makes an AcmeNamespace of that name for the namespace "app-<name>" and the user sam.
func team(name string, with ...func(*v1alpha1.AcmeNamespaceSpec)) *v1alpha1.AcmeNamespace {
	n := &v1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Spec = v1alpha1.AcmeNamespaceSpec{NamespaceName: "app-" + name, AdminUsername: "sam"}
	for _, w := range with {
		w(&n.Spec)
	}
	return n
}

func create(objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(admin.Create(ctx, o)).To(Succeed())
	}
}

// created creates an AcmeNamespace and waits until it is ready.
func created(n *v1alpha1.AcmeNamespace) *v1alpha1.AcmeNamespace {
	GinkgoHelper()
	create(n)
	ready(n)
	return n
}

// ready waits until an AcmeNamespace is ready in its latest version.
func ready(n *v1alpha1.AcmeNamespace) {
	GinkgoHelper()
	Eventually(condition(n, "Ready")).Should(Equal("True Ready"))
}

// change changes an object of the cluster, whoever else changes it meanwhile.
func change[T client.Object](o T, do func(T)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(reload(o)).To(Succeed())
		do(o)
		g.Expect(client.IgnoreNotFound(admin.Update(ctx, o))).To(Succeed())
	}).Should(Succeed())
}

func remove(o client.Object) {
	GinkgoHelper()
	Expect(admin.Delete(ctx, o)).To(Succeed())
}

func reload(o client.Object) error { return admin.Get(ctx, client.ObjectKeyFromObject(o), o) }

// condition gives status and reason of a condition, once it speaks of the latest version of the spec.
func condition(n *v1alpha1.AcmeNamespace, name string) func() string {
	return func() string {
		if err := reload(n); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(n.Status.Conditions, name)
		switch {
		case c == nil:
			return "none"
		case c.ObservedGeneration != n.Generation:
			return "of an older version"
		default:
			return string(c.Status) + " " + c.Reason
		}
	}
}

// message gives what a condition says.
func message(n *v1alpha1.AcmeNamespace, name string) string {
	GinkgoHelper()
	c := meta.FindStatusCondition(n.Status.Conditions, name)
	Expect(c).NotTo(BeNil())
	return c.Message
}

// gone tells whether there is no such object.
func gone(o client.Object) func() bool {
	return func() bool { return apierrors.IsNotFound(reload(o)) }
}

// in reads an object of a namespace, or a cluster-scoped one when the namespace is empty.
func in[T client.Object](namespace, name string, o T) T {
	GinkgoHelper()
	o.SetNamespace(namespace)
	o.SetName(name)
	Expect(reload(o)).To(Succeed())
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

// eventsOf lists type and reason of the events about an object.
func eventsOf(o client.Object) func() []string {
	return func() []string {
		list := &eventsv1.EventList{}
		Expect(admin.List(ctx, list)).To(Succeed())
		var all []string
		for _, e := range list.Items {
			if e.Regarding.UID == o.GetUID() {
				all = append(all, e.Type+" "+e.Reason)
			}
		}
		return all
	}
}

// ledger is a billing that specs look into and break.
type ledger struct {
	mu       sync.Mutex
	err      error
	releases []billing.Release
	look     func(billing.Release)
}

// Released implements billing.Ledger.
func (l *ledger) Released(_ context.Context, r billing.Release) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.releases = append(l.releases, r)
	if l.look != nil {
		l.look(r)
	}
	return l.err
}

// Of lists what billing was told about an AcmeNamespace.
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

func (l *ledger) answer(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

// startOperator starts an operator for the specs of an ordered container.
func startOperator(mutate ...func(*operator.Options)) *testenv.Operator {
	return testenv.StartOperator(GinkgoT(), plane, mutate...)
}

// timeToRelist is how long an informer may take to find a kind again that was away.
const timeToRelist = time.Minute
