// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp_test

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var ctx = context.Background()

func TestController(t *testing.T) { Run(t, "WebApp") }

// webApp is a WebApp in a namespace, whose host name is its own.
func webApp(ns string, with ...func(*v1alpha1.WebAppSpec)) *v1alpha1.WebApp {
	a := &v1alpha1.WebApp{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: ns}, Spec: v1alpha1.WebAppSpec{
		WebAppImage: "registry.acme.com/app/app:v1", WebAppHostname: ns + ".acme.com", DeploymentTier: common.TierDev,
	}}
	for _, w := range with {
		w(&a.Spec)
	}
	return a
}

// tenant makes a namespace of a tier, by an AcmeNamespace of the same name that is deleted after the spec.
func tenant(name string, tier common.TierName) string {
	GinkgoHelper()
	n := Create(&tenancyv1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: tenancyv1alpha1.AcmeNamespaceSpec{
		NamespaceName: name, AdminUsername: "sam", DeploymentTier: tier,
	}})
	DeferCleanup(func() { Remove(n) })
	AwaitReady(n)
	return name
}

func meta(a *v1alpha1.WebApp) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: a.Namespace, Name: a.Name}
}

func deploymentOf(a *v1alpha1.WebApp) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: meta(a)}
}

func ingressOf(a *v1alpha1.WebApp) *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: meta(a)}
}

// live reads a child of a WebApp.
func live[O client.Object](o O) O {
	GinkgoHelper()
	Eventually(func() error { return Reload(o) }).Should(Succeed())
	return o
}

// composed waits until all children of the latest version are there.
func composed(a *v1alpha1.WebApp) *v1alpha1.WebApp {
	GinkgoHelper()
	Eventually(Condition(a, "Composed")).Should(Equal("True Done"), func() string { return Message(a, "Composed") })
	return a
}

// roll does what the controller of Deployments and the kubelets would: all pods run the present version and serve.
func roll(a *v1alpha1.WebApp) {
	GinkgoHelper()
	composed(a)
	d := deploymentOf(a)
	Eventually(func(g Gomega) {
		g.Expect(Reload(d)).To(Succeed())
		n := *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
		g.Expect(Admin.Status().Update(ctx, d)).To(Succeed())
	}).Should(Succeed())
}

// address does what an ingress controller would.
func address(a *v1alpha1.WebApp) {
	GinkgoHelper()
	i := ingressOf(a)
	Eventually(func(g Gomega) {
		g.Expect(Reload(i)).To(Succeed())
		i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
		g.Expect(Admin.Status().Update(ctx, i)).To(Succeed())
	}).Should(Succeed())
}

// serving creates a WebApp and waits until it is ready.
func serving(a *v1alpha1.WebApp) *v1alpha1.WebApp {
	GinkgoHelper()
	Create(a)
	roll(a)
	address(a)
	return AwaitReady(a)
}

// badPod is a pod of a WebApp as a kubelet would report it.
func badPod(a *v1alpha1.WebApp, name string, status corev1.ContainerStatus) {
	GinkgoHelper()
	p := Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: name, Labels: map[string]string{"workloads.apps.acme.com/webapp": a.Name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: a.Spec.WebAppImage}}},
	})
	status.Name, status.Image = "app", a.Spec.WebAppImage
	p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	Expect(Admin.Status().Update(ctx, p)).To(Succeed())
}

func uidOf(o client.Object) types.UID {
	GinkgoHelper()
	Expect(Reload(o)).To(Succeed())
	return o.GetUID()
}
