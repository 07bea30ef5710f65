// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

func adopting(s *v1alpha1.AcmeNamespaceSpec) { s.Adopt = true }

func inNamespace(name string) func(*v1alpha1.AcmeNamespaceSpec) {
	return func(s *v1alpha1.AcmeNamespaceSpec) { s.NamespaceName = name }
}

func bareNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"theirs": "yes"}}}
}

func tierObject(name string, spec v1alpha1.DeploymentTierSpec) *v1alpha1.DeploymentTier {
	return &v1alpha1.DeploymentTier{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

// Without webhooks, whatever the schema lets pass reaches the loop.
var _ = Describe("While the webhook is down, an AcmeNamespace", Ordered, ContinueOnFailure, func() {
	var (
		op     *Operator
		billed = &ledger{}
	)
	BeforeAll(func() {
		op = StartOperator(Configured("acmeNamespace: {protectedNames: [monitoring, infra-*]}"), func(o *operator.Options) { o.Ledger = billed })
	})

	DescribeTable("gets no protected name", func(name, namespace, by string) {
		n := team(name, inNamespace(namespace))
		Create(n)
		Eventually(Ready(n)).Should(Equal("False NameProtected"))
		Expect(Condition(n, "Stalled")()).To(Equal("True NameProtected"))
		Expect(Condition(n, "Composed")()).To(Equal("Unknown NotReached"))
		Expect(Message(n, "Admitted")).To(Equal(fmt.Sprintf(
			"namespaceName %q is protected (by %q) and cannot be given to a tenant; choose another name", namespace, by)))
		Expect(apierrors.IsNotFound(Reload(bareNamespace(namespace)))).To(Equal(namespace != testenv.OperatorNamespace))
	},
		Entry("of the configuration", "protected", "monitoring", "monitoring"),
		Entry("of a pattern of the configuration", "protected-pattern", "infra-x", "infra-*"),
		Entry("that is the operator's own namespace", "protected-own", testenv.OperatorNamespace, testenv.OperatorNamespace),
	)

	It("gets no namespace with a quota that a ResourceQuota cannot contain", func() {
		n := team("bad-quota", func(s *v1alpha1.AcmeNamespaceSpec) { s.Quota = amounts("pods", "2500m") })
		Create(n)
		Eventually(Ready(n)).Should(Equal("False QuotaInvalid"))
		Expect(Message(n, "Ready")).To(Equal("Admitted: spec.quota[pods] is 2500m; it must be a whole number"))
		Expect(Gone(bareNamespace("app-bad-quota"))()).To(Succeed())
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.Quota = amounts("pods", "3") })
		AwaitReady(n)
		Expect(Condition(n, "Stalled")()).To(Equal("none"))
	})

	Describe("for a namespace that exists", func() {
		It("leaves it alone, until spec.adopt is true or the namespace is gone", func() {
			ns := bareNamespace("app-existing")
			Create(ns)
			n := team("existing")
			Create(n)
			Eventually(Ready(n)).Should(Equal("False NameTaken"))
			Expect(Message(n, "Admitted")).To(Equal(`the Namespace "app-existing" exists and no AcmeNamespace owns it; ` +
				"choose another name, or set spec.adopt to true to adopt it"))
			Expect(n.Status.NamespaceUID).To(BeEmpty())
			untouched := ns.ResourceVersion
			Expect(Reload(ns)).To(Succeed())
			Expect(ns.ResourceVersion).To(Equal(untouched))

			Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.Adopt = true })
			AwaitReady(n)
			Expect(namespaceOf(n).UID).To(Equal(ns.UID))
			Expect(namespaceOf(n).Labels).To(And(HaveKeyWithValue("theirs", "yes"), HaveKeyWithValue("admin", "sam")))
		})

		It("adopts with the namespace what has the names of the guardrails", func() {
			Create(bareNamespace("app-furnished"))
			for _, o := range []client.Object{
				&corev1.LimitRange{
					ObjectMeta: metav1.ObjectMeta{Namespace: "app-furnished", Name: "defaults"},
					Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypePod, Max: amounts("cpu", "1k")}}},
				},
				&rbacv1.Role{
					ObjectMeta: metav1.ObjectMeta{Namespace: "app-furnished", Name: "namespace-admin"},
					Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
				},
				&rbacv1.RoleBinding{
					ObjectMeta: metav1.ObjectMeta{Namespace: "app-furnished", Name: "namespace-admin"},
					RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "admin"},
					Subjects:   []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "mallory"}},
				},
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "app-furnished", Name: "theirs"}},
			} {
				Create(o)
			}
			n := created(team("furnished", adopting))
			Expect(in("app-furnished", "defaults", &corev1.LimitRange{}).Spec.Limits[0].Type).To(Equal(corev1.LimitTypeContainer))
			Expect(len(in("app-furnished", "namespace-admin", &rbacv1.Role{}).Rules)).To(BeNumerically(">", 10))
			Expect(bindingOf(n).RoleRef.Kind).To(Equal("Role"))
			Expect(bindingOf(n).Subjects).To(ConsistOf(rbacv1.Subject{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "sam"}))
			in("app-furnished", "theirs", &corev1.ConfigMap{})
		})
	})

	Describe("that requests the namespace of another", func() {
		It("is blocked, and its end never touches the other's namespace", func() {
			winner := created(team("winner"))
			ns := namespaceOf(winner)
			for _, policy := range []v1alpha1.DeletionPolicy{v1alpha1.DeletionDelete, v1alpha1.DeletionRetain} {
				loser := team("loser-"+strings.ToLower(string(policy)), inNamespace("app-winner"), adopting)
				loser.Spec.DeletionPolicy = policy
				Create(loser)
				Eventually(Ready(loser)).Should(Equal("False NameTaken"))
				Expect(Message(loser, "Admitted")).To(Equal(`namespaceName "app-winner" belongs to the AcmeNamespace winner; choose another name`))
				Expect(loser.Status.NamespaceUID).To(BeEmpty())
				Eventually(EventsOf(loser)).Should(ContainElement(HavePrefix("Warning NameTaken: ")))
				Remove(loser)
				Eventually(Gone(loser)).Should(Succeed())
				Expect(billed.Of(loser)()).To(BeEmpty(), "it is not reported to billing")
			}
			Consistently(func(g Gomega) {
				g.Expect(Reload(ns)).To(Succeed())
				g.Expect(ns.DeletionTimestamp).To(BeNil())
				g.Expect(ns.Labels).To(HaveKeyWithValue(labelOwnerUID, string(winner.UID)))
			}).Should(Succeed())
			AwaitReady(winner)
		})

		It("gets it at once when the obstacle is gone: the other, or a namespace without an owner", func() {
			first, nobodys := created(team("first")), bareNamespace("app-freed")
			Create(nobodys)
			second, freed := team("second", inNamespace("app-first")), team("freed")
			for _, n := range []*v1alpha1.AcmeNamespace{second, freed} {
				Create(n)
				Eventually(Ready(n)).Should(Equal("False NameTaken"))
			}
			Remove(first)
			Remove(nobodys)
			AwaitReady(freed)
			Expect(namespaceOf(freed).UID).NotTo(Equal(nobodys.UID))
			AwaitReady(second)
			Eventually(Gone(first)).Should(Succeed())
			Expect(namespaceOf(second).Labels).To(HaveKeyWithValue(labelOwnerUID, string(second.UID)))
		})

		It("has it when it was created first, whatever the controller sees first", func() {
			op.Stop()
			older, younger := team("z-older", inNamespace("app-race")), team("a-younger", inNamespace("app-race"))
			Create(older)
			// Creation times have whole seconds.
			Eventually(func(g Gomega) {
				younger = team("a-younger", inNamespace("app-race"))
				g.Expect(Admin.Create(ctx, younger)).To(Succeed())
				if younger.CreationTimestamp.Equal(&older.CreationTimestamp) {
					g.Expect(Admin.Delete(ctx, younger)).To(Succeed())
					g.Expect(younger).To(BeNil(), "it is as old")
				}
			}).Should(Succeed())
			op.Start()
			AwaitReady(older)
			Eventually(Ready(younger)).Should(Equal("False NameTaken"))
		})
	})

	Describe("of a tier", func() {
		AfterEach(func() {
			Expect(client.IgnoreNotFound(Admin.Delete(ctx, tierObject("stg", v1alpha1.DeploymentTierSpec{})))).To(Succeed())
		})

		It("follows every change of the tier, with all others of it", func() {
			stg := func(s *v1alpha1.AcmeNamespaceSpec) { s.DeploymentTier = "stg" }
			one, two, dev := created(team("tier-one", stg)), created(team("tier-two", stg)), created(team("tier-dev"))
			op.Wire.Forget()
			tier := tierObject("stg", v1alpha1.DeploymentTierSpec{
				Quota: amounts("cpu", "7", "pods", "9"), PodSecurity: v1alpha1.PodSecurityBaseline,
				Network: &v1alpha1.NetworkRules{Isolation: v1alpha1.IsolationNone},
			})
			Create(tier)
			for _, n := range []*v1alpha1.AcmeNamespace{one, two} {
				Eventually(func(g Gomega) {
					g.Expect(in(n.Spec.NamespaceName, "stg", &corev1.ResourceQuota{}).Spec.Hard).To(holdAmounts("cpu", "7", "pods", "9"))
					g.Expect(namespaceOf(n).Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "baseline"))
					g.Expect(Gone(policy(n))()).To(Succeed(), "without isolation there is no network policy")
				}).Should(Succeed())
			}
			Change(tier, func(t *v1alpha1.DeploymentTier) { t.Spec = v1alpha1.DeploymentTierSpec{Quota: amounts("cpu", "8")} })
			Eventually(func(g Gomega) {
				g.Expect(in("app-tier-one", "stg", &corev1.ResourceQuota{}).Spec.Hard).To(holdAmounts("cpu", "8"))
				g.Expect(Reload(policy(one))).To(Succeed())
			}).Should(Succeed())
			Remove(tier)
			for _, n := range []*v1alpha1.AcmeNamespace{one, two} {
				Eventually(func() corev1.ResourceList { return in(n.Spec.NamespaceName, "stg", &corev1.ResourceQuota{}).Spec.Hard }).
					Should(holdAmounts("cpu", "50", "memory", "50Gi", "pods", "50"))
				AwaitReady(n)
			}
			Expect(in("app-tier-dev", "dev", &corev1.ResourceQuota{}).Spec.Hard).To(holdAmounts("cpu", "5", "memory", "10Gi", "pods", "10"))
			Expect(op.Wire.Writes(func(w testenv.Write) bool { return w.For("app-tier-dev") })).To(BeEmpty())
			AwaitReady(dev)
		})

		It("waits while the tier is invalid, and keeps its guardrails", func() {
			n := created(team("tier-bad", func(s *v1alpha1.AcmeNamespaceSpec) { s.DeploymentTier = "stg" }))
			tier := tierObject("stg", v1alpha1.DeploymentTierSpec{Quota: amounts("cpus", "1")})
			Create(tier)
			Eventually(Ready(n)).Should(Equal("False TierInvalid"))
			Expect(Message(n, "Admitted")).To(HavePrefix("the DeploymentTier stg is invalid: quota[cpus]: unknown resource"))
			Expect(n.Status.Phase).To(Equal(v1alpha1.PhaseCreated))
			Expect(in("app-tier-bad", "stg", &corev1.ResourceQuota{}).Spec.Hard).To(holdAmounts("cpu", "50", "memory", "50Gi", "pods", "50"))
			Change(tier, func(t *v1alpha1.DeploymentTier) { t.Spec.Quota = amounts("cpu", "1") })
			AwaitReady(n)
		})

		It("does not trust a tier that evaded the schema", func() {
			n := created(team("tier-old", func(s *v1alpha1.AcmeNamespaceSpec) { s.DeploymentTier = "stg" }))
			tier := tierObject("stg", v1alpha1.DeploymentTierSpec{AdminRules: []v1alpha1.AdminRule{
				{APIGroups: []string{""}, Resources: []string{"resourcequotas"}, Verbs: []string{"delete"}},
			}})
			withoutRules("deploymenttiers.tenancy.acme.com", tier)
			Eventually(Ready(n)).Should(Equal("False TierInvalid"))
			Expect(Message(n, "Admitted")).To(Equal("the DeploymentTier stg is invalid: adminRules: the verb delete on resourcequotas is rejected: it is a guardrail"))
		})
	})
})

func policy(n *v1alpha1.AcmeNamespace) client.Object {
	u := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}}
	u.SetNamespace(n.Spec.NamespaceName)
	u.SetName("tenant-isolation")
	return u
}

// withoutRules stores an object that the schema now rejects, like one of an earlier version.
func withoutRules(crdName string, o client.Object) {
	GinkgoHelper()
	s := operator.Scheme()
	Expect(apiextensionsv1.AddToScheme(s)).To(Succeed())
	cl, err := client.New(Plane.Config, client.Options{Scheme: s})
	Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	set := func(schema *apiextensionsv1.JSONSchemaProps) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(cl.Get(ctx, client.ObjectKey{Name: crdName}, crd)).To(Succeed())
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema = schema
			g.Expect(cl.Update(ctx, crd)).To(Succeed())
		}).Should(Succeed())
	}
	Expect(cl.Get(ctx, client.ObjectKey{Name: crdName}, crd)).To(Succeed())
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	keep := true
	set(&apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep})
	Eventually(func() error { return Admin.Create(ctx, o) }).Should(Succeed())
	set(schema)
}
