// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// keptName is an AcmeNamespace that is retained, routedName a SchedulerProfile, and the namespace whose pods it gets.
const keptName, routedName = "kept", "routed"

// specsOfRemoval: docs/install-olm.md, "Uninstall", step by step.
func specsOfRemoval() {
	It("lets the objects go first, and keeps what is to be kept", func(ctx SpecContext) {
		Expect(lab.client.Create(ctx, &tenancyv1alpha1.AcmeNamespace{
			ObjectMeta: metav1.ObjectMeta{Name: keptName},
			Spec: tenancyv1alpha1.AcmeNamespaceSpec{
				NamespaceName: "app-kept", AdminUsername: teamAdmin, DeletionPolicy: tenancyv1alpha1.DeletionRetain,
			},
		})).To(Succeed())
		lab.awaitNamespace(ctx, keptName)
		eventually(ctx, "former schedulers have left no Lease", 2*soon, func(g Gomega) { // they are removed once a minute
			g.Expect(lab.schedulers(ctx, g, &coordinationv1.LeaseList{})).To(BeEmpty())
		})
		lab.route(ctx, routedName, routedName)
		lab.awaitProfile(ctx, routedName, "True NoNodes")
		eventually(ctx, "pods are routed", soon, func(g Gomega) {
			g.Expect(seedPodIn(ctx, g, routedName, client.DryRunAll).Spec.SchedulerName).To(Equal(routedName))
		})
		var deleted int
		for _, crd := range lab.kinds(ctx) {
			out, err := lab.kubectl(ctx, lab.cluster.KubeconfigPath(), "delete", crd, "--all", "--all-namespaces", "--timeout=5m")
			Expect(err).NotTo(HaveOccurred(), out)
			deleted += strings.Count(out, " deleted")
		}
		eventually(ctx, "no scheduler is left", soon, func(g Gomega) { lab.noScheduler(ctx, g) })
		Expect(slices.Collect(maps.Keys(lab.spaces(ctx)))).To(ConsistOf("app-kept"))
		kept := &corev1.Namespace{}
		Expect(lab.client.Get(ctx, client.ObjectKey{Name: "app-kept"}, kept)).To(Succeed())
		Expect(kept.Labels).NotTo(HaveKey(names.LabelOwnerUID))
		say("%d objects were deleted; their namespaces are gone, but for the one that was to be retained", deleted)
	}, NodeTimeout(installed))

	It("leaves nothing of the operator behind", func(ctx SpecContext) {
		lab.uninstall(ctx)
		out, err := lab.kubectl(ctx, lab.cluster.KubeconfigPath(), append([]string{"delete", "crd", "--timeout=2m"}, lab.kinds(ctx)...)...)
		Expect(err).NotTo(HaveOccurred(), out)
		out, err = lab.kubectl(ctx, lab.cluster.KubeconfigPath(), "delete", "clusterroles,clusterrolebindings", "--selector", "app.kubernetes.io/name=platform-operator")
		Expect(err).NotTo(HaveOccurred(), out)
		out, err = lab.kubectl(ctx, lab.cluster.KubeconfigPath(), "delete", "--ignore-not-found",
			"operators.operators.coreos.com", packageName+"."+systemNamespace)
		Expect(err).NotTo(HaveOccurred(), out)
		eventually(ctx, "pods are created although routing has lost its kind", soon, func(g Gomega) {
			g.Expect(seedPodIn(ctx, g, routedName, client.DryRunAll).Spec.SchedulerName).To(Equal(corev1.DefaultSchedulerName))
		})
		kubectlAsAdmin(ctx, "delete", "-k", "config/scheduling", "--timeout=2m")
		out, err = lab.kubectl(ctx, lab.cluster.KubeconfigPath(), "delete", "-k", "config/tenancy", "--timeout=5m")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(lab.client.Delete(ctx, namespaceOf("app-kept"))).To(Succeed())
		Expect(lab.client.Delete(ctx, namespaceOf(routedName))).To(Succeed())
		eventually(ctx, "nothing of the operator is left", soon, func(g Gomega) { g.Expect(lab.traces(ctx, g)).To(BeEmpty()) })
		say("nothing is left: no kind, no role, no binding, no policy, no webhook, no namespace")
	}, NodeTimeout(installed))
}

// kinds are the operator's CustomResourceDefinitions, those of cluster-scoped objects last: a namespace takes with it what is
// in it.
func (w *world) kinds(ctx context.Context) []string {
	GinkgoHelper()
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	Expect(w.client.List(ctx, crds)).To(Succeed())
	var namespaced, others []string
	for _, crd := range crds.Items {
		switch {
		case !isOurs(crd.Spec.Group):
		case crd.Spec.Scope == apiextensionsv1.NamespaceScoped:
			namespaced = append(namespaced, crd.Name)
		default:
			others = append(others, crd.Name)
		}
	}
	return append(namespaced, others...)
}

// traces are cluster-scoped objects of the operator: those whose names say so. OLM's roles for a kind are named after it.
func (w *world) traces(ctx context.Context, g Gomega) []string {
	var found []string
	for _, kind := range []string{
		"v1 Namespace", "operators.coreos.com/v1 Operator", "apiextensions.k8s.io/v1 CustomResourceDefinition", "rbac.authorization.k8s.io/v1 ClusterRole",
		"rbac.authorization.k8s.io/v1 ClusterRoleBinding", "apiregistration.k8s.io/v1 APIService", "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding", "admissionregistration.k8s.io/v1 MutatingAdmissionPolicy",
		"admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding",
		"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
		"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration",
	} {
		version, name, _ := strings.Cut(kind, " ")
		list := &metav1.PartialObjectMetadataList{}
		list.APIVersion, list.Kind = version, name+"List"
		g.Expect(w.client.List(ctx, list)).To(Succeed())
		for _, o := range list.Items {
			if strings.Contains(o.Name, "platform-operator") || strings.Contains(o.Name, "acme.com") || strings.HasPrefix(o.Name, "app-") {
				found = append(found, name+" "+o.Name)
			}
		}
	}
	return found
}
