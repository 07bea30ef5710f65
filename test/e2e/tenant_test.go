// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

const (
	tenantUser  = "tess"
	tenantGroup = "platform-operator-installers" // as config/tenancy has it
)

// specsOfInstallation: an administrator prepares, a tenant installs.
func specsOfInstallation() {
	var tenant client.Client

	BeforeAll(func(ctx SpecContext) {
		first = lab.release(ctx, "0.1.0")
		out, err := lab.kubectl(ctx, lab.cluster.KubeconfigPath(), "apply", "--server-side", "-k", "config/tenancy")
		Expect(err).NotTo(HaveOccurred(), out)
		lab.publish(ctx, lab.catalog(ctx, first))
		tenant = lab.impersonate(tenantUser, tenantGroup)
	}, NodeTimeout(installed*2))

	It("refuses what would give the tenant more than the operator", func(ctx SpecContext) {
		checkPolicy(ctx, tenant)
		checkRoles(ctx, tenant)
	}, NodeTimeout(2*soon))

	It("installs by a Subscription of the tenant", func(ctx SpecContext) {
		Expect(tenant.Create(ctx, newSubscription())).To(Succeed())
		say("%s, who may write Subscriptions and nothing else here, subscribed to %s", tenantUser, packageName)
		lab.awaitVersion(ctx, first)
		eventually(ctx, "the tenant sees that the plan is complete", soon, func(g Gomega) {
			plans := &operatorsv1alpha1.InstallPlanList{}
			g.Expect(tenant.List(ctx, plans, client.InNamespace(systemNamespace))).To(Succeed())
			g.Expect(plans.Items).To(HaveLen(1))
			g.Expect(plans.Items[0].Status.Phase).To(Equal(operatorsv1alpha1.InstallPlanPhaseComplete))
		})
		checkServed(ctx)
	}, NodeTimeout(installed*2))

	It("keeps the tenant from changing what was installed", func(ctx SpecContext) {
		checkInstallation(ctx, tenant)
	}, NodeTimeout(soon))
}

// checkPolicy expects that a Subscription says what config/tenancy allows, and nothing else.
func checkPolicy(ctx context.Context, tenant client.Client) {
	GinkgoHelper()
	for says, change := range map[string]func(*operatorsv1alpha1.SubscriptionSpec){
		"spec.config": func(s *operatorsv1alpha1.SubscriptionSpec) {
			s.Config = &operatorsv1alpha1.SubscriptionConfig{Env: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "elsewhere"}}}
		},
		"spec.name":    func(s *operatorsv1alpha1.SubscriptionSpec) { s.Package = "cluster-logging" },
		"spec.source":  func(s *operatorsv1alpha1.SubscriptionSpec) { s.CatalogSource = "mine" },
		"spec.channel": func(s *operatorsv1alpha1.SubscriptionSpec) { s.Channel = "nightly" },
	} {
		s := newSubscription()
		change(s.Spec)
		// A policy and a role count a moment after they were made.
		var err error
		eventually(ctx, "a Subscription with another "+says+" is rejected", soon, func(g Gomega) {
			err = tenant.Create(ctx, s.DeepCopy(), client.DryRunAll)
			g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), fmt.Sprint(err))
		})
		Expect(err).To(MatchError(ContainSubstring(says)))
		say("refused: a Subscription with another %s", says)
	}
}

// checkRoles expects that the tenant may not do what would amount to the operator's rights.
func checkRoles(ctx context.Context, tenant client.Client) {
	GinkgoHelper()
	sneaky := metav1.ObjectMeta{Namespace: systemNamespace, Name: "sneaky"}
	for what, object := range map[string]client.Object{
		"an OperatorGroup": &operatorsv1.OperatorGroup{ObjectMeta: sneaky},
		"a CatalogSource":  &operatorsv1alpha1.CatalogSource{ObjectMeta: sneaky, Spec: operatorsv1alpha1.CatalogSourceSpec{SourceType: "grpc"}},
		"a pod where the operator runs": &corev1.Pod{
			ObjectMeta: sneaky, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "any"}}},
		},
	} {
		err := tenant.Create(ctx, object)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "creating %s: %v", what, err)
		say("forbidden: to create %s", what)
	}
}

// checkServed expects the kinds, the webhooks and the operator's own word that it is ready.
func checkServed(ctx context.Context) {
	GinkgoHelper()
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	Expect(lab.client.List(ctx, crds)).To(Succeed())
	var ours []string
	for _, crd := range crds.Items {
		if isOurs(crd.Spec.Group) {
			ours = append(ours, crd.Spec.Names.Kind)
		}
	}
	Expect(ours).To(ContainElements("AcmeNamespace", "DeploymentTier"))
	say("kinds: %v", ours)

	var err error
	eventually(ctx, "the operator's own namespace is not handed out", soon, func(g Gomega) {
		err = lab.client.Create(ctx, newForbidden(), client.DryRunAll)
		g.Expect(err).To(MatchError(ContainSubstring("admission webhook")))
	})
	say("the webhooks answer: %v", err)
	lab.awaitUpgradeable(ctx, first, metav1.ConditionTrue)
}

// newForbidden is an AcmeNamespace that only a webhook refuses; the schema allows it.
func newForbidden() *tenancyv1alpha1.AcmeNamespace {
	return &tenancyv1alpha1.AcmeNamespace{
		ObjectMeta: metav1.ObjectMeta{Name: "not-allowed"},
		Spec:       tenancyv1alpha1.AcmeNamespaceSpec{NamespaceName: systemNamespace, AdminUsername: teamAdmin},
	}
}

// checkInstallation expects that the tenant cannot reach into the operator once it runs.
func checkInstallation(ctx context.Context, tenant client.Client) {
	GinkgoHelper()
	patch := client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"annotations":{"sneaky":"yes"}}}`))
	for what, object := range map[string]client.Object{
		"the operator's Deployment":    &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: deploymentName}},
		"the ClusterServiceVersion":    &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: first.csv()}},
		"the operator's namespace":     &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}},
		"the catalog":                  &operatorsv1alpha1.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: sourceNamespace, Name: sourceName}},
		"a CustomResourceDefinition":   &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "acmenamespaces.tenancy.acme.com"}},
		"the webhooks' serving Secret": &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: deploymentName + "-service-cert"}},
	} {
		err := tenant.Patch(ctx, object, patch)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "changing %s: %v", what, err)
		say("forbidden: to change %s", what)
	}
	err := tenant.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: deploymentName + "-service-cert"}, &corev1.Secret{})
	Expect(apierrors.IsForbidden(err)).To(BeTrue(), fmt.Sprintf("reading the webhooks' key: %v", err))
	checkPolicyOnUpdate(ctx, tenant)
}

// checkPolicyOnUpdate expects that what could not be created cannot be put in later.
func checkPolicyOnUpdate(ctx context.Context, tenant client.Client) {
	GinkgoHelper()
	config := client.RawPatch(client.Merge.Type(), []byte(`{"spec":{"config":{"env":[{"name":"A","value":"b"}]}}}`))
	err := tenant.Patch(ctx, newSubscription(), config)
	Expect(apierrors.IsInvalid(err)).To(BeTrue(), "spec.config of a Subscription that is there: %v", err)
	say("refused: to add spec.config to the Subscription")
}
