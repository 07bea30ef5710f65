// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	sourceName       = "acme-platform" // as config/tenancy has it
	sourceNamespace  = "olm"
	subscriptionName = "platform-operator"
	deploymentName   = "platform-operator-controller-manager"
)

// publish makes a catalog the one that OLM knows, and waits until OLM is connected to it.
func (w *world) publish(ctx context.Context, image string) {
	GinkgoHelper()
	start := time.Now()
	key := client.ObjectKey{Namespace: sourceNamespace, Name: sourceName}
	source := &operatorsv1alpha1.CatalogSource{}
	Expect(w.client.Get(ctx, key, source)).To(Succeed())
	before := source.DeepCopy()
	source.Spec.Image = image
	Expect(w.client.Patch(ctx, source, client.MergeFrom(before))).To(Succeed())
	// OLM decides by its cache how many pods there are, and may make two of them: it keeps both, and one of them would do.
	eventually(ctx, "the catalog's pod serves the new image", installed, func(g Gomega) {
		pods := &corev1.PodList{}
		g.Expect(w.client.List(ctx, pods, client.InNamespace(sourceNamespace), client.MatchingLabels{"olm.catalogSource": sourceName})).To(Succeed())
		g.Expect(pods.Items).To(HaveEach(WithTransform(imagesOf, ContainElement(image))))
		g.Expect(pods.Items).To(ContainElement(WithTransform(ready, BeTrue())))
		g.Expect(w.client.Get(ctx, key, source)).To(Succeed())
		g.Expect(source.Status.GRPCConnectionState).NotTo(BeNil())
		g.Expect(source.Status.GRPCConnectionState.LastObservedState).To(Equal("READY"))
	})
	say("OLM is connected to the catalog, after %s", since(start))
}

func imagesOf(pod corev1.Pod) []string {
	var images []string
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		images = append(images, c.Image)
	}
	return images
}

func ready(pod corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// newSubscription is what a tenant asks for.
func newSubscription() *operatorsv1alpha1.Subscription {
	return &operatorsv1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: subscriptionName},
		Spec: &operatorsv1alpha1.SubscriptionSpec{
			Package: packageName, Channel: "stable", CatalogSource: sourceName, CatalogSourceNamespace: sourceNamespace,
			InstallPlanApproval: operatorsv1alpha1.ApprovalAutomatic,
		},
	}
}

// awaitVersion waits until a version is installed and the operator of that version, and no other, runs.
func (w *world) awaitVersion(ctx context.Context, r release) {
	GinkgoHelper()
	start := time.Now()
	eventually(ctx, r.csv()+" is installed", installed, func(g Gomega) {
		csv := &operatorsv1alpha1.ClusterServiceVersion{}
		g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: r.csv()}, csv)).To(Succeed())
		g.Expect(csv.Status.Phase).To(Equal(operatorsv1alpha1.CSVPhaseSucceeded), csv.Status.Message)
		s := &operatorsv1alpha1.Subscription{}
		g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: subscriptionName}, s)).To(Succeed())
		g.Expect(s.Status.InstalledCSV).To(Equal(r.csv()))
		g.Expect(s.Status.State).To(BeEquivalentTo(operatorsv1alpha1.SubscriptionStateAtLatest))
		// The certificate goes with the version before; OLM then makes another one and restarts the pods.
		certificate := &corev1.Secret{}
		g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: deploymentName + "-service-cert"}, certificate)).To(Succeed())
		g.Expect(certificate.OwnerReferences).To(ConsistOf(HaveField("Name", r.csv())))
	})
	eventually(ctx, "only pods of "+r.version+" run", installed, func(g Gomega) {
		d := &appsv1.Deployment{}
		g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: deploymentName}, d)).To(Succeed())
		g.Expect(d.Status.ObservedGeneration).To(Equal(d.Generation))
		g.Expect(d.Status.AvailableReplicas).To(Equal(*d.Spec.Replicas))
		pods := &corev1.PodList{}
		g.Expect(w.client.List(ctx, pods, client.InNamespace(systemNamespace), client.MatchingLabels(d.Spec.Selector.MatchLabels))).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(int(*d.Spec.Replicas)))
		for _, pod := range pods.Items {
			g.Expect(imagesOf(pod)).To(ConsistOf(registry + "/" + imageName + ":v" + r.version))
		}
	})
	say("%s is Succeeded and its pods run, after %s", r.csv(), since(start))
}

// isOurs reports whether an API group is one of the operator's.
func isOurs(group string) bool { return strings.HasSuffix(group, ".acme.com") }
