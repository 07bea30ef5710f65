// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

const leaseName = "platform-operator.acme.com"

// specsOfUpgrade: a leader dies, and a version follows another, while somebody writes.
func specsOfUpgrade() {
	It("survives the death of its leader", func(ctx SpecContext) {
		before := lab.leader(ctx)
		views := lab.startViewer(ctx)
		load := lab.startWriter("death")
		eventually(ctx, "the writer writes", soon, func(g Gomega) { g.Expect(lab.written(ctx, "death")).To(BeNumerically(">", 1)) })
		start := time.Now()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: before}}
		Expect(lab.client.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		eventually(ctx, "another replica leads", soon, func(g Gomega) { g.Expect(lab.leader(ctx)).NotTo(Or(BeEmpty(), Equal(before))) })
		say("%s was killed; %s leads, after %s", before, lab.leader(ctx), since(start))
		lab.awaitVersion(ctx, first)
		views.report(ctx, "while the leader died")
		load.report(ctx, "while the leader died")
	}, NodeTimeout(installed*2))

	It("keeps OLM waiting while something critical is in flight", func(ctx SpecContext) {
		second = lab.release(ctx, "0.2.0", addField)
		catalog := lab.catalog(ctx, first, second)
		operators := lab.podsIn(ctx, systemNamespace)
		lab.awaitUpgradeable(ctx, first, metav1.ConditionTrue)
		lab.takeOff(ctx)
		lab.awaitUpgradeable(ctx, first, metav1.ConditionFalse)
		load := lab.startWriter("held")
		lab.publish(ctx, catalog)
		lab.awaitHeld(ctx, second)
		lab.checkWorks(ctx, "while-held")
		checkAddedField(ctx, "4711")
		load.report(ctx, "while 0.2.0 had to wait")
		lab.awaitHeld(ctx, second)
		Expect(lab.podsIn(ctx, systemNamespace)).To(Equal(operators), "a pod of the operator was restarted or replaced")
		say("the pods of 0.1.0 continued to work, with the CustomResourceDefinitions of 0.2.0")
	}, NodeTimeout(installed*3))

	It("is upgraded to the next version once it is through", func(ctx SpecContext) {
		pods := lab.tenantPods(ctx)
		views := lab.startViewer(ctx)
		load := lab.startWriter("upgrade")
		lab.land(ctx)
		lab.awaitVersion(ctx, second)
		views.report(ctx, "while 0.1.0 became 0.2.0")
		load.report(ctx, "while 0.1.0 became 0.2.0")
		Expect(lab.tenantPods(ctx)).To(Equal(pods), "a tenant's pod was restarted or replaced")
		say("no pod of a tenant was restarted")
		checkAddedField(ctx, "4712")
	}, NodeTimeout(installed*3))
}

// inFlight is a ConfigMap that does not go, and with it the namespace of an AcmeNamespace of the same name that is being
// deleted: what the operator must not be replaced for.
var inFlight = &corev1.ConfigMap{
	ObjectMeta: metav1.ObjectMeta{Namespace: "app-in-flight", Name: "in-flight", Finalizers: []string{"example.com/somebody-else"}},
}

// takeOff puts something critical in flight.
func (w *world) takeOff(ctx context.Context) {
	GinkgoHelper()
	n := &tenancyv1alpha1.AcmeNamespace{
		ObjectMeta: metav1.ObjectMeta{Name: inFlight.Name},
		Spec:       tenancyv1alpha1.AcmeNamespaceSpec{NamespaceName: inFlight.Namespace, AdminUsername: teamAdmin},
	}
	Expect(w.client.Create(ctx, n)).To(Succeed())
	w.awaitNamespace(ctx, n.Name)
	Expect(w.client.Create(ctx, inFlight.DeepCopy())).To(Succeed())
	Expect(w.client.Delete(ctx, n)).To(Succeed())
	say("an AcmeNamespace is deleted, and somebody else's finalizer keeps its namespace")
}

// land lets what is in flight come to its end.
func (w *world) land(ctx context.Context) {
	GinkgoHelper()
	patch := client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"finalizers":null}}`))
	Expect(w.client.Patch(ctx, inFlight.DeepCopy(), patch)).To(Succeed())
	eventually(ctx, "the AcmeNamespace is gone", soon, func(g Gomega) {
		err := w.client.Get(ctx, client.ObjectKey{Name: inFlight.Name}, &tenancyv1alpha1.AcmeNamespace{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), fmt.Sprint(err))
	})
	say("the finalizer is off, and the AcmeNamespace gone")
}

// awaitUpgradeable waits until OLM has taken down whether a version says that it may be upgraded.
func (w *world) awaitUpgradeable(ctx context.Context, r release, want metav1.ConditionStatus) {
	GinkgoHelper()
	o := &operatorsv2.OperatorCondition{}
	eventually(ctx, "OLM knows that Upgradeable is "+string(want), soon, func(g Gomega) {
		g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: r.csv()}, o)).To(Succeed())
		c := meta.FindStatusCondition(o.Status.Conditions, operatorsv2.Upgradeable)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.ObservedGeneration).To(Equal(o.Generation))
		g.Expect(c.Status).To(Equal(want), c.Message)
	})
	c := meta.FindStatusCondition(o.Status.Conditions, operatorsv2.Upgradeable)
	say("OperatorCondition: Upgradeable is %s: %s", c.Status, c.Message)
}

// awaitHeld waits until OLM says that a version waits for the operator's consent.
func (w *world) awaitHeld(ctx context.Context, r release) {
	GinkgoHelper()
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	eventually(ctx, r.csv()+" has to wait", installed, func(g Gomega) {
		g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: r.csv()}, csv)).To(Succeed())
		g.Expect(csv.Status.Phase).To(Equal(operatorsv1alpha1.CSVPhasePending), csv.Status.Message)
		g.Expect(csv.Status.Reason).To(Equal(operatorsv1alpha1.CSVReasonOperatorConditionNotUpgradeable), csv.Status.Message)
	})
	Expect(csv.Status.Message).To(ContainSubstring(inFlight.Name))
	say("OLM keeps %s %s: %s", csv.Name, csv.Status.Phase, csv.Status.Message)
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
func checkAddedField(ctx context.Context, costCenter string) {
	GinkgoHelper()
	n := &unstructured.Unstructured{}
	n.SetGroupVersionKind(acmeNamespaceGVK)
	n.SetName(teamName)
	has := func(g Gomega) {
		value, _, err := unstructured.NestedString(n.Object, "spec", "costCenter")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(value).To(Equal(costCenter))
	}
	patch := client.RawPatch(client.Merge.Type(), fmt.Appendf(nil, `{"spec":{"costCenter":%q}}`, costCenter))
	eventually(ctx, "the field is served", soon, func(g Gomega) {
		g.Expect(lab.client.Patch(ctx, n, patch)).To(Succeed())
		has(g)
	})
	lab.awaitNamespace(ctx, teamName)
	Expect(lab.client.Get(ctx, client.ObjectKeyFromObject(n), n)).To(Succeed())
	has(Default)
	say("the field that 0.2.0 added can be set to %s", costCenter)
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
