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

package configwatcher_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
)

// author is a client of a user who may do what the rules say in a namespace.
func author(ns, name string, rules ...rbacv1.PolicyRule) client.Client {
	GinkgoHelper()
	create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Rules: rules})
	create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})
	config, err := plane.User(name)
	Expect(err).NotTo(HaveOccurred())
	c, err := client.New(config, client.Options{Scheme: operator.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return c
}

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

	It("is refused who could not restart by hand", func() {
		ns := namespace()
		weak := author(ns, "weak-"+ns, writes...)
		Eventually(func() error { return weak.Create(ctx, configMap(ns, "plain", "k", "v")) }).Should(Succeed())
		// A dry run leaves nothing behind that the next try would meet.
		Eventually(func() error { return weak.Create(ctx, watcher(ns, "w", "web"), client.DryRunAll) }).Should(
			MatchError(ContainSubstring("restarts need the right to patch deployments")))
		Expect(weak.Create(ctx, annotated(ns))).To(MatchError(ContainSubstring("restarts need the right to patch deployments")))

		By("changing what somebody else asked for")
		theirs := create(watcher(ns, "theirs", "web"))
		theirs.Spec.PodSelector = map[string]v1alpha1.LabelValue{"app": "other"}
		Expect(apierrors.IsForbidden(weak.Update(ctx, theirs))).To(BeTrue())
		their := create(annotated(ns))
		their.Annotations[annotationSelector] = "app=other"
		Expect(apierrors.IsForbidden(weak.Update(ctx, their))).To(BeTrue())

		By("changing something else of it")
		Expect(reload(their)).To(Succeed())
		their.Data["k"] = "w"
		Expect(weak.Update(ctx, their)).To(Succeed())
	})

	It("is admitted who could", func() {
		ns := namespace()
		strong := author(ns, "strong-"+ns, restarts...)
		Eventually(func() error { return strong.Create(ctx, watcher(ns, "w", "web")) }).Should(Succeed())
		Expect(strong.Create(ctx, annotated(ns))).To(Succeed())
		Expect(strong.Create(ctx, watcher(ns, "evicts", "web", strategy(common.RestartEvict)))).To(Succeed())
		Expect(strong.Create(ctx, watcher(ns, "deletes", "web", strategy(common.RestartDelete)))).To(
			MatchError(ContainSubstring("the strategy Delete needs the right to delete pods")))
	})
})
