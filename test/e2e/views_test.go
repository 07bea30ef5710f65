// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// settings is where the operator's configuration is. No other part of the story needs one.
var settings = client.ObjectKey{Namespace: systemNamespace, Name: "platform-operator-config"}

// viewsName is the Deployment of the program that answers the views.
const viewsName = "platform-operator-views"

// Users ask a second program by way of the API server. It is registered unless the configuration says otherwise.
var _ = withOperator("Views", func() {
	var kubeconfig string

	AfterAll(func(ctx SpecContext) { // the rest of the story has the views as they are by default; a leader that starts again tries at once
		Expect(client.IgnoreNotFound(lab.client.Delete(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name},
		}))).To(Succeed())
		lab.awaitViews(ctx)
	}, NodeTimeout(soon))

	It("are an API once the operator is installed", func(ctx SpecContext) {
		kubeconfig, _ = lab.login(teamAdmin, teamNamespace)
		lab.awaitViews(ctx)
	}, NodeTimeout(soon))

	It("show a tenant the tenant's own namespaces, and what they use", func(ctx SpecContext) {
		all := &corev1.NamespaceList{}
		Expect(lab.client.List(ctx, all)).To(Succeed())
		for _, n := range all.Items { // kubectl get namespace, one by one, says who may see what
			_, err := lab.kubectl(ctx, kubeconfig, "get", "namespace", n.Name)
			eventually(ctx, "the views agree on "+n.Name, soon, func(g Gomega) {
				out, failed := lab.kubectl(ctx, kubeconfig, "get", "mynamespaces", n.Name)
				g.Expect(failed == nil).To(Equal(err == nil), out)
				if err != nil {
					g.Expect(out).To(ContainSubstring("not found"))
				}
			})
		}
		mine, err := lab.kubectl(ctx, kubeconfig, "get", "mynamespaces", "-o", "name")
		Expect(err).NotTo(HaveOccurred(), mine)
		Expect(strings.Fields(mine)).To(ContainElement(HaveSuffix("/" + teamNamespace)))
		Expect(len(strings.Fields(mine))).To(BeNumerically("<", len(all.Items)))
		out, err := lab.kubectl(ctx, kubeconfig, "get", "namespaceusages", teamNamespace)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring(teamAdmin), "the tenant of the namespace")
		out, err = lab.kubectl(ctx, kubeconfig, "get", "namespaces")
		Expect(err).To(HaveOccurred(), out)
		say("%s sees %d of %d namespaces", teamAdmin, len(strings.Fields(mine)), len(all.Items))
	}, NodeTimeout(3*soon))

	It("are no API once they are disabled", func(ctx SpecContext) {
		lab.setViews(ctx, "{state: Disabled}")
		eventually(ctx, "the registration is gone", soon, func(g Gomega) { g.Expect(lab.registration(ctx)).To(BeNil()) })
		out, err := lab.kubectl(ctx, kubeconfig, "get", "mynamespaces")
		Expect(err).To(HaveOccurred(), out)
	}, NodeTimeout(3*soon))

	It("are no API while they cannot be reached, which OLM does not mind", func(ctx SpecContext) {
		lab.setViews(ctx, "{certificate: Provided, unreachableAfter: 30s}")
		lab.awaitViews(ctx)
		start := time.Now()
		lab.trustOthers(ctx)
		n := namespaceOf("without-views")
		Expect(lab.client.Create(ctx, n)).To(Succeed())
		eventually(ctx, "it was unregistered because it cannot be reached", soon, func(g Gomega) {
			lab.expectInstalled(ctx, g)
			r := lab.registration(ctx)
			g.Expect(r).To(BeNil(), "the registration is %v", r)
			g.Expect(lab.unregistered(ctx, g)).To(ContainElement("Unreachable"))
		})
		say("the API was unregistered %s after the replicas could not be reached", since(start))
		out, err := lab.kubectl(ctx, kubeconfig, "get", "mynamespaces")
		Expect(err).To(HaveOccurred(), out)
		lab.deletes(ctx, n)
		lab.expectInstalled(ctx, Default)
	}, NodeTimeout(3*soon))
})

// awaitViews waits until the API server reaches the views.
func (w *world) awaitViews(ctx context.Context) {
	GinkgoHelper()
	start := time.Now()
	eventually(ctx, "the API of the views is available", soon, func(g Gomega) {
		r := w.registration(ctx)
		g.Expect(r).NotTo(BeNil())
		conditions, _, err := unstructured.NestedSlice(r.Object, "status", "conditions")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(conditions).To(ContainElement(And(HaveKeyWithValue("type", "Available"), HaveKeyWithValue("status", "True"))))
	})
	say("the API of the views is available, after %s", since(start))
}

// awaitNoViews waits until the API is registered no longer, and checks that a namespace can be deleted. That is what must not take long when
// the program that answers is gone.
func (w *world) awaitNoViews(ctx context.Context, since time.Time) {
	GinkgoHelper()
	eventually(ctx, "the registration of the views is gone", time.Until(since.Add(time.Minute)), func(g Gomega) {
		g.Expect(w.registration(ctx)).To(BeNil())
	})
	say("the registration of the views was gone after %s at most", time.Since(since).Round(100*time.Millisecond))
	n := namespaceOf("without-views")
	Expect(w.client.Create(ctx, n)).To(Succeed())
	w.deletes(ctx, n)
}

// deletes expects that a namespace can be deleted.
func (w *world) deletes(ctx context.Context, n *corev1.Namespace) {
	GinkgoHelper()
	start := time.Now()
	Expect(w.client.Delete(ctx, n)).To(Succeed())
	eventually(ctx, "a namespace goes", time.Minute, func(g Gomega) {
		g.Expect(apierrors.IsNotFound(w.client.Get(ctx, client.ObjectKeyFromObject(n), n))).To(BeTrue())
	})
	say("a namespace was deleted within %s", since(start))
}

// expectInstalled expects that OLM is content with the first version.
func (w *world) expectInstalled(ctx context.Context, g Gomega) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: first.csv()}, csv)).To(Succeed())
	if csv.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded {
		Fail(fmt.Sprintf("%s is %s: %s", csv.Name, csv.Status.Phase, csv.Status.Message)) // at any moment, not only at the end
	}
}

// unregistered are the causes for which the API was unregistered, by the events.
func (w *world) unregistered(ctx context.Context, g Gomega) (causes []string) {
	events := &eventsv1.EventList{}
	g.Expect(w.client.List(ctx, events, client.InNamespace(systemNamespace))).To(Succeed())
	for i := range events.Items {
		if events.Items[i].Reason == "Unregistered" {
			causes = append(causes, events.Items[i].Action)
		}
	}
	return causes
}

// trustOthers has API servers verify the views by another authority than theirs, once the operator leaves the certificate to others. The
// operator makes that right when the certificate is its own again.
func (w *world) trustOthers(ctx context.Context) {
	GinkgoHelper()
	Expect(w.config.CAData).NotTo(BeEmpty())
	want := base64.StdEncoding.EncodeToString(w.config.CAData)
	eventually(ctx, "API servers verify by another authority", soon, func(g Gomega) {
		secret := &corev1.Secret{}
		g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: viewsName + "-cert"}, secret)).To(Succeed())
		if before := secret.DeepCopy(); !bytes.Equal(secret.Data["ca.crt"], w.config.CAData) {
			secret.Data["ca.crt"] = w.config.CAData
			g.Expect(w.client.Patch(ctx, secret, client.MergeFrom(before))).To(Succeed())
		}
		r := w.registration(ctx)
		g.Expect(r).NotTo(BeNil())
		bundle, _, err := unstructured.NestedString(r.Object, "spec", "caBundle")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(bundle).To(Equal(want), "the APIService does not have the authority yet")
	})
}

// setViews configures the operator.
func (w *world) setViews(ctx context.Context, views string) {
	GinkgoHelper()
	content := map[string]string{"config.yaml": "apiVersion: config.acme.com/v1alpha1\nkind: PlatformOperatorConfig\nviews: " + views + "\n"}
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}, Data: content}
	err := w.client.Create(ctx, c)
	if apierrors.IsAlreadyExists(err) {
		err = w.client.Update(ctx, c)
	}
	Expect(err).NotTo(HaveOccurred())
}

// registration is the APIService of the views, or nil.
func (w *world) registration(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	r := &unstructured.Unstructured{}
	r.SetAPIVersion("apiregistration.k8s.io/v1")
	r.SetKind("APIService")
	err := w.client.Get(ctx, client.ObjectKey{Name: "v1alpha1.views.acme.com"}, r)
	if apierrors.IsNotFound(err) {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return r
}
