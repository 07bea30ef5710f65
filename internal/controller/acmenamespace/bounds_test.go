// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// enforced waits until the quota controller has counted what a quota names of Kubernetes' own types.
func enforced(namespace, name string, resources ...corev1.ResourceName) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		rq := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		g.Expect(Reload(rq)).To(Succeed())
		for _, r := range resources {
			g.Expect(rq.Status.Hard).To(HaveKeyWithValue(r, rq.Spec.Hard[r]))
			g.Expect(rq.Status.Used).To(HaveKey(r))
		}
	}).Should(Succeed())
}

// sample reads a sample of config/samples for a namespace.
func sample(file, namespace string) client.Object {
	GinkgoHelper()
	objects, err := testenv.ReadObjects(testenv.RepoFile("config", "samples", file))
	Expect(err).NotTo(HaveOccurred())
	Expect(objects).To(HaveLen(1))
	objects[0].SetNamespace(namespace)
	return objects[0]
}

var _ = Describe("A tier bounds", Ordered, ContinueOnFailure, func() {
	BeforeAll(func() { StartOperator() })
	ofTier := func(tier common.TierName) func(*v1alpha1.AcmeNamespaceSpec) {
		return func(s *v1alpha1.AcmeNamespaceSpec) { s.DeploymentTier = tier }
	}
	service := func(ns, name string, of corev1.ServiceType) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: corev1.ServiceSpec{
			Type: of, Ports: []corev1.ServicePort{{Port: 80}},
		}}
	}

	DescribeTable("and admits plain pods, whose storage it counts, but none that preempts others", func(tier common.TierName) {
		n := created(team("bounds-"+string(tier), ofTier(tier)))
		ns := n.Spec.NamespaceName
		enforced(ns, string(tier), "pods", "requests.ephemeral-storage", "limits.ephemeral-storage", "count/pods")
		enforced(ns, "priority-classes-not-allowed", "pods")
		plain := Create(pod(ns, "plain"))
		Expect(plain.Spec.Containers[0].Resources.Limits).To(HaveKey(corev1.ResourceEphemeralStorage))
		for _, class := range []string{"system-node-critical", "system-cluster-critical"} {
			critical := pod(ns, class)
			critical.Spec.PriorityClassName = class
			Expect(Admin.Create(ctx, critical)).To(forbidden("exceeded quota: priority-classes-not-allowed"))
		}
	}, Entry("dev", common.TierDev), Entry("stg", common.TierStg), Entry("prod", common.TierProd))

	It("the number of objects, and Services that reach outside", func() {
		n := created(team("bounds-objects", func(s *v1alpha1.AcmeNamespaceSpec) { s.Quota = amounts("count/configmaps", "3") }))
		ns := n.Spec.NamespaceName
		enforced(ns, "dev", "count/configmaps", "count/services", "services.loadbalancers", "services.nodeports", "requests.storage")
		Eventually(func() error {
			return Admin.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "many-"}})
		}).Should(forbidden("exceeded quota: dev, requested: count/configmaps=1"))
		Create(service(ns, "inside", corev1.ServiceTypeClusterIP))
		Expect(Admin.Create(ctx, service(ns, "balanced", corev1.ServiceTypeLoadBalancer))).To(forbidden("services.loadbalancers=1"))
		Expect(Admin.Create(ctx, service(ns, "at-nodes", corev1.ServiceTypeNodePort))).To(forbidden("services.nodeports=1"))
		Expect(Admin.Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "huge"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: amounts("storage", "51Gi")},
		}})).To(forbidden("requests.storage=51Gi"))
	})

	It("and yet a CronTab, and what a web application consists of, fit into the smallest", func() {
		ns := created(team("bounds-fit")).Spec.NamespaceName
		enforced(ns, "dev", "count/crontabs.batch.acme.com", "count/jobs.batch", "count/deployments.apps", "count/services", "count/ingresses.networking.k8s.io")
		crontab := sample("batch_v1alpha1_crontab.yaml", ns)
		crontab.SetAnnotations(map[string]string{"batch.acme.com/run-now": "now"})
		Create(crontab)
		Eventually(func() []batchv1.Job {
			jobs := &batchv1.JobList{}
			Expect(Admin.List(ctx, jobs, client.InNamespace(ns))).To(Succeed())
			return jobs.Items
		}).ShouldNot(BeEmpty())

		at, labels, path := metav1.ObjectMeta{Namespace: ns, Name: "web"}, map[string]string{"app": "web"}, networkingv1.PathTypePrefix
		backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
		for _, o := range []client.Object{
			&appsv1.Deployment{ObjectMeta: at, Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod(ns, "web").Spec},
			}},
			service(ns, "web", corev1.ServiceTypeClusterIP),
			&networkingv1.Ingress{ObjectMeta: at, Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
				Host: "web.acme.com", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
					Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &path, Backend: backend}},
				}},
			}}}},
			&corev1.ConfigMap{ObjectMeta: at}, &corev1.Secret{ObjectMeta: at}, &corev1.ServiceAccount{ObjectMeta: at},
		} {
			Create(o)
		}
		for i := range 10 {
			Create(pod(ns, fmt.Sprintf("web-%d", i)))
		}
	})

	It("priority classes as its DeploymentTier says", func() {
		for _, name := range []string{"bounds-batch", "bounds-web"} {
			class := Create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 1})
			DeferCleanup(func() { Remove(class) })
		}
		tier := Create(tierObject("stg", v1alpha1.DeploymentTierSpec{PriorityClasses: &[]string{"bounds-batch"}}))
		DeferCleanup(func() { Remove(tier) })
		ns := created(team("bounds-classes", ofTier("stg"))).Spec.NamespaceName
		enforced(ns, "priority-classes-not-allowed", "pods")
		enforced(ns, "stg", "pods", "requests.ephemeral-storage", "limits.ephemeral-storage", "count/pods")
		for class, allowed := range map[string]bool{"": true, "bounds-batch": true, "bounds-web": false, "system-node-critical": false} {
			p := pod(ns, "p-"+class+"x")
			p.Spec.PriorityClassName = class
			check := Succeed()
			if !allowed {
				check = forbidden("exceeded quota: priority-classes-not-allowed")
			}
			Expect(Admin.Create(ctx, p)).To(check, class)
		}
	})

	It("reports the pods that violate a stricter tier until they are gone, and stops none of them", func() {
		n := created(team("bounds-stricter"))
		ns := n.Spec.NamespaceName
		enforced(ns, "dev", "pods", "count/pods")
		loose := pod(ns, "loose")
		loose.Spec.SecurityContext, loose.Spec.Containers[0].SecurityContext = nil, nil
		Create(loose)
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.DeploymentTier = "stg" })
		const insecure = "1 pod(s) violate the Pod Security level restricted (loose); they continue to run, but cannot be started again; adapt them, or choose another tier"
		Eventually(Ready(n)).Should(Equal("True TierViolated"))
		Expect(Message(n, "Composed")).To(HaveSuffix(insecure))
		Eventually(EventsOf(n)).Should(ContainElement(And(HavePrefix("Warning TierViolated: "), ContainSubstring(insecure))))
		Expect(Reload(loose)).To(Succeed())
		Expect(loose.DeletionTimestamp).To(BeNil())

		Remove(loose, client.GracePeriodSeconds(0))
		AwaitReady(n)
		Expect(Message(n, "Composed")).To(HaveSuffix("with the Pod Security level restricted, which all pods meet"))
	})

	It("reports what uses more than a smaller quota allows", func() {
		n := created(team("bounds-smaller"))
		enforced(n.Spec.NamespaceName, "dev", "pods", "count/pods")
		Create(pod(n.Spec.NamespaceName, "one"))
		Eventually(func() bool { _ = Reload(n); return n.Status.Quota != nil && n.Status.Quota.Used.Pods().Value() == 1 }).Should(BeTrue())
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.Quota = amounts("pods", "0") })
		Eventually(Ready(n)).Should(Equal("True TierViolated"))
		Expect(Message(n, "Composed")).To(HaveSuffix("pods: the limit is 0 and 1 is in use; nothing is stopped, but nothing more can be started; free some, or raise spec.quota"))
	})

	It("labels that other software relies on are reserved by the configuration", func() {
		n := team("bounds-labels", func(s *v1alpha1.AcmeNamespaceSpec) {
			s.Labels = map[string]v1alpha1.LabelValue{"openshift.io/run-level": "0"}
		})
		Create(n)
		Eventually(Ready(n)).Should(Equal("False LabelReserved"))
		Expect(Message(n, "Admitted")).To(HavePrefix(`labels[openshift.io/run-level] is reserved (by "openshift.io")`))
		Expect(Gone(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Spec.NamespaceName}})()).To(Succeed())
	})
})

var _ = Describe("The condition Protected", Ordered, ContinueOnFailure, func() {
	const (
		name    = "platform-operator-guard-rails"
		install = "kubectl apply --server-side -k 'https://github.com/acme/platform-operator//config/tenancy/policy?ref=v9.8.7'"
	)
	var n *v1alpha1.AcmeNamespace
	BeforeAll(func() {
		StartOperator(Configured("acmeNamespace: {policyInterval: 100ms}"), func(o *operator.Options) { o.Version = "v9.8.7" })
		// Each change of the policy is a write to the status of every AcmeNamespace: those of other specs go.
		Expect(Admin.DeleteAllOf(ctx, &v1alpha1.AcmeNamespace{})).To(Succeed())
		n = created(team("guarded"))
	})
	metric := func() float64 { return Metric("platform_operator_guardrails_protected") }
	lacking := func(what string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(Condition(n, "Protected")()).To(Equal("False PolicyMissing"))
			g.Expect(Message(n, "Protected")).To(And(HavePrefix(what+": changed guardrails are repaired"),
				HaveSuffix(install)))
		}).Should(Succeed())
		Expect(Ready(n)()).To(Equal("True Ready"))
		Eventually(metric).Should(BeEquivalentTo(0))
	}
	differing := func(what string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(Condition(n, "Protected")()).To(Equal("False PolicyDiffers"))
			g.Expect(Message(n, "Protected")).To(And(HavePrefix(what+" does not match this version of the operator: "), HaveSuffix(install)))
		}).Should(Succeed())
		Expect(Ready(n)()).To(Equal("True Ready"))
		Eventually(metric).Should(BeEquivalentTo(0))
	}
	protected := func() {
		GinkgoHelper()
		Eventually(Condition(n, "Protected")).Should(Equal("True Done"))
		Eventually(metric).Should(BeEquivalentTo(1))
	}

	It("is True while the policy is in force", protected)

	for _, suffix := range []string{"", "-managed", "-namespaces", "-services", "-subjects"} {
		It(fmt.Sprintf("notices that the binding %q is deleted, set to Audit, and installed again", suffix), func() {
			binding := in("", name+suffix, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{})
			whole := binding.DeepCopy()
			whole.ResourceVersion, whole.UID = "", ""
			DeferCleanup(func() { Expect(testenv.InstallConfig(Plane)).To(Succeed()) })
			Remove(binding)
			lacking("the binding of the admission policy " + name + suffix + " is not installed")
			Create(whole)
			protected()
			Patch(whole, `{"spec":{"validationActions":["Audit"]}}`)
			lacking("the binding " + name + suffix + " of the admission policy " + name + " does not deny")
			Patch(whole, `{"spec":{"validationActions":["Deny"]}}`)
			protected()
		})
	}

	It("notices that the policy is deleted, or fails open", func() {
		policy := in("", name, &admissionregistrationv1.ValidatingAdmissionPolicy{})
		whole := policy.DeepCopy()
		whole.ResourceVersion, whole.UID = "", ""
		DeferCleanup(func() { Expect(testenv.InstallConfig(Plane)).To(Succeed()) })
		Patch(policy, `{"spec":{"failurePolicy":"Ignore"}}`)
		lacking("the admission policy " + name + " has the failurePolicy Ignore")
		Remove(policy)
		lacking("the admission policy " + name + " is not installed")
		Create(whole)
		protected()
	})

	It("notices that the policy, or a binding, is another one than that of this version", func() {
		DeferCleanup(func() { Expect(testenv.InstallConfig(Plane)).To(Succeed()) })
		policy := in("", name, &admissionregistrationv1.ValidatingAdmissionPolicy{})
		whole := policy.DeepCopy()
		for _, change := range []func(*admissionregistrationv1.ValidatingAdmissionPolicySpec){
			func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
				s.Validations = s.Validations[:len(s.Validations)-1]
			},
			func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) { s.Validations[0].Expression = "true" },
			func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
				s.MatchConditions = append(s.MatchConditions, admissionregistrationv1.MatchCondition{Name: "not-me", Expression: "request.userInfo.username != 'me'"})
			},
			func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
				s.MatchConstraints.ExcludeResourceRules = s.MatchConstraints.ResourceRules
			},
		} {
			Change(policy, func(p *admissionregistrationv1.ValidatingAdmissionPolicy) { change(&p.Spec) })
			differing("the admission policy " + name)
			Change(policy, func(p *admissionregistrationv1.ValidatingAdmissionPolicy) { p.Spec = *whole.Spec.DeepCopy() })
			protected()
		}

		binding := in("", name+"-subjects", &admissionregistrationv1.ValidatingAdmissionPolicyBinding{})
		Patch(binding, `{"spec":{"matchResources":{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["mine"]}]}}}}`)
		differing("the binding " + name + "-subjects of the admission policy " + name)
		Expect(testenv.InstallConfig(Plane)).To(Succeed())
		protected()
		Patch(binding, `{"spec":{"validationActions":["Deny","Audit"]}}`)
		Consistently(Condition(n, "Protected")).Should(Equal("True Done"), "it does more than it must")
	})

	It("is Unknown while the operator may not read the policy", func() {
		role := in("", testenv.OperatorRole, &rbacv1.ClusterRole{})
		rules := role.DeepCopy().Rules
		Change(role, func(r *rbacv1.ClusterRole) {
			r.Rules = slices.DeleteFunc(r.Rules, func(r rbacv1.PolicyRule) bool { return r.APIGroups[0] == "admissionregistration.k8s.io" })
		})
		giveBack := func() { Change(role, func(r *rbacv1.ClusterRole) { r.Rules = rules }) }
		DeferCleanup(giveBack)
		Eventually(Condition(n, "Protected")).Should(Equal("Unknown PolicyUnknown"))
		Expect(Ready(n)()).To(Equal("True Ready"))
		Eventually(metric).Should(BeEquivalentTo(-1))
		giveBack()
		protected()
	})
})
