// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A version that is held back", Ordered, ContinueOnFailure, func() {
	var now *clocktesting.FakePassiveClock
	BeforeAll(func() {
		now = clocktesting.NewFakePassiveClock(time.Now())
		StartOperator(func(o *operator.Options) { o.Clock = now })
	})
	pass := func(a *v1alpha1.WebApp, d time.Duration) {
		GinkgoHelper()
		now.SetTime(now.Now().Add(d))
		Poke(a)
	}
	database := func(name string) func(*v1alpha1.WebAppSpec) {
		return func(s *v1alpha1.WebAppSpec) { s.DatabaseSecretRef = &v1alpha1.DatabaseSecretReference{Name: name} }
	}
	// moved is a WebApp whose version 1 has served with the Secret db, and whose version 2 is deployed with another one.
	moved := func(with ...func(*v1alpha1.WebAppSpec)) *v1alpha1.WebApp {
		GinkgoHelper()
		ns := Namespace()
		other := databaseSecret(ns, password)
		other.Name = "db-2"
		Create(other)
		Create(databaseSecret(ns, password))
		a := serving(webApp(ns, append(with, database("db"))...))
		Change(a, func(a *v1alpha1.WebApp) {
			a.Spec.WebAppImage = imageOf(2)
			database("db-2")(&a.Spec)
		})
		Eventually(deployedImage(a)).Should(Equal(imageOf(2)))
		return a
	}

	It("because of its migration leaves all children to the version that serves", func() {
		a := serving(webApp(Namespace(), func(s *v1alpha1.WebAppSpec) {
			s.Ports, s.Config = []v1alpha1.Port{{Name: "old", Port: 9000}}, map[string]v1alpha1.FileContent{"app.ini": "x=1"}
		}))
		d, s := live(deploymentOf(a)), live(&corev1.Service{ObjectMeta: meta(a)})
		template, ports := d.Spec.Template, s.Spec.Ports
		Change(a, func(a *v1alpha1.WebApp) {
			a.Spec.WebAppImage, a.Spec.Ports = imageOf(2), []v1alpha1.Port{{Name: "new", Port: 9001}}
			a.Spec.Config, a.Spec.Migration = map[string]v1alpha1.FileContent{"app.ini": "x=2"}, &v1alpha1.Migration{Command: []string{"migrate"}}
		})
		Eventually(Ready(a)).Should(Equal("False Migrating"))
		jobs := &batchv1.JobList{}
		Expect(Admin.List(ctx, jobs, client.InNamespace(a.Namespace))).To(Succeed())
		files := jobs.Items[0].Spec.Template.Spec.Volumes[0].ConfigMap.Name
		Expect(live(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: files}}).Data).To(HaveKeyWithValue("app.ini", "x=2"))

		By("somebody changing its image")
		Expect(Admin.Patch(ctx, d, client.RawPatch("application/strategic-merge-patch+json",
			[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"evil"}]}}}}`)), client.FieldOwner("kubectl-set"))).To(Succeed())
		Eventually(func() corev1.PodTemplateSpec { _ = Reload(d); return d.Spec.Template }).Should(Equal(template))
		By("a change of what is around the pods")
		Change(a, func(a *v1alpha1.WebApp) {
			a.Spec.WebAppReplicas, a.Spec.Strategy = new(int32(5)), &v1alpha1.Strategy{Type: v1alpha1.StrategyRecreate}
		})
		Eventually(func() []any { _ = Reload(d); return []any{*d.Spec.Replicas, d.Spec.Strategy.Type} }).Should(Equal([]any{int32(5), appsv1.RecreateDeploymentStrategyType}))
		By("somebody deleting it")
		Remove(d)
		Eventually(func() error { return Reload(d) }).Should(Succeed())
		Expect(d.Spec.Template).To(Equal(template))
		Expect(Reload(s)).To(Succeed())
		Expect(s.Spec.Ports).To(Equal(ports))
		Expect(Reload(a)).To(Succeed())
		Expect([]any{a.Status.Revision, a.Status.LastRevision}).To(Equal([]any{int64(1), int64(1)}))

		By("its migration succeeding")
		succeed(a)
		Eventually(deployedImage(a)).Should(Equal(imageOf(2)))
		Eventually(func() string { _ = Reload(s); return s.Spec.Ports[1].Name }).Should(Equal("new"))
	})

	DescribeTable("does not migrate while somebody else has the name of", func(theirs client.Object, named string) {
		ns := Namespace()
		theirs.SetNamespace(ns)
		theirs.SetName("web")
		Create(theirs)
		a := Create(webApp(ns, func(s *v1alpha1.WebAppSpec) { s.Migration = &v1alpha1.Migration{Command: []string{"migrate"}} }))
		Eventually(Ready(a)).Should(Equal("False NameTaken"))
		Expect(Message(a, "Composed")).To(HavePrefix(named + " " + ns + "/web exists"))
		Poke(a)
		jobs := &batchv1.JobList{}
		Consistently(func() []batchv1.Job {
			Expect(Admin.List(ctx, jobs, client.InNamespace(ns))).To(Succeed())
			return jobs.Items
		}, "500ms").Should(BeEmpty())
		Remove(theirs)
		Poke(a)
		Eventually(Ready(a)).Should(Equal("False Migrating"))
		Expect(Reload(deploymentOf(a))).NotTo(Succeed())
	},
		Entry("the Deployment", &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		}}, "Deployment"),
		Entry("the Service", &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}, "Service"),
	)

	DescribeTable("says why the pod of its migration is not created: because of", func(refuse func(ns string), with func(*v1alpha1.WebAppSpec), reason, says string) {
		ns := Namespace()
		refuse(ns)
		a := Create(webApp(ns, with, func(s *v1alpha1.WebAppSpec) { s.Migration = &v1alpha1.Migration{Command: []string{"migrate"}} }))
		Eventually(Ready(a)).Should(Equal("False Migrating"))
		Eventually(func() string { pass(a, 10*time.Second); return Message(a, "Migrated") }).Should(ContainSubstring(says))
		Expect(Condition(a, "Migrated")()).To(Equal("False " + reason))
		Expect(Message(a, "Migrated")).To(MatchRegexp(`web-migrate-[0-9a-f]{10}"`), "the name of no pod, which would be another one each time")
		pods := &corev1.PodList{}
		Expect(Admin.List(ctx, pods, client.InNamespace(ns))).To(Succeed())
		Expect(pods.Items).To(BeEmpty())
	},
		Entry("a quota", func(ns string) {
			hard := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
			q := Create(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}})
			status := client.RawPatch(client.Merge.Type(), []byte(`{"status":{"hard":{"pods":"0"},"used":{"pods":"0"}}}`))
			Expect(Admin.Status().Patch(ctx, q, status)).To(Succeed())
		}, func(*v1alpha1.WebAppSpec) {}, "PodsRefused", "exceeded quota: q"),
		Entry("Pod Security", func(ns string) {
			Patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
		}, func(s *v1alpha1.WebAppSpec) { s.SecurityContext = &v1alpha1.SecurityContext{RunAsNonRoot: new(false)} }, "PodsRefused", `violates PodSecurity "restricted`),
		Entry("nothing that the API server says", func(string) {}, func(*v1alpha1.WebAppSpec) {}, "Migrating", `has no pod yet; "kubectl describe job web-migrate-`),
	)

	It("because a rollback lacks its database says so, and what to do", func() {
		a := moved()
		roll(a)
		AwaitReady(a)
		Remove(databaseSecret(a.Namespace, ""))
		rollbackTo(a, new(int64(1)))
		Eventually(Ready(a)).Should(Equal("False WaitingForDatabase"))
		Expect(Message(a, "DatabaseReady")).To(Equal("spec.rollbackTo asks for revision 1, and the Secret db does not exist. No pod of it starts before that; " +
			"those that serve continue. Create it, choose another revision, or remove spec.rollbackTo"))
		Expect(Condition(a, "Stalled")()).To(Equal("True WaitingForDatabase"))
		Consistently(deployedImage(a), "500ms").Should(Equal(imageOf(2)))
		Create(databaseSecret(a.Namespace, password))
		Poke(a)
		Eventually(deployedImage(a)).Should(Equal(imageOf(1)))
	})

	It("because an automatic rollback lacks its database says so, and is rolled back to once it is there", func() {
		a := moved(deadline(true))
		stuck(a, imageOf(2), "")
		begun(a, 2)
		Remove(databaseSecret(a.Namespace, ""))
		pass(a, 6*time.Minute)
		Eventually(Ready(a)).Should(Equal("False RolloutFailed"))
		Expect(Message(a, "Deployed")).To(HaveSuffix(
			". Revision 1, which has served last, is not rolled back to, because the Secret db does not exist. Create it, or change the spec"))
		Consistently(deployedImage(a), "500ms").Should(Equal(imageOf(2)))
		Create(databaseSecret(a.Namespace, password))
		Poke(a)
		Eventually(deployedImage(a)).Should(Equal(imageOf(1)))
		Remove(databaseSecret(a.Namespace, ""))
		Poke(a)
		Eventually(Ready(a)).Should(Equal("False WaitingForDatabase"))
		Expect(Message(a, "DatabaseReady")).To(ContainSubstring(". Revision 1 is to serve instead, and the Secret db does not exist."))
		Expect(Condition(a, "Stalled")()).To(Equal("True WaitingForDatabase"))
		Expect(deployedImage(a)()).To(Equal(imageOf(1)))
	})
})
