// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// describeLarge has the part of G14 that is about objects that the operator works on, and not only holds.
func describeLarge() {
	It("G14: works on large objects at once within its memory", Label("G14", "WebApp"), func(ctx context.Context) {
		const many = 20 // as many as are worked on at once
		ns := Namespace()
		config := func(letter string) map[string]v1alpha1.FileContent {
			half := v1alpha1.FileContent(strings.Repeat(letter, 1<<19-10))
			return map[string]v1alpha1.FileContent{"a": half, "b": half}
		}
		p := startProcess()
		var all []*v1alpha1.WebApp
		for i := range many {
			all = append(all, Create(&v1alpha1.WebApp{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("large-", i)}, Spec: v1alpha1.WebAppSpec{
				WebAppImage: "i:1", WebAppHostname: fmt.Sprintf("large-%d.%s.acme.com", i, ns), DeploymentTier: common.TierDev, Config: config("x"),
			}}))
		}
		mounts := func() (names map[string]bool, err error) {
			list := &appsv1.DeploymentList{}
			names = map[string]bool{}
			err = Admin.List(ctx, list, client.InNamespace(ns))
			for _, d := range list.Items {
				for _, v := range d.Spec.Template.Spec.Volumes {
					names[v.ConfigMap.Name] = true
				}
			}
			return names, err
		}
		Eventually(mounts, "3m", "200ms").Should(HaveLen(many))
		before, err := mounts()
		Expect(err).NotTo(HaveOccurred())
		for _, a := range all {
			Change(a, func(a *v1alpha1.WebApp) { a.Spec.Config = config("y") })
		}
		Eventually(func(g Gomega) {
			after, err := mounts()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(after).To(HaveLen(many))
			for name := range before {
				g.Expect(after).NotTo(HaveKey(name))
			}
		}, "3m", "200ms").Should(Succeed())
		now, peak := p.resident() // 227 MiB at most were measured
		AddReportEntry("large WebApps", fmt.Sprintf("%d of 1 MiB: %.0f MiB, peak %.0f MiB", many, now, peak))
		Expect(peak).To(BeNumerically("<", memoryLimit))
	})
	It("G14: reads large objects of tenants within its memory", Label("G14", "WebApp"), func(ctx context.Context) {
		const apps, pods = 12, 60
		ns := Namespace()
		args := slices.Repeat([]string{strings.Repeat("x", 100_000)}, 12)
		for i := range pods { // which wait for a node
			Create(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("large-", i), Labels: map[string]string{"workloads.apps.acme.com/webapp": fmt.Sprint("app-", i%apps)}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "i", Args: args}}, NodeSelector: map[string]string{"none": "such"}},
			})
		}
		p := startProcess()
		for i := range apps {
			a := Create(&v1alpha1.WebApp{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("app-", i)}, Spec: v1alpha1.WebAppSpec{
				WebAppImage: neverServes, WebAppHostname: fmt.Sprintf("app-%d.%s.acme.com", i, ns), DeploymentTier: common.TierDev,
			}})
			Eventually(Condition(a, "Deployed")).Should(HavePrefix("False"))
		}
		var list v1alpha1.WebAppList
		Expect(Admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
		for i := range list.Items { // all look at their pods again
			Poke(&list.Items[i])
		}
		for i := range list.Items {
			Eventually(Condition(&list.Items[i], "Deployed")).Should(HavePrefix("False"))
		}
		now, peak := p.resident()
		AddReportEntry("large pods", fmt.Sprintf("%d of 1.2 MiB, %d WebApps: %.0f MiB, peak %.0f MiB", pods, apps, now, peak))
		Expect(peak).To(BeNumerically("<", memoryLimit))
	})
}
