// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// refused expects that the webhook rejects an object, with the field and the reason.
func refused(field, why string) gomegatypes.GomegaMatcher {
	return And(
		WithTransform(apierrors.IsInvalid, BeTrue()),
		MatchError(ContainSubstring(`admission webhook "vacmenamespace.tenancy.acme.com" denied the request`)),
		MatchError(HaveSuffix(field+": Forbidden: "+why)),
	)
}

func tier(name common.TierName) func(*v1alpha1.AcmeNamespaceSpec) {
	return func(s *v1alpha1.AcmeNamespaceSpec) { s.DeploymentTier = name }
}

func ending(policy v1alpha1.DeletionPolicy) func(*v1alpha1.AcmeNamespaceSpec) {
	return func(s *v1alpha1.AcmeNamespaceSpec) { s.DeletionPolicy = policy }
}

var _ = Describe("Defaults", func() {
	DescribeTable("of the tier and the deletion policy", func(wantTier common.TierName, want v1alpha1.DeletionPolicy, with ...func(*v1alpha1.AcmeNamespaceSpec)) {
		n := team("defaulted", with...)
		Expect(Admin.Create(ctx, n, client.DryRunAll)).To(Succeed())
		Expect(n.Spec.DeploymentTier).To(Equal(wantTier))
		Expect(n.Spec.DeletionPolicy).To(Equal(want))
	},
		Entry("nothing stated", common.TierDev, v1alpha1.DeletionPolicy("")),
		Entry("stg", common.TierStg, v1alpha1.DeletionPolicy(""), tier("stg")),
		Entry("prod is retained", common.TierProd, v1alpha1.DeletionRetain, tier("prod")),
		Entry("prod that is to be deleted", common.TierProd, v1alpha1.DeletionDelete, tier("prod"), ending(v1alpha1.DeletionDelete)),
		Entry("dev that is to be retained", common.TierDev, v1alpha1.DeletionRetain, tier("dev"), ending(v1alpha1.DeletionRetain)),
	)

	It("writes down that a namespace is retained when it is promoted to prod", func() {
		n := created(team("promoted"))
		Expect(update(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.DeploymentTier = "prod" })).To(Succeed())
		Expect(n.Spec.DeletionPolicy).To(Equal(v1alpha1.DeletionRetain))
	})
})

var _ = Describe("What cannot be had", func() {
	It("is a name that exists, unless it is to be adopted", func() {
		Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app-existing"}})
		// The webhook answers from a cache, which follows within moments.
		Eventually(func() error { return Admin.Create(ctx, team("existing"), client.DryRunAll) }).Should(refused("spec.namespaceName",
			`the Namespace "app-existing" exists and no AcmeNamespace owns it; choose another name, or set spec.adopt to true to adopt it`))
		n := created(team("existing", func(s *v1alpha1.AcmeNamespaceSpec) { s.Adopt = true }))

		Expect(Admin.Create(ctx, team("second", inNamespace(n.Spec.NamespaceName), func(s *v1alpha1.AcmeNamespaceSpec) { s.Adopt = true }))).
			To(refused("spec.namespaceName", `namespaceName "app-existing" belongs to the AcmeNamespace existing; choose another name`))
	})

	It("is a name that another one requests, within the same second", func() {
		fault := op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool { return w.For("app-same") }})
		defer fault.Heal()
		Create(team("z-same", inNamespace("app-same")))
		Eventually(func() error { return Admin.Create(ctx, team("a-same", inNamespace("app-same")), client.DryRunAll) }).
			Should(refused("spec.namespaceName", `namespaceName "app-same" belongs to the AcmeNamespace z-same; choose another name`))
	})

	DescribeTable("is a protected name", func(name, by string) {
		Expect(Admin.Create(ctx, team("protected", inNamespace(name)))).To(refused("spec.namespaceName",
			`namespaceName "`+name+`" is protected (by "`+by+`") and cannot be given to a tenant; choose another name`))
	},
		Entry("of the configuration", "monitoring", "monitoring"),
		Entry("of a pattern of the configuration", "infra-x", "infra-*"),
		Entry("that is the operator's own", testenv.OperatorNamespace, testenv.OperatorNamespace),
	)

	It("is a quota that no ResourceQuota can hold, at the start and later", func() {
		Expect(Admin.Create(ctx, team("quota", func(s *v1alpha1.AcmeNamespaceSpec) { s.Quota = amounts("pods", "2.5") }))).
			To(refused("spec.quota", "spec.quota[pods] is 2500m; it must be a whole number"))
		n := created(team("quota"))
		Expect(update(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.Quota = amounts("pods", "0.5") })).
			To(refused("spec.quota", "spec.quota[pods] is 500m; it must be a whole number"))
	})

	It("is a tier whose override is malformed", func() {
		override := &v1alpha1.DeploymentTier{
			ObjectMeta: metav1.ObjectMeta{Name: "stg"},
			Spec: v1alpha1.DeploymentTierSpec{LimitRange: &v1alpha1.ContainerLimits{
				Default: amounts("cpu", "1"), DefaultRequest: amounts("cpu", "2"),
			}},
		}
		Create(override)
		DeferCleanup(func() { Remove(override) })
		Eventually(func() error { return Admin.Create(ctx, team("tier", tier("stg")), client.DryRunAll) }).Should(refused("spec.deploymentTier",
			"the DeploymentTier stg is invalid: limitRange.defaultRequest[cpu] is 2, more than limitRange.default[cpu], 1"))
		n := created(team("tier"))
		Expect(update(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.DeploymentTier = "stg" })).To(refused("spec.deploymentTier",
			"the DeploymentTier stg is invalid: limitRange.defaultRequest[cpu] is 2, more than limitRange.default[cpu], 1"))
	})

	It("is an administrator that the provider does not know, at the start and later", func() {
		const why = `adminUsername "nobody" is not known to the identity provider; set the name exactly as the provider spells it`
		nobody := func(s *v1alpha1.AcmeNamespaceSpec) { s.AdminUsername = "nobody" }
		Expect(Admin.Create(ctx, team("admin", nobody))).To(refused("spec.adminUsername", why))
		n := created(team("admin"))
		Expect(update(n, func(n *v1alpha1.AcmeNamespace) { nobody(&n.Spec) })).To(refused("spec.adminUsername", why))
	})
})

var _ = Describe("The identity provider", func() {
	const unasked = `the identity provider could not be queried for adminUsername "sam"; the object is admitted, and the query is repeated`

	It("that is broken holds nothing back, but for a warning", func() {
		people.answer(func(context.Context) error { return errors.New("canary") })
		Create(team("broken"))
		Expect(Warned.Take()).To(Equal([]string{unasked}))
	})

	It("that does not answer holds nothing back, after three seconds", func() {
		people.answer(func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		Create(team("hanging"))
		Expect(Warned.Take()).To(Equal([]string{unasked}))
	})

	It("is not asked for service accounts, nor again when the administrator stays", func() {
		people.answer(func(context.Context) error { return errors.New("not to be asked") })
		Create(team("robot", func(s *v1alpha1.AcmeNamespaceSpec) { s.AdminUsername = "system:serviceaccount:ci:deployer" }))
		Expect(Warned.Take()).To(BeEmpty())
		people.answer(nil)
		n := created(team("stays"))
		people.answer(func(context.Context) error { return errors.New("not to be asked") })
		Expect(update(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.AdminGroups = []string{"ops"} })).To(Succeed())
		Expect(Warned.Take()).To(BeEmpty())
	})
})

var _ = Describe("Warnings", func() {
	It("say that production with something running is about to be deleted", func() {
		for _, tc := range []struct {
			name string
			with []func(*v1alpha1.AcmeNamespaceSpec)
			pods int
			want string
		}{
			{
				"warn-delete",
				[]func(*v1alpha1.AcmeNamespaceSpec){tier("prod"), ending(v1alpha1.DeletionDelete)},
				3,
				`3 pod(s) in the production namespace "app-warn-delete" are deleted with everything else in it; to keep it, set spec.deletionPolicy to Retain first`,
			},
			{"warn-empty", []func(*v1alpha1.AcmeNamespaceSpec){tier("prod"), ending(v1alpha1.DeletionDelete)}, 0, ""},
			{"warn-retain", []func(*v1alpha1.AcmeNamespaceSpec){tier("prod")}, 1, ""},
			{"warn-stg", []func(*v1alpha1.AcmeNamespaceSpec){tier("stg")}, 1, ""},
		} {
			n := created(team(tc.name, tc.with...))
			for range tc.pods {
				Create(pod(n.Spec.NamespaceName))
			}
			Warned.Take()
			Remove(n, client.DryRunAll)
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			Expect(Warned.Take()).To(Equal(want), tc.name)
		}
	})

	It("say that a quota is less than what is in use", func() {
		n := created(team("shrinking"))
		rq := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "app-shrinking", Name: "dev"}}
		Expect(Reload(rq)).To(Succeed())
		rq.Status = corev1.ResourceQuotaStatus{Hard: rq.Spec.Hard, Used: amounts("cpu", "4", "memory", "1Gi", "pods", "3")}
		Expect(Admin.Status().Update(ctx, rq)).To(Succeed())
		Eventually(func() *v1alpha1.QuotaStatus { _ = Reload(n); return n.Status.Quota }).ShouldNot(BeNil())
		Expect(update(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.Quota = amounts("cpu", "2", "pods", "3") })).To(Succeed())
		Expect(Warned.Take()).To(Equal([]string{"cpu: the limit is 2 and 4 is in use; nothing is stopped, but nothing more can be started; free some, or raise spec.quota"}))
	})
})

var _ = Describe("A change to a stricter tier", func() {
	const insecure = "1 pod(s) violate the Pod Security level restricted (loose); they continue to run, but cannot be started again; adapt them, or choose another tier"
	It("warns of the pods that the new one would reject", func() {
		n := created(team("stricter"))
		loose := pod(n.Spec.NamespaceName)
		loose.GenerateName, loose.Name, loose.Spec.SecurityContext = "", "loose", nil
		for i := range loose.Spec.Containers {
			loose.Spec.Containers[i].SecurityContext = nil
		}
		Create(loose)
		Warned.Take()
		Expect(update(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.AdminGroups = []string{"x"} })).To(Succeed())
		Expect(Warned.Take()).To(BeEmpty(), "nothing about pods has changed")
		Expect(update(n, tierOf("stg"))).To(Succeed())
		Expect(Warned.Take()).To(And(Not(BeEmpty()), HaveEach(insecure)), "maybe more than once: after a conflict the change is repeated")
		Expect(Reload(loose)).To(Succeed())
		Expect(loose.DeletionTimestamp).To(BeNil())
	})
})

func tierOf(name common.TierName) func(*v1alpha1.AcmeNamespace) {
	return func(n *v1alpha1.AcmeNamespace) { n.Spec.DeploymentTier = name }
}

var _ = Describe("An object that is being deleted", func() {
	It("is never held back, whatever is wrong with it", func() {
		n := team("leaving")
		n.Finalizers = []string{"example.org/later"}
		created(n)
		Remove(n)
		Expect(update(n, func(n *v1alpha1.AcmeNamespace) {
			n.Spec.AdminUsername, n.Spec.Quota = "nobody", amounts("pods", "0.5")
		})).To(Succeed())
		Expect(update(n, func(n *v1alpha1.AcmeNamespace) { n.Finalizers = nil })).To(Succeed())
	})
})

var _ = Describe("An object that became wrong", func() {
	It("can still be labelled, annotated and deleted", func() {
		override := &v1alpha1.DeploymentTier{
			ObjectMeta: metav1.ObjectMeta{Name: "stg"},
			Spec:       v1alpha1.DeploymentTierSpec{Quota: amounts("cpus", "1")},
		}
		n := created(team("wronged", tier("stg"), ending(v1alpha1.DeletionRetain)))
		Create(override)
		DeferCleanup(func() { Remove(override) })
		Eventually(func() error { return Admin.Create(ctx, team("wronged-too", tier("stg")), client.DryRunAll) }).ShouldNot(Succeed())
		Expect(update(n, func(n *v1alpha1.AcmeNamespace) {
			n.Annotations = map[string]string{"platform.acme.com/paused": "false"}
		})).To(Succeed())
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
	})
})

var _ = Describe("A dry run", func() {
	It("leaves nothing behind", func() {
		n := team("dry")
		Expect(Admin.Create(ctx, n, client.DryRunAll)).To(Succeed())
		Expect(Gone(team("dry"))()).To(Succeed())
		Consistently(Gone(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app-dry"}})).Should(Succeed())
		n = created(team("dry"))
		version := n.ResourceVersion
		Patch(n.DeepCopy(), `{"spec":{"deploymentTier":"prod"}}`, client.DryRunAll)
		Remove(n.DeepCopy(), client.DryRunAll)
		Expect(Reload(n)).To(Succeed())
		Expect(n.ResourceVersion).To(Equal(version))
	})
})

var _ = Describe("The name of a retained namespace", func() {
	It("is free for its last owner, and for no other", func() {
		n := created(team("returning", ending(v1alpha1.DeletionRetain)))
		Remove(n)
		Eventually(Gone(n)).Should(Succeed())
		Eventually(func() error { return Admin.Create(ctx, team("heir", inNamespace("app-returning")), client.DryRunAll) }).
			Should(MatchError(ContainSubstring("no AcmeNamespace owns it")))
		created(team("returning"))
	})
})

var _ = Describe("While the webhook is down", Serial, func() {
	It("everything is admitted, and the loop gives the answer later", func() {
		op.Stop()
		n := team("away", inNamespace("monitoring"))
		Create(n)
		Expect(n.Spec.DeploymentTier).To(Equal(common.TierDev), "by the schema")
		op.Start()
		Eventually(Ready(n)).Should(Equal("False NameProtected"))
	})
})

func pod(namespace string) *corev1.Pod {
	yes, no := true, false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "pod-"},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "main", Image: "registry.acme.com/app:v1", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}},
		},
	}
}
