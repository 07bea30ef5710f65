// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// The policy of config/policy is installed in this suite. Users here have by RBAC all rights that a case needs, so that
// a refusal is the policy's.
var _ = Describe("The guardrail policy", Ordered, ContinueOnFailure, func() {
	const ns = "app-policy"
	var (
		n                      *v1alpha1.AcmeNamespace
		tenant, helper, gitOps client.Client
	)
	patch := func(c client.Client, o client.Object, body string, opts ...client.PatchOption) error {
		return c.Patch(ctx, o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(body)), opts...)
	}
	allowAll := func(name string, rules ...rbacv1.PolicyRule) {
		role := Create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
		binding := Create(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{person(name)},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		})
		DeferCleanup(func() { Remove(role); Remove(binding) })
	}
	BeforeAll(func() {
		StartOperator()
		n = created(team("policy", func(s *v1alpha1.AcmeNamespaceSpec) { s.AdminUsername = "pol" }))
		Author(ns, "extra", allow("", "namespaces", every...), allow("", "namespaces/status", every...), allow("", "namespaces/finalize", every...),
			allow("", "resourcequotas", every...), allow("rbac.authorization.k8s.io", "roles", "bind", "escalate"))
		everything := []rbacv1.PolicyRule{
			allow("", "namespaces", every...), allow("", "namespaces/status", every...), allow("", "namespaces/finalize", every...),
			allow("", "configmaps", every...), allow("", "services", every...), allow("batch", "jobs", every...), allow("batch", "jobs/status", every...), allow("apps", "replicasets", every...),
			allow("rbac.authorization.k8s.io", "roles", append([]string{"bind", "escalate"}, every...)...),
			allow("rbac.authorization.k8s.io", "clusterroles", "bind"),
			allow("rbac.authorization.k8s.io", "rolebindings", every...), allow("networking.k8s.io", "ingresses", every...),
		}
		allowAll("helper", everything...)
		allowAll("flux", append(everything, allow("tenancy.acme.com", "acmenamespaces", "patch"))...)
		allowAll("system:serviceaccount:kube-system:job-controller", everything...)
		tenant, helper, gitOps = User("pol", "system:authenticated"), User("helper", "system:authenticated"), User("flux", "system:authenticated")
		for _, c := range []client.Client{tenant, helper, gitOps} {
			Eventually(func() error { return c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(ns)) }).Should(Succeed())
		}
	})

	marked := func(o client.Object, name string, labels, annotations map[string]string) client.Object {
		o.SetNamespace(ns)
		o.SetName(name)
		o.SetLabels(labels)
		o.SetAnnotations(annotations)
		return o
	}
	uid := map[string]string{labelOwnerUID: "4711"}
	managed := map[string]string{labelManagedBy: "platform-operator"}
	job := func(c *batchv1.Job) *batchv1.Job {
		c.Spec.Template.Spec = pod(ns, "x").Spec
		c.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		return c
	}

	DescribeTable("lets no tenant forge marks at creation", func(o func() client.Object, labels, annotations map[string]string) {
		forged := marked(o(), "forged", labels, annotations)
		Expect(tenant.Create(ctx, forged)).To(forbidden("are written by the operator only"))
		Expect(gitOps.Create(ctx, forged, client.DryRunAll)).To(Succeed(), "users who may change AcmeNamespaces may do this, too")
	},
		Entry("a RoleBinding", func() client.Object { return bind("Role", "namespace-admin", person("kim")) }, uid, nil),
		Entry("a Role", func() client.Object { return &rbacv1.Role{} }, uid, map[string]string{annotationOwner: "acmenamespace/policy"}),
		Entry("a Job", func() client.Object { return job(&batchv1.Job{}) }, uid, nil),
		Entry("a ConfigMap that caches would hold", func() client.Object { return &corev1.ConfigMap{} }, managed, nil),
	)

	It("lets no tenant set, change or remove marks later", func() {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "plain"}}
		Expect(tenant.Create(ctx, cm)).To(Succeed())
		Expect(patch(tenant, cm, `{"metadata":{"labels":{"platform.acme.com/owner-uid":"4711"}}}`)).To(forbidden("are written by the operator only"))
		Expect(patch(tenant, cm, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"platform-operator"}}}`)).To(forbidden("are written by the operator only"))
		Expect(patch(tenant, cm, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"helm"}}}`)).To(Succeed())

		ours := marked(&corev1.ConfigMap{}, "ours", map[string]string{labelOwnerUID: "4711", labelManagedBy: "platform-operator"},
			map[string]string{annotationOwner: "webapp/app-policy/x"})
		Create(ours)
		for _, change := range []string{
			`{"metadata":{"labels":{"platform.acme.com/owner-uid":null}}}`, `{"metadata":{"labels":{"platform.acme.com/owner-uid":"4712"}}}`,
			`{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`, `{"metadata":{"annotations":{"platform.acme.com/owner":null}}}`,
			`{"metadata":{"labels":null,"annotations":null}}`,
		} {
			Expect(patch(tenant, ours, change)).To(forbidden("are written by the operator only"), change)
		}
		Expect(patch(tenant, ours, `{"data":{"a":"b"}}`)).To(Succeed(), "what else is in it is not this policy's business")
		Expect(tenant.Delete(ctx, ours)).To(Succeed())
	})

	It("protects no backdoor that was marked before the policy was installed", func() {
		backdoor := bind("Role", "namespace-admin", person("mallory"))
		Create(marked(backdoor, "backdoor", uid, nil))
		Expect(tenant.Delete(ctx, backdoor)).To(Succeed())
	})

	It("covers whatever changes a Namespace, by whichever subresource", func() {
		const guarded = "is a guardrail of an AcmeNamespace"
		object := namespaceOf(n)
		Expect(Admin.Status().Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"by":"status"}}}`)))).To(Succeed())
		Expect(namespaceOf(n).Labels).To(HaveKeyWithValue("by", "status"), "the API server lets /status change labels")

		open := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`)
		for name, c := range map[string]client.Client{"helper": helper, "a helper in the namespace": User("extra")} {
			Eventually(func() error { return c.Get(ctx, client.ObjectKey{Name: ns}, &corev1.Namespace{}) }).Should(Succeed(), name)
			Expect(patch(c, object, string(open))).To(forbidden(guarded), name)
			Expect(c.Status().Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, open))).To(forbidden(guarded), name)
			changed := namespaceOf(n)
			changed.Labels["pod-security.kubernetes.io/enforce"] = "privileged"
			Expect(c.SubResource("finalize").Update(ctx, changed)).To(forbidden(guarded), name)
			Expect(c.Status().Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType,
				[]byte(`{"metadata":{"labels":{"platform.acme.com/owner-uid":null}}}`)))).To(forbidden(), name)
			Expect(c.Delete(ctx, object.DeepCopy())).To(forbidden(guarded), name)
		}
		Expect(namespaceOf(n).Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "baseline"))
		Expect(gitOps.Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, open), client.DryRunAll)).To(Succeed())
	})

	It("lets no tenant give a Namespace the marks of one that was released or is owned", func() {
		// The recorded releases are reported to billing when the Namespace is adopted.
		const ended = `[{"uid":"4711","name":"victim","tier":"prod","admin":"kim","at":"2026-01-01T00:00:00Z"}]`
		for i, annotations := range []map[string]string{
			{annotationReleased: "mine"}, {annotationOwner: "acmenamespace/policy"}, {annotationUnreported: ended},
		} {
			o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("policy-forged-%d", i), Annotations: annotations}}
			Expect(helper.Create(ctx, o)).To(forbidden("are written by the operator only"))
		}
		plain := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "policy-plain"}}
		Expect(helper.Create(ctx, plain)).To(Succeed(), "others may be made")
		Expect(patch(helper, plain, `{"metadata":{"labels":{"a":"b"}}}`)).To(Succeed())
		Expect(patch(helper, plain, `{"metadata":{"annotations":{"tenancy.acme.com/released-by":"mine"}}}`)).To(forbidden("are written by the operator only"))
		Expect(patch(helper, plain, `{"metadata":{"annotations":{"tenancy.acme.com/unreported-releases":"[]"}}}`)).To(forbidden("are written by the operator only"))
	})

	DescribeTable("lets no tenant grant rights to everybody", func(kind, name string, allowed bool) {
		subject := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
		if kind == rbacv1.ServiceAccountKind {
			subject = rbacv1.Subject{Kind: kind, Namespace: ns, Name: name}
		}
		check := Succeed()
		if !allowed {
			check = forbidden("must not grant rights to users or groups that begin with system:")
		}
		role := bind("Role", "namespace-admin", subject)
		role.Namespace, role.Name = ns, "everybody"
		Expect(tenant.Create(ctx, role.DeepCopy(), client.DryRunAll)).To(check)
		cluster := bind("ClusterRole", "view", person("kim"), subject)
		cluster.Namespace, cluster.Name = ns, "everybody"
		Expect(helper.Create(ctx, cluster.DeepCopy(), client.DryRunAll)).To(check)
		Expect(Admin.Create(ctx, role.DeepCopy(), client.DryRunAll)).To(Succeed(), "a cluster administrator decides freely")
		elsewhere := role.DeepCopy()
		elsewhere.Namespace = "default"
		Expect(helper.Create(ctx, elsewhere, client.DryRunAll)).To(Succeed(), "namespaces of no AcmeNamespace are left alone")
	},
		Entry("not logged in, the user", "User", "system:anonymous", false),
		Entry("not logged in, the group", "Group", "system:unauthenticated", false),
		Entry("everybody", "Group", "system:authenticated", false),
		Entry("all robots", "Group", "system:serviceaccounts", false),
		Entry("cluster administrators", "Group", "system:masters", false),
		Entry("a controller", "User", "system:kube-controller-manager", false),
		Entry("a colleague", "User", "kim", true),
		Entry("a team", "Group", "oidc:team", true),
		Entry("a robot", "ServiceAccount", "robot", true),
		Entry("another namespace's robot, by name", "User", "system:serviceaccount:ci:deployer", true),
		Entry("another namespace's robots", "Group", "system:serviceaccounts:ci", true),
	)

	It("lets no tenant extend a RoleBinding to everybody", func() {
		mine := bind("Role", "namespace-admin", person("kim"))
		mine.Namespace, mine.Name = ns, "mine"
		Expect(tenant.Create(ctx, mine)).To(Succeed())
		Expect(patch(tenant, mine, `{"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:unauthenticated"}]}`)).
			To(forbidden("must not grant rights to users or groups that begin with system:"))
		Expect(tenant.Delete(ctx, mine)).To(Succeed())
	})

	It("lets no tenant intercept the traffic to an address by a Service", func() {
		const refused = "must not have externalIPs"
		service := func(in, name string, ips ...string) *corev1.Service {
			return &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: name},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, ExternalIPs: ips},
			}
		}
		Expect(tenant.Create(ctx, service(ns, "taker", "1.1.1.1"))).To(forbidden(refused))
		plain := service(ns, "plain")
		Expect(tenant.Create(ctx, plain)).To(Succeed())
		Expect(patch(tenant, plain, `{"spec":{"externalIPs":["1.1.1.1"]}}`)).To(forbidden(refused))
		Expect(patch(gitOps, plain, `{"spec":{"externalIPs":["1.1.1.1"]}}`)).To(Succeed(), "users who may change AcmeNamespaces may do this, too")
		Expect(patch(tenant, plain, `{"metadata":{"labels":{"a":"b"}}}`)).To(Succeed(), "what it has may stay")
		Expect(patch(tenant, plain, `{"spec":{"externalIPs":["1.1.1.1","1.0.0.1"]}}`)).To(forbidden(refused))
		Expect(patch(tenant, plain, `{"spec":{"externalIPs":null}}`)).To(Succeed())

		Expect(helper.Create(ctx, service("default", "elsewhere", "1.1.1.1"), client.DryRunAll)).To(Succeed(), "namespaces of no AcmeNamespace are left alone")

		By("a namespace that may have them")
		Patch(namespaceOf(n), `{"metadata":{"labels":{"tenancy.acme.com/external-ips":"true"}}}`)
		DeferCleanup(func() { Patch(namespaceOf(n), `{"metadata":{"labels":{"tenancy.acme.com/external-ips":null}}}`) })
		Eventually(func() error { return tenant.Create(ctx, service(ns, "taker", "1.1.1.1"), client.DryRunAll) }).Should(Succeed())
	})

	describeIngresses(func() (client.Client, client.Client, client.Client) { return tenant, helper, gitOps }, patch)

	It("is not lifted for those who are not logged in, nor by a name like a controller's", func() {
		for _, name := range []string{"system:anonymous", "system:serviceaccount:app-policy:kube-system"} {
			allowAll(name, allow("", "namespaces", every...))
			c := User(name)
			Eventually(func() error { return c.Get(ctx, client.ObjectKey{Name: ns}, &corev1.Namespace{}) }).Should(Succeed())
			Expect(patch(c, namespaceOf(n), `{"metadata":{"labels":{"x":"y"}}}`)).To(forbidden("is a guardrail of an AcmeNamespace"), name)
		}
	})

	It("does not hinder Kubernetes' controllers on marked objects, nor tenants on their Jobs", func() {
		made := job(&batchv1.Job{})
		marked(made, "nightly-1", map[string]string{labelOwnerUID: "4711", labelManagedBy: "platform-operator"}, map[string]string{annotationOwner: "crontab/app-policy/nightly"})
		made.Finalizers = []string{"platform.acme.com/test"}
		Create(made)
		controller := User("system:serviceaccount:kube-system:job-controller")
		Expect(patch(controller, made, `{"metadata":{"finalizers":["platform.acme.com/test","batch.kubernetes.io/job-tracking"]}}`)).To(Succeed())
		Expect(controller.Status().Patch(ctx, made.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"active":1}}`)))).To(Succeed())
		copied := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: uid},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: uid}, Spec: pod(ns, "x").Spec},
		}}
		Expect(controller.Create(ctx, marked(copied, "copied", uid, map[string]string{annotationOwner: "webapp/app-policy/x"}), client.DryRunAll)).To(Succeed())
		Expect(patch(tenant, made, `{"spec":{"suspend":true}}`)).To(Succeed())
		Expect(tenant.Delete(ctx, made.DeepCopy())).To(Succeed())
		Expect(patch(controller, made, `{"metadata":{"finalizers":null}}`)).To(Succeed())
	})
})
