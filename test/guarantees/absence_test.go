// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"bytes"
	"context"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// describeUnhindered has the part of G7 that is about everybody else, with the webhooks of all kinds.
func describeUnhindered(all []*kind) {
	homes := slices.DeleteFunc(slices.Clone(all), func(k *kind) bool { return k.leavesOut("G7 Namespace") })
	It("G7: while the operator with its webhooks is stopped, everybody else can write", labels("G7", all), func(ctx context.Context) {
		op := start(withWebhooks)
		namespaces := []string{unique("g7-other")}
		for _, k := range all {
			name := k.several(1, "g7")[0].GetName()
			if slices.Contains(homes, k) {
				namespaces = append(namespaces, name)
			}
		}
		op.Stop()
		calls := webhookCalls(ctx)
		for i, namespace := range namespaces {
			ns := namespaceNamed(namespace)
			if i == 0 {
				Expect(Admin.Create(ctx, ns)).To(Succeed(), "creating a Namespace")
			}
			everyday(ctx, namespace)
			Patch(ns, adornments[0])
			if i == 0 {
				Expect(Admin.Delete(ctx, ns)).To(Succeed(), "deleting a Namespace")
			}
		}
		Expect(webhookCalls(ctx)).To(Equal(calls), "a webhook that is not there makes everybody wait")
		for _, k := range all {
			if k.row.Webhook != nil {
				Expect(Admin.Create(ctx, k.object(unique("g7-own")), client.DryRunAll)).To(Succeed())
				break
			}
		}
		Expect(webhookCalls(ctx)).To(BeNumerically(">", calls), "calls are not counted")
	})
}

// describeAbsence has the part of G7 that is about the kind's own objects.
func describeAbsence(k *kind) {
	noFinalizer := k.leavesOut("G7 finalizer")
	Describe("G7: while the operator with its webhooks is stopped", Label("G7"), func() {
		It("objects of the kind can be created, changed and deleted, and their finalizers removed by hand", func(ctx context.Context) {
			op := start(withWebhooks)
			o := k.several(1, "g7")[0]
			op.Stop()
			another := k.object(unique("g7-late"))
			k.surround(another)
			discardLater(another)
			Expect(Admin.Create(ctx, another)).To(Succeed(), "creating another one")
			before := o.DeepCopyObject().(engine.Object)
			k.fixture.Change(o, o.GetName())
			Expect(Admin.Patch(ctx, o, client.MergeFrom(before))).To(Succeed(), "changing it")
			Expect(Admin.Delete(ctx, o)).To(Succeed(), "deleting it")
			if len(o.GetFinalizers()) > 0 {
				Expect(Gone(o)()).NotTo(Succeed(), "it has a finalizer")
				Patch(o, `{"metadata":{"finalizers":null}}`)
			}
			Expect(Gone(o)()).To(Succeed())
		})

		It("an object that the schema has come to refuse can be deleted, by hand or once the operator is back", func(ctx context.Context) {
			op := start(withWebhooks)
			finalizers := k.several(1, "g7")[0].GetFinalizers()
			op.Stop()
			invalid := k.invalid(finalizers, unique("g7-invalid"), unique("g7-invalid"))
			for _, o := range invalid {
				Expect(Admin.Delete(ctx, o)).To(Succeed(), "deleting it")
			}
			isGone := func(o client.Object) bool {
				return apierrors.IsNotFound(Reload(o))
			}
			if noFinalizer {
				Expect(isGone(invalid[0])).To(BeTrue())
				return
			}
			Expect(finalizers).NotTo(BeEmpty())
			Patch(invalid[0], `{"metadata":{"finalizers":null}}`)
			Expect(isGone(invalid[0])).To(BeTrue())
			Expect(isGone(invalid[1])).To(BeFalse())
			op.Start()
			Eventually(isGone).WithArguments(invalid[1]).Should(BeTrue())
		})
	})
}

// webhookCalls are how often the API server has tried to call a webhook of admission, whatever became of it.
func webhookCalls(ctx context.Context) (calls float64) {
	GinkgoHelper()
	cs, err := kubernetes.NewForConfig(Plane.Config)
	Expect(err).NotTo(HaveOccurred())
	text, err := cs.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	Expect(err).NotTo(HaveOccurred())
	for _, m := range families["apiserver_admission_webhook_request_total"].GetMetric() {
		calls += m.GetCounter().GetValue()
	}
	return calls
}

// everyday creates, updates and deletes what people have in namespaces.
func everyday(ctx context.Context, namespace string) {
	GinkgoHelper()
	Eventually(func() error { // without it no pod is admitted anywhere
		return Admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
	}).Should(Succeed())
	meta := metav1.ObjectMeta{Name: "everyday", Namespace: namespace}
	for _, o := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta},
		&corev1.Secret{ObjectMeta: meta},
		&corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}}},
	} {
		Expect(Admin.Create(ctx, o)).To(Succeed(), "creating")
		Patch(o, adornments[0])
		Expect(Admin.Delete(ctx, o)).To(Succeed(), "deleting")
	}
}

// invalid makes objects that the schema refuses, with the operator's finalizers, as they are left behind when the schema
// becomes stricter.
func (k *kind) invalid(finalizers []string, names ...string) (all []*unstructured.Unstructured) {
	GinkgoHelper()
	create := func(o *unstructured.Unstructured, opts ...client.CreateOption) error {
		return Admin.Create(context.Background(), o.DeepCopy(), opts...)
	}
	for _, name := range names {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(k.object(name))
		Expect(err).NotTo(HaveOccurred())
		o := &unstructured.Unstructured{Object: content}
		o.SetGroupVersionKind(k.gvk)
		k.surround(k.object(name))
		o.SetFinalizers(finalizers)
		k.fixture.Invalidate(o)
		Expect(apierrors.IsInvalid(create(o))).To(BeTrue())
		all = append(all, o)
	}
	k.withoutSchema(func() {
		for _, o := range all {
			Eventually(create).WithArguments(o).Should(Succeed())
		}
	})
	Eventually(func() bool {
		refused := all[0].DeepCopy()
		refused.SetName(names[0] + "-refused")
		return apierrors.IsInvalid(create(refused, client.DryRunAll))
	}).Should(BeTrue())
	return all
}

// withoutSchema does something while the CRD of the kind takes any spec.
func (k *kind) withoutSchema(do func()) {
	GinkgoHelper()
	ctx := context.Background()
	cl, err := client.New(Plane.Config, client.Options{Scheme: crdScheme()})
	Expect(err).NotTo(HaveOccurred())
	restore := sync.OnceValue(func() error { return testenv.InstallDefinitions(Plane, k.gvk.Group+"_"+k.plural()+".yaml") })
	DeferCleanup(restore)
	Eventually(func(g Gomega) { // the API server writes its status
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(cl.Get(ctx, client.ObjectKey{Name: k.crdName()}, crd)).To(Succeed())
		for i := range crd.Spec.Versions {
			open := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
			crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"] = open
			crd.Spec.Versions[i].Schema.OpenAPIV3Schema.XValidations = nil // rules about fields that are open now
			crd.Spec.Versions[i].SelectableFields = nil
		}
		g.Expect(cl.Update(ctx, crd)).To(Succeed())
	}).Should(Succeed())
	do()
	Expect(restore()).To(Succeed())
}
