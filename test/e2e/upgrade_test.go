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

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const leaseName = "platform-operator.acme.com"

// specsOfUpgrade: a leader dies, and a version follows another, while somebody writes.
func specsOfUpgrade() {
	It("survives the death of its leader", func(ctx SpecContext) {
		before := lab.leader(ctx)
		load := lab.startWriter("death")
		eventually(ctx, "the writer writes", soon, func(g Gomega) { g.Expect(lab.written(ctx, "death")).To(BeNumerically(">", 1)) })
		start := time.Now()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: before}}
		Expect(lab.client.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		eventually(ctx, "another replica leads", soon, func(g Gomega) { g.Expect(lab.leader(ctx)).NotTo(Or(BeEmpty(), Equal(before))) })
		say("%s was killed; %s leads, after %s", before, lab.leader(ctx), since(start))
		lab.awaitVersion(ctx, first)
		load.report(ctx, "while the leader died")
	}, NodeTimeout(installed*2))

	It("is upgraded to the next version", func(ctx SpecContext) {
		second = lab.release(ctx, "0.2.0", addField)
		catalog := lab.catalog(ctx, first, second)
		pods := lab.tenantPods(ctx)
		load := lab.startWriter("upgrade")
		lab.publish(ctx, catalog)
		lab.awaitVersion(ctx, second)
		load.report(ctx, "while 0.1.0 became 0.2.0")
		Expect(lab.tenantPods(ctx)).To(Equal(pods), "a tenant's pod was restarted or replaced")
		say("no pod of a tenant was restarted")
		checkAddedField(ctx)
	}, NodeTimeout(installed*3))
}

// leader is the pod that leads, empty when there is none.
func (w *world) leader(ctx context.Context) string {
	GinkgoHelper()
	lease := &coordinationv1.Lease{}
	err := w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: leaseName}, lease)
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return pod
}

// written is the number of objects that a writer has created.
func (w *world) written(ctx context.Context, prefix string) int {
	GinkgoHelper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(acmeNamespaceGVK.GroupVersion().WithKind("AcmeNamespaceList"))
	Expect(w.client.List(ctx, list)).To(Succeed())
	count := 0
	for _, n := range list.Items {
		if strings.HasPrefix(n.Name, prefix+"-") {
			count++
		}
	}
	return count
}

// addField is the additive change of the second version: one more optional field of AcmeNamespaces.
func addField(config string) {
	GinkgoHelper()
	path := filepath.Join(config, "crd", "bases", "tenancy.acme.com_acmenamespaces.yaml")
	data, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	crd := map[string]any{}
	Expect(yaml.Unmarshal(data, &crd)).To(Succeed())
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	Expect(versions).To(HaveLen(1))
	field := map[string]any{"type": "string", "maxLength": int64(64), "description": "costCenter is who pays. Added in 0.2.0."}
	Expect(unstructured.SetNestedMap(versions[0].(map[string]any), field,
		"schema", "openAPIV3Schema", "properties", "spec", "properties", "costCenter")).To(Succeed())
	Expect(unstructured.SetNestedSlice(crd, versions, "spec", "versions")).To(Succeed())
	data, err = yaml.Marshal(crd)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(path, data, 0o600)).To(Succeed())
}

// checkAddedField expects that the new field of an old object can be set, and stays when the operator works on it.
func checkAddedField(ctx context.Context) {
	GinkgoHelper()
	n := &unstructured.Unstructured{}
	n.SetGroupVersionKind(acmeNamespaceGVK)
	n.SetName(teamName)
	patch := client.RawPatch(client.Merge.Type(), []byte(`{"spec":{"costCenter":"4711"}}`))
	Expect(lab.client.Patch(ctx, n, patch)).To(Succeed())
	lab.awaitNamespace(ctx, teamName)
	Expect(lab.client.Get(ctx, client.ObjectKeyFromObject(n), n)).To(Succeed())
	value, _, err := unstructured.NestedString(n.Object, "spec", "costCenter")
	Expect(err).NotTo(HaveOccurred())
	Expect(value).To(Equal("4711"))
	say("the field that 0.2.0 added can be set")
}

// plans are the versions that InstallPlans were made for, by UID of the plan.
func (w *world) plans(ctx context.Context) map[string][]string {
	GinkgoHelper()
	list := &operatorsv1alpha1.InstallPlanList{}
	Expect(w.client.List(ctx, list, client.InNamespace(systemNamespace))).To(Succeed())
	found := map[string][]string{}
	for _, plan := range list.Items {
		found[string(plan.UID)] = plan.Spec.ClusterServiceVersionNames
	}
	return found
}
