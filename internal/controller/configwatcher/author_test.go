// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

func may(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Verbs: verbs, Resources: resources}
}

// The operator restarts with its own rights. Nobody may borrow them.
var _ = Describe("The author of a restart", func() {
	writes := []rbacv1.PolicyRule{
		may("autoreboot.acme.com", []string{"create", "update", "get", "patch"}, "configwatchers"),
		may("", []string{"create", "update", "get", "patch"}, "configmaps"),
	}
	restarts := append(writes, may("apps", []string{"patch"}, "deployments", "statefulsets", "daemonsets"), may("", []string{"create"}, "pods/eviction"))
	annotated := func(ns string) *corev1.ConfigMap {
		cm := configMap(ns, "annotated", "k", "v")
		cm.Annotations = map[string]string{annotationSelector: "app=web"}
		return cm
	}

	It("rejects an author who could not restart by hand", func() {
		ns := Namespace()
		weak := Author(ns, "weak-"+ns, writes...)
		Eventually(func() error { return weak.Create(ctx, configMap(ns, "plain", "k", "v")) }).Should(Succeed())
		// The API server takes a moment to see the policy. Nothing is to be there that slipped past it until then.
		for _, o := range []client.Object{watcher(ns, "w", "web"), annotated(ns)} {
			Eventually(func() error { return weak.Create(ctx, o.DeepCopyObject().(client.Object), client.DryRunAll) }).Should(
				MatchError(ContainSubstring("restarts need the right to patch deployments")))
		}

		By("changing what somebody else asked for")
		theirs := Create(watcher(ns, "theirs", "web"))
		theirs.Spec.PodSelector = map[string]v1alpha1.LabelValue{"app": "other"}
		Expect(apierrors.IsForbidden(weak.Update(ctx, theirs))).To(BeTrue())
		their := Create(annotated(ns))
		their.Annotations[annotationSelector] = "app=other"
		Expect(apierrors.IsForbidden(weak.Update(ctx, their))).To(BeTrue())

		By("changing something else of it")
		Expect(Reload(their)).To(Succeed())
		their.Data["k"] = "w"
		Expect(weak.Update(ctx, their)).To(Succeed())
	})

	It("is admitted who could", func() {
		ns := Namespace()
		strong := Author(ns, "strong-"+ns, restarts...)
		Eventually(func() error { return strong.Create(ctx, watcher(ns, "w", "web")) }).Should(Succeed())
		Expect(strong.Create(ctx, annotated(ns))).To(Succeed())
		Expect(strong.Create(ctx, watcher(ns, "evicts", "web", strategy(common.RestartEvict)))).To(Succeed())
		Eventually(func() error {
			return strong.Create(ctx, watcher(ns, "deletes", "web", strategy(common.RestartDelete)), client.DryRunAll)
		}).Should(MatchError(ContainSubstring("the strategy Delete needs the right to delete pods")))
	})
})
