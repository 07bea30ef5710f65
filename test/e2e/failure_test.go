// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// specsOfFailure: a version is published that does not start. The one before continues, and there is a way back.
func specsOfFailure() {
	var broken release

	It("says so, and the version before continues", func(ctx SpecContext) {
		broken = lab.release(ctx, "0.4.0", breakManager)
		spaces := lab.spaces(ctx)
		lab.publish(ctx, lab.catalog(ctx, first, second, third, broken))
		lab.awaitFailure(ctx, broken)
		lab.checkWorks(ctx, "meanwhile")
		Expect(maps.Keys(spaces)).To(HaveEach(BeKeyOf(lab.spaces(ctx))))
		say("the pods of the version before still work: a new AcmeNamespace is ready, and the webhook answers")
	}, NodeTimeout(installed*3))

	It("is taken back", func(ctx SpecContext) {
		spaces := lab.spaces(ctx)
		lab.publish(ctx, lab.catalog(ctx, first, second, third))
		lab.uninstall(ctx)
		Expect(lab.impersonate(tenantUser, tenantGroup).Create(ctx, newSubscription())).To(Succeed())
		lab.awaitVersion(ctx, third)
		Expect(lab.spaces(ctx)).To(Equal(spaces))
		lab.checkWorks(ctx, "afterwards")
		say("withdrawn from the catalog, removed and installed again: %s works, and no namespace was lost", third.csv())
	}, NodeTimeout(installed*3))

	It("is followed by a version that works, when the administrator lets OLM continue", func(ctx SpecContext) {
		lab.publish(ctx, lab.catalog(ctx, first, second, third, broken))
		fixed := lab.release(ctx, "0.4.1") // meanwhile
		lab.awaitFailure(ctx, broken)
		lab.failForward(ctx, operatorsv1.UpgradeStrategyUnsafeFailForward)
		lab.publish(ctx, lab.catalog(ctx, first, second, third, broken, fixed))
		lab.awaitVersion(ctx, fixed)
		lab.failForward(ctx, operatorsv1.UpgradeStrategyDefault)
		lab.checkWorks(ctx, "forward")
	}, NodeTimeout(installed*4))
}

// awaitFailure waits until OLM says that a version failed. Kubernetes loses the beginning of a rollout when OLM writes to the
// Deployment at that moment, and never says then that it takes too long, so that OLM gives up after five minutes only. For a new pod
// it looks again.
func (w *world) awaitFailure(ctx context.Context, r release) {
	GinkgoHelper()
	start := time.Now()
	pods := &corev1.PodList{}
	eventually(ctx, "a pod of "+r.version+" is there", installed, func(g Gomega) {
		g.Expect(w.client.List(ctx, pods, client.InNamespace(systemNamespace), podsOfManager)).To(Succeed())
		pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
			return !slices.Contains(imagesOf(p), registry+"/"+imageName+":v"+r.version)
		})
		g.Expect(pods.Items).NotTo(BeEmpty())
		d := &appsv1.Deployment{}
		g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: deploymentName}, d)).To(Succeed())
		g.Expect(d.Status.ObservedGeneration).To(Equal(d.Generation))
		g.Expect(d.Status.UpdatedReplicas).To(BeEquivalentTo(len(pods.Items)))
	})
	for i := range pods.Items {
		Expect(client.IgnoreNotFound(w.client.Delete(ctx, &pods.Items[i]))).To(Succeed())
	}
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	eventually(ctx, "OLM says that the version failed", installed*2, func(g Gomega) {
		g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: r.csv()}, csv)).To(Succeed())
		g.Expect(csv.Status.Phase).To(Equal(operatorsv1alpha1.CSVPhaseFailed), csv.Status.Message)
	})
	say("OLM reports %s: %s, %s: %s, after %s", csv.Name, csv.Status.Phase, csv.Status.Reason, csv.Status.Message, since(start))
}

// failForward says in the OperatorGroup whether OLM may continue from a version that failed.
func (w *world) failForward(ctx context.Context, strategy operatorsv1.UpgradeStrategy) {
	GinkgoHelper()
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "platform-operator"}}
	patch := client.RawPatch(client.Merge.Type(), fmt.Appendf(nil, `{"spec":{"upgradeStrategy":%q}}`, strategy))
	Expect(w.client.Patch(ctx, group, patch)).To(Succeed())
}

// breakManager makes a version whose program ends at once, and whose Deployment notices after 20 s.
func breakManager(config string) {
	GinkgoHelper()
	path := filepath.Join(config, "manager", "manager.yaml")
	data, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	text := strings.Replace(string(data), "        - --leader-elect\n", "        - --leader-elect\n        - --no-such-flag\n", 1)
	text = strings.Replace(text, "\n  replicas: ", "\n  progressDeadlineSeconds: 20\n  replicas: ", 1)
	Expect(strings.Count(text, "\n")).To(Equal(strings.Count(string(data), "\n")+2), "manager.yaml has changed")
	Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
}
