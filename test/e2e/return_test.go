// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

// specsOfReturn: the operator is removed while it is in use, nothing of a tenant goes with it, and one that is installed
// again continues. Then a version is skipped.
func specsOfReturn() {
	It("leaves tenants' namespaces alone when it is removed", func(ctx SpecContext) {
		pods, spaces := lab.tenantPods(ctx), lab.spaces(ctx)
		lab.uninstall(ctx)
		Expect(lab.spaces(ctx)).To(Equal(spaces))
		Expect(lab.tenantPods(ctx)).To(Equal(pods))
		say("the operator is gone; %d namespaces of tenants and their pods are as they were", len(spaces))
	}, NodeTimeout(installed))

	It("does what was asked meanwhile when it is installed again", func(ctx SpecContext) {
		late := &tenancyv1alpha1.AcmeNamespace{
			ObjectMeta: metav1.ObjectMeta{Name: "late"},
			Spec:       tenancyv1alpha1.AcmeNamespaceSpec{NamespaceName: "app-late", AdminUsername: teamAdmin},
		}
		Expect(lab.client.Create(ctx, late)).To(Succeed())
		leaving := &tenancyv1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: "death-0"}}
		Expect(lab.client.Delete(ctx, leaving)).To(Succeed())
		Expect(lab.client.Get(ctx, client.ObjectKeyFromObject(leaving), leaving)).To(Succeed(), "its finalizer keeps it until billing got a report")
		say("while there is no operator, one AcmeNamespace was created, and one deleted, which its finalizer keeps")

		lab.publish(ctx, lab.catalog(ctx, first))
		Expect(lab.impersonate(tenantUser, tenantGroup).Create(ctx, newSubscription())).To(Succeed())
		third = lab.release(ctx, "0.3.0") // while OLM installs the first
		lab.awaitVersion(ctx, first)
		lab.awaitNamespace(ctx, "late")
		eventually(ctx, "what was deleted is gone", soon, func(g Gomega) {
			g.Expect(apierrors.IsNotFound(lab.client.Get(ctx, client.ObjectKeyFromObject(leaving), leaving))).To(BeTrue())
			err := lab.client.Get(ctx, client.ObjectKey{Name: "app-death-0"}, &corev1.Namespace{})
			g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
		})
		say("both are done: the one is ready, the other gone with its namespace")
	}, NodeTimeout(installed*2))

	It("goes from the first version to the third at once", func(ctx SpecContext) {
		before := lab.plans(ctx)
		pods := lab.tenantPods(ctx)
		catalog := lab.catalog(ctx, first, second, third)
		views := lab.startViewer(ctx)
		load := lab.startWriter("skip")
		lab.publish(ctx, catalog)
		lab.awaitVersion(ctx, third)
		views.report(ctx, "while 0.1.0 became 0.3.0")
		load.report(ctx, "while 0.1.0 became 0.3.0")
		after := lab.plans(ctx)
		maps.DeleteFunc(after, func(uid string, _ []string) bool { return before[uid] != nil })
		Expect(slices.Collect(maps.Values(after))).To(Equal([][]string{{third.csv()}}), "the versions that were installed")
		Expect(lab.tenantPods(ctx)).To(Equal(pods), "a tenant's pod was restarted or replaced")
		say("0.2.0 was skipped, and no pod of a tenant was restarted")
	}, NodeTimeout(installed*3))
}

// spaces are the namespaces of tenants, with their UIDs.
func (w *world) spaces(ctx context.Context) map[string]string {
	GinkgoHelper()
	list := &corev1.NamespaceList{}
	Expect(w.client.List(ctx, list)).To(Succeed())
	found := map[string]string{}
	for _, ns := range list.Items {
		if strings.HasPrefix(ns.Name, "app-") && ns.DeletionTimestamp.IsZero() {
			found[ns.Name] = string(ns.UID)
		}
	}
	Expect(found).NotTo(BeEmpty())
	return found
}

// uninstall does what a tenant may do to remove the operator, and waits until it is gone.
func (w *world) uninstall(ctx context.Context) {
	GinkgoHelper()
	tenant := w.impersonate(tenantUser, tenantGroup)
	w.awaitViews(ctx)
	start := time.Now()
	Expect(tenant.Delete(ctx, newSubscription())).To(Succeed())
	list := &operatorsv1alpha1.ClusterServiceVersionList{}
	Expect(tenant.List(ctx, list, client.InNamespace(systemNamespace))).To(Succeed())
	for i := range list.Items {
		Expect(client.IgnoreNotFound(tenant.Delete(ctx, &list.Items[i]))).To(Succeed())
	}
	eventually(ctx, "the operator is gone", soon, func(g Gomega) {
		d := &appsv1.Deployment{}
		err := w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: deploymentName}, d)
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
		pods := &corev1.PodList{}
		g.Expect(w.client.List(ctx, pods, client.InNamespace(systemNamespace))).To(Succeed())
		g.Expect(pods.Items).To(BeEmpty())
		g.Expect(w.webhooks(ctx, g)).To(BeEmpty())
	})
	say("the tenant deleted the Subscription and %d ClusterServiceVersions; pods and webhooks are gone", len(list.Items))
	w.awaitNoViews(ctx, start)
}

// webhooks are the webhook configurations of the operator.
func (w *world) webhooks(ctx context.Context, g Gomega) []string {
	validating := &admissionregistrationv1.ValidatingWebhookConfigurationList{}
	mutating := &admissionregistrationv1.MutatingWebhookConfigurationList{}
	g.Expect(w.client.List(ctx, validating)).To(Succeed())
	g.Expect(w.client.List(ctx, mutating)).To(Succeed())
	var found []string
	for _, list := range []client.ObjectList{validating, mutating} {
		g.Expect(meta.EachListItem(list, func(o runtime.Object) error {
			if name := o.(client.Object).GetName(); strings.Contains(name, ".acme.com") {
				found = append(found, name)
			}
			return nil
		})).To(Succeed())
	}
	return found
}

// checkWorks expects that the operator does its work.
func (w *world) checkWorks(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(w.client.Create(ctx, &tenancyv1alpha1.AcmeNamespace{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       tenancyv1alpha1.AcmeNamespaceSpec{NamespaceName: "app-" + name, AdminUsername: teamAdmin},
	})).To(Succeed())
	w.awaitNamespace(ctx, name)
	eventually(ctx, "the webhook answers", soon, func(g Gomega) {
		g.Expect(w.client.Create(ctx, newForbidden(), client.DryRunAll)).To(MatchError(ContainSubstring("admission webhook")))
	})
}
