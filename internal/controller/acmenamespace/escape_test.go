// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// forbidden wants a refusal for want of rights.
func forbidden(parts ...string) gomegatypes.GomegaMatcher {
	all := []gomegatypes.GomegaMatcher{WithTransform(apierrors.IsForbidden, BeTrue())}
	for _, p := range parts {
		all = append(all, MatchError(ContainSubstring(p)))
	}
	return And(all...)
}

func roleWith(name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: name}, Rules: rules}
}

func allow(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

func bind(kind, role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: strings.ToLower(kind + "-" + role)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
		Subjects:   subjects,
	}
}

func person(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

var _ = Describe("The administrator of a namespace", Ordered, ContinueOnFailure, func() {
	var (
		n     *v1alpha1.AcmeNamespace
		sam   client.Client
		rails []client.Object
	)
	patch := func(c client.Client, o client.Object, body string) error {
		return c.Patch(ctx, o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(body)))
	}
	BeforeAll(func() {
		StartOperator()
		n = created(team("escape"))
		created(team("neighbour", asked("kim")))
		sam = User("sam", "system:authenticated")
		rails = guardrails(own)
		Eventually(func() error { return sam.List(ctx, &corev1.PodList{}, client.InNamespace(own)) }).Should(Succeed())
	})

	It("may do what a team needs, and nothing that undoes the guardrails", func() {
		questions := matrix()
		Expect(len(questions)).To(BeNumerically(">", 200))
		var wrong []string
		for _, q := range questions {
			resource, sub, _ := strings.Cut(q.resource, "/")
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: q.namespace, Verb: q.verb, Group: q.group, Resource: resource, Subresource: sub,
				},
			}}
			Eventually(sam.Create).WithArguments(ctx, review).Should(Succeed())
			if review.Status.Allowed != q.allowed {
				wrong = append(wrong, fmt.Sprintf("%s: allowed is %v", q, review.Status.Allowed))
			}
		}
		Expect(wrong).To(BeEmpty())
		GinkgoWriter.Printf("%d questions\n", len(questions))
	})

	Describe("works", func() {
		It("with pods, deployments, secrets, claims and config", func() {
			at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: own, Name: name} }
			template := pod(own, "x").Spec
			app := map[string]string{"app": "x"}
			for _, o := range []client.Object{
				pod(own, "work"),
				&corev1.Secret{ObjectMeta: at("work"), StringData: map[string]string{"a": "b"}},
				&corev1.ConfigMap{ObjectMeta: at("work")},
				&corev1.ServiceAccount{ObjectMeta: at("robot")},
				&corev1.PersistentVolumeClaim{ObjectMeta: at("work"), Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: amounts("storage", "1Gi")},
				}},
				&appsv1.Deployment{ObjectMeta: at("work"), Spec: appsv1.DeploymentSpec{
					Selector: &metav1.LabelSelector{MatchLabels: app},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: template},
				}},
			} {
				Eventually(sam.Create).WithArguments(ctx, o).Should(Succeed())
				Expect(patch(sam, o, `{"metadata":{"labels":{"mine":"yes"}}}`)).To(Succeed())
			}
			Expect(sam.Delete(ctx, pod(own, "work"))).To(Succeed())
			Expect(sam.Get(ctx, client.ObjectKey{Name: own}, &corev1.Namespace{})).To(Succeed(), "the namespace itself can be read")
		})

		It("with colleagues: grants what it has, and revokes it", func() {
			robot := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: own, Name: "robot"}
			colleague, reader, robots := bind("Role", "namespace-admin", person("kim")), roleWith("reader", allow("", "pods", reads...)), bind("Role", "reader", robot)
			for _, o := range []client.Object{colleague, reader, robots} {
				Eventually(sam.Create).WithArguments(ctx, o).Should(Succeed())
			}
			kim := User("kim", "system:authenticated")
			Eventually(func() error { return kim.List(ctx, &corev1.SecretList{}, client.InNamespace(own)) }).Should(Succeed())
			Expect(sam.Delete(ctx, colleague)).To(Succeed())
			Eventually(func() error { return kim.List(ctx, &corev1.SecretList{}, client.InNamespace(own)) }).Should(forbidden())
		})
	})

	Describe("cannot touch", func() {
		It("the Namespace, by any subresource", func() {
			ns := namespaceOf(n)
			Expect(patch(sam, ns, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`)).To(forbidden())
			Expect(patch(sam, ns, `{"metadata":{"labels":{"tenancy.acme.com/reaches-tenants":"true"}}}`)).To(forbidden())
			Expect(sam.Update(ctx, ns.DeepCopy())).To(forbidden())
			Expect(sam.Status().Update(ctx, ns.DeepCopy())).To(forbidden())
			Expect(sam.Status().Patch(ctx, ns.DeepCopy(), client.RawPatch(types.MergePatchType,
				[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`)))).To(forbidden())
			Expect(sam.SubResource("finalize").Update(ctx, ns.DeepCopy())).To(forbidden())
			Expect(sam.Delete(ctx, ns.DeepCopy())).To(forbidden())
			Expect(sam.List(ctx, &corev1.NamespaceList{})).To(forbidden())
		})

		It("the quota, the limits and the network policy, nor add another policy", func() {
			for _, o := range rails {
				switch o.(type) {
				case *rbacv1.Role, *rbacv1.RoleBinding:
					continue
				}
				Expect(patch(sam, o, `{"metadata":{"labels":{"x":"y"}}}`)).To(forbidden())
				Expect(sam.Delete(ctx, o.DeepCopyObject().(client.Object))).To(forbidden())
				Expect(sam.DeleteAllOf(ctx, o.DeepCopyObject().(client.Object), client.InNamespace(own))).To(forbidden())
			}
			rq := in(own, "dev", &corev1.ResourceQuota{})
			Expect(patch(sam, rq, `{"spec":{"hard":{"pods":"1k"}}}`)).To(forbidden())
			Expect(sam.Status().Update(ctx, rq)).To(forbidden())
			Expect(sam.Create(ctx, &networkingv1.NetworkPolicy{
				ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "open"},
				Spec:       networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{}}},
			})).To(forbidden())
		})

		It("its own Role and RoleBinding, although it may write others", func() {
			const guarded = "is a guardrail of an AcmeNamespace; ask a user who may change AcmeNamespaces to change it there"
			for _, o := range []client.Object{in(own, "namespace-admin", &rbacv1.Role{}), in(own, "namespace-admin", &rbacv1.RoleBinding{})} {
				Expect(patch(sam, o, `{"metadata":{"annotations":{"x":"y"}}}`)).To(forbidden(guarded))
				Expect(patch(sam, o, `{"metadata":{"labels":{"platform.acme.com/owner-uid":null}}}`)).To(forbidden(guarded))
				Expect(sam.Update(ctx, o.DeepCopyObject().(client.Object))).To(forbidden(guarded))
				Expect(sam.Delete(ctx, o.DeepCopyObject().(client.Object))).To(forbidden(guarded))
				Expect(sam.DeleteAllOf(ctx, o.DeepCopyObject().(client.Object), client.InNamespace(own))).To(forbidden("platform-operator-guard-rails"))
				Expect(Reload(o)).To(Succeed())
				Expect(o.GetDeletionTimestamp()).To(BeNil())
			}
			role := in(own, "namespace-admin", &rbacv1.Role{})
			role.Rules = append(role.Rules, allow("*", "*", "*"))
			Expect(sam.Update(ctx, role)).To(forbidden())
			binding := bindingOf(n)
			binding.Subjects = append(binding.Subjects, person("mallory"))
			Expect(sam.Update(ctx, binding)).To(forbidden(guarded))
		})

		It("them through a service account of its own, whatever that is called", func() {
			for _, name := range []string{"robot", "kube-system"} {
				account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: own, Name: name}
				binding := bind("Role", "namespace-admin", account)
				binding.Name = "robot-" + name
				Eventually(sam.Create).WithArguments(ctx, binding).Should(Succeed())
				config := rest.CopyConfig(Plane.Config)
				config.Impersonate = rest.ImpersonationConfig{
					UserName: "system:serviceaccount:" + own + ":" + name,
					Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + own, "system:authenticated"},
				}
				robot := ClientOf(config)
				Eventually(func() error { return robot.List(ctx, &corev1.SecretList{}, client.InNamespace(own)) }).Should(Succeed())
				Expect(robot.Delete(ctx, bindingOf(n))).To(forbidden("is a guardrail"))
				Expect(patch(robot, namespaceOf(n), `{"metadata":{"labels":{"x":"y"}}}`)).To(forbidden())
			}
		})
	})

	Describe("cannot gain rights", func() {
		It("by binding a role that has more than it has itself", func() {
			wild := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "wild"}, Rules: []rbacv1.PolicyRule{allow("*", "*", "*")}}
			Create(wild)
			for _, name := range []string{"cluster-admin", "admin", "edit", "system:node", testenv.OperatorRole, "wild"} {
				Expect(sam.Create(ctx, bind("ClusterRole", name, person("sam")))).To(forbidden("is attempting to grant RBAC permissions not currently held"), name)
			}
			Expect(sam.Create(ctx, &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "sam"},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}, Subjects: []rbacv1.Subject{person("sam")},
			})).To(forbidden())
		})

		DescribeTable("by making a role with more", func(rule rbacv1.PolicyRule) {
			Expect(sam.Create(ctx, roleWith("more", rule))).To(forbidden("is attempting to grant RBAC permissions not currently held"))
		},
			Entry("everything", allow("*", "*", "*")),
			Entry("every verb", allow("", "pods", "*")),
			Entry("the Namespace", allow("", "namespaces", "patch")),
			Entry("its finalizers", allow("", "namespaces/finalize", "update")),
			Entry("quotas", allow("", "resourcequotas", "update")),
			Entry("network policies", allow("networking.k8s.io", "networkpolicies", "create")),
			Entry("bind", allow(rbacv1.GroupName, "roles", "bind")),
			Entry("escalate", allow(rbacv1.GroupName, "roles", "escalate")),
			Entry("impersonate", allow("", "serviceaccounts", "impersonate")),
			Entry("tokens", allow("", "serviceaccounts/token", "create")),
			Entry("endpoints", allow("", "endpoints", "create")),
		)

		It("by impersonation", func() {
			config, err := Plane.User("sam", "system:authenticated")
			Expect(err).NotTo(HaveOccurred())
			for _, as := range []rest.ImpersonationConfig{
				{UserName: "admin", Groups: []string{"system:masters"}},
				{UserName: testenv.OperatorUser},
				{UserName: "system:serviceaccount:" + own + ":robot"},
				{UserName: "kim"},
			} {
				config.Impersonate = as
				Expect(ClientOf(config).List(ctx, &corev1.PodList{}, client.InNamespace(own))).To(forbidden("impersonate"))
			}
			robot := in(own, "robot", &corev1.ServiceAccount{})
			Expect(sam.SubResource("token").Create(ctx, robot, &authenticationv1.TokenRequest{})).To(forbidden())
		})

		It("by our own kinds", func() {
			Expect(sam.Create(ctx, team("mine", inNamespace("kube-system-2")))).To(forbidden())
			Expect(patch(sam, n, `{"spec":{"deploymentTier":"prod"}}`)).To(forbidden())
			Expect(sam.Delete(ctx, n.DeepCopy())).To(forbidden())
			Expect(sam.Create(ctx, tierObject("dev", v1alpha1.DeploymentTierSpec{Quota: amounts("cpu", "1k")}))).To(forbidden())
		})

		It("out of a privileged pod, nor past its quota", func() {
			yes := true
			privileged := pod(own, "privileged")
			privileged.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &yes}
			Expect(sam.Create(ctx, privileged)).To(forbidden(`violates PodSecurity "baseline:latest"`))
			host := pod(own, "host")
			host.Spec.HostNetwork = true
			Expect(sam.Create(ctx, host)).To(forbidden(`violates PodSecurity "baseline:latest"`))
			placed := pod(own, "placed")
			Eventually(sam.Create).WithArguments(ctx, placed).Should(Succeed())
			Expect(sam.SubResource("binding").Create(ctx, placed, &corev1.Binding{
				ObjectMeta: placed.ObjectMeta, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"},
			})).To(forbidden())

			var err error
			for i := 0; err == nil && i < 11; i++ {
				err = sam.Create(ctx, pod(own, fmt.Sprintf("many-%d", i)))
			}
			Expect(err).To(forbidden("exceeded quota: dev"))
		})

		It("by owner marks that were forged before the policy was installed", func() {
			forged := roleWith("forged")
			forged.Labels = map[string]string{labelOwnerUID: string(n.UID), labelManagedBy: "platform-operator"}
			forged.Annotations = map[string]string{annotationOwner: "acmenamespace/neighbour"}
			Create(forged)
			Consistently(func(g Gomega) {
				for _, o := range append(slices.Clone(rails), namespaceOf(n), in("", other, &corev1.Namespace{})) {
					g.Expect(Reload(o)).To(Succeed())
					g.Expect(o.GetDeletionTimestamp()).To(BeNil())
				}
			}).Should(Succeed())
			AwaitReady(n)
		})
	})

	It("of another namespace sees nothing of this one", func() {
		kim := User("kim", "system:authenticated")
		Eventually(func() error { return kim.List(ctx, &corev1.PodList{}, client.InNamespace(other)) }).Should(Succeed())
		Expect(kim.List(ctx, &corev1.PodList{}, client.InNamespace(own))).To(forbidden())
		Expect(kim.Get(ctx, client.ObjectKey{Name: own}, &corev1.Namespace{})).To(forbidden())
	})

	It("loses all rights once another one is named", func() {
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.AdminUsername = "pat" })
		AwaitReady(n)
		Eventually(func() error { return sam.Create(ctx, pod(own, "late")) }).Should(forbidden())
	})
})

var _ = Describe("The groups of an AcmeNamespace", Ordered, ContinueOnFailure, func() {
	BeforeAll(func() { StartOperator() })

	It("administer it like the user", func() {
		created(team("group", func(s *v1alpha1.AcmeNamespaceSpec) { s.AdminGroups = []string{"oidc:team"} }))
		member, stranger := User("lee", "oidc:team"), User("lee2", "oidc:other")
		Eventually(func() error { return member.List(ctx, &corev1.SecretList{}, client.InNamespace("app-group")) }).Should(Succeed())
		Expect(stranger.List(ctx, &corev1.SecretList{}, client.InNamespace("app-group"))).To(forbidden())
	})
})
