// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A WebApp", Ordered, ContinueOnFailure, func() {
	var op *Operator
	BeforeAll(func() { op = StartOperator() })

	It("becomes a Deployment, a Service and an Ingress, and says how it does", func() {
		objects, err := testenv.ReadObjects(testenv.RepoFile("config", "samples", "workloads_v1alpha1_webapp.yaml"))
		Expect(err).NotTo(HaveOccurred())
		objects[0].SetNamespace(Namespace())
		Create(objects[0])
		a := &v1alpha1.WebApp{ObjectMeta: metav1.ObjectMeta{Namespace: objects[0].GetNamespace(), Name: objects[0].GetName()}}
		composed(a)
		Eventually(Ready(a)).Should(Equal("False RollingOut"))
		d := live(deploymentOf(a))
		Expect(*d.Spec.Replicas).To(Equal(int32(2)))
		Expect(d.Spec.Template.Spec.Containers[0].Image).To(Equal("registry.acme.com/app/app:v1.4"))
		Expect(live(&corev1.Service{ObjectMeta: meta(a)}).Spec.Selector).To(Equal(d.Spec.Template.Labels))
		Expect(live(ingressOf(a)).Spec.Rules[0].Host).To(Equal("app.acme.com"))
		Expect(*live(&corev1.ServiceAccount{ObjectMeta: meta(a)}).AutomountServiceAccountToken).To(BeFalse())
		roll(a)
		Eventually(Ready(a)).Should(Equal("False NoAddress"))
		address(a)
		AwaitReady(a)
		s := a.Status
		Expect([]any{s.Created, s.URL, s.Image, s.Replicas, s.ReadyReplicas, s.Pods, s.Selector, s.Claims}).To(Equal([]any{
			true, "http://app.acme.com/", "registry.acme.com/app/app:v1.4", int32(2), int32(2), "2/2", "workloads.apps.acme.com/webapp=webapp-sample", []string{"app.acme.com/"},
		}))

		By("being deleted, with all that belongs to it")
		Remove(a)
		for _, o := range []client.Object{a, d, ingressOf(a), &corev1.Service{ObjectMeta: meta(a)}} {
			Eventually(Gone(o)).Should(Succeed())
		}
	})

	It("keeps its Deployment whatever changes", func() {
		a := serving(webApp(Namespace()))
		d := deploymentOf(a)
		uid := uidOf(d)
		for _, change := range []func(*v1alpha1.WebAppSpec){
			func(s *v1alpha1.WebAppSpec) { s.WebAppHostname = "other-" + s.WebAppHostname },
			func(s *v1alpha1.WebAppSpec) { s.Port = 9000 },
			func(s *v1alpha1.WebAppSpec) { s.DeploymentTier = common.TierProd },
			func(s *v1alpha1.WebAppSpec) { s.Config = map[string]v1alpha1.FileContent{"a": "b"} },
			func(s *v1alpha1.WebAppSpec) { s.Strategy = &v1alpha1.Strategy{Type: v1alpha1.StrategyRecreate} },
			func(s *v1alpha1.WebAppSpec) { s.Strategy = nil },
		} {
			Change(a, func(a *v1alpha1.WebApp) { change(&a.Spec) })
			roll(a)
			AwaitReady(a)
			Expect(uidOf(d)).To(Equal(uid))
		}
		Expect(d.Spec.Strategy.Type).To(Equal(appsv1.RollingUpdateDeploymentStrategyType))
		Expect(d.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String()).To(Equal("250m"))
		Expect(live(ingressOf(a)).Spec.Rules[0].Host).To(HavePrefix("other-"))
	})

	It("does not roll its pods for a change of the host name", func() {
		a := serving(webApp(Namespace()))
		generation := live(deploymentOf(a)).Generation
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = "moved-" + a.Spec.WebAppHostname })
		AwaitReady(a)
		Expect(live(deploymentOf(a)).Generation).To(Equal(generation))
	})

	It("has files and an environment with any character that the schema admits", func() {
		const text = "del \u007f, next line \u0085, mark \ufeff, none \uffff"
		a := composed(Create(webApp(Namespace(), func(s *v1alpha1.WebAppSpec) {
			s.Config = map[string]v1alpha1.FileContent{"a": text}
			s.Env = []corev1.EnvVar{{Name: "A", Value: text}}
		})))
		pod := live(deploymentOf(a)).Spec.Template.Spec
		Expect(pod.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "A", Value: text}))
		files := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: pod.Volumes[0].ConfigMap.Name}}
		Expect(live(files).Data).To(Equal(map[string]string{"a": text}))
	})

	It("keeps the files of pods that still serve until new ones do", func() {
		ns := Namespace()
		files := func() (names []string) {
			list := &corev1.ConfigMapList{}
			Expect(Admin.List(ctx, list, client.InNamespace(ns))).To(Succeed())
			for _, c := range list.Items {
				if strings.HasPrefix(c.Name, "web-config-") {
					names = append(names, c.Name)
				}
			}
			return names
		}
		a := serving(webApp(ns, func(s *v1alpha1.WebAppSpec) { s.Config = map[string]v1alpha1.FileContent{"app.ini": "x=1"} }))
		first := a.Status.ConfigMap
		Expect(files()).To(Equal([]string{first}))
		Expect(live(deploymentOf(a)).Spec.Template.Spec.Volumes[0].ConfigMap.Name).To(Equal(first))

		Change(a, func(a *v1alpha1.WebApp) { a.Spec.Config = map[string]v1alpha1.FileContent{"app.ini": "x=2"} })
		composed(a)
		Eventually(func() int { return len(files()) }).Should(Equal(2))
		Consistently(files).Should(ContainElement(first))
		roll(a)
		AwaitReady(a)
		Eventually(files).Should(And(HaveLen(1), Not(ContainElement(first))))

		By("somebody replacing them")
		second := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: a.Status.ConfigMap}}
		Remove(second)
		forged := second.DeepCopy()
		forged.Data = map[string]string{"app.ini": "forged"}
		if err := Admin.Create(ctx, forged); !apierrors.IsAlreadyExists(err) {
			Expect(err).NotTo(HaveOccurred())
			Eventually(Ready(a)).Should(Equal("False NameTaken"))
			Remove(forged)
			Poke(a)
		}
		Eventually(func() map[string]string { _ = Reload(second); return second.Data }).Should(Equal(map[string]string{"app.ini": "x=2"}))
	})

	It("keeps the files of pods that are held back, or were never complete", func() {
		file := func(content v1alpha1.FileContent) func(*v1alpha1.WebApp) {
			return func(a *v1alpha1.WebApp) { a.Spec.Config = map[string]v1alpha1.FileContent{"app.ini": content} }
		}
		mounted := func(a *v1alpha1.WebApp) func() string {
			return func() string { return live(deploymentOf(a)).Spec.Template.Spec.Volumes[0].ConfigMap.Name }
		}
		exists := func(a *v1alpha1.WebApp, name string) func() error {
			c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: name}}
			return func() error { return Reload(c) }
		}
		a := webApp(Namespace())
		file("x=1")(a)
		serving(a)
		first := a.Status.ConfigMap
		Change(a, file("x=2"))
		Eventually(mounted(a)).ShouldNot(Equal(first))
		second := mounted(a)()
		Change(a, func(a *v1alpha1.WebApp) {
			file("x=3")(a)
			a.Spec.Migration = &v1alpha1.Migration{Command: []string{"migrate"}}
		})
		Eventually(Ready(a)).Should(Equal("False Migrating"))
		Poke(a)
		Consistently(exists(a, second), "500ms").Should(Succeed())
		Expect(exists(a, first)()).To(Succeed())
		Expect(mounted(a)()).To(Equal(second))

		By("becoming complete meanwhile")
		roll(a)
		Eventually(func() string { _ = Reload(a); return a.Status.ConfigMap }).Should(Equal(second))
		Eventually(exists(a, first)).ShouldNot(Succeed())
		Expect(exists(a, second)()).To(Succeed())

		By("a first version that is replaced before it is complete")
		b := webApp(Namespace())
		file("x=1")(b)
		Create(b)
		stuck(b, imageOf(1), "")
		first = mounted(b)()
		Eventually(func() string { _ = Reload(b); return b.Status.ConfigMap }).Should(Equal(first))
		Change(b, file("x=2"))
		Eventually(mounted(b)).ShouldNot(Equal(first))
		Poke(b)
		Consistently(exists(b, first), "500ms").Should(Succeed())
	})

	It("asks for amounts as the API server stores them", func() {
		a := serving(webApp(Namespace(), func(s *v1alpha1.WebAppSpec) {
			s.Resources = &v1alpha1.Resources{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100u")}}
		}))
		AwaitReady(a)
		Expect(live(deploymentOf(a)).Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String()).To(Equal("1m"))
	})

	It("leaves to others what it was not told to own", func() {
		a := serving(webApp(Namespace()))
		d := live(deploymentOf(a))
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 7}}
		Expect(Admin.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(scale), client.FieldOwner("kubectl"))).To(Succeed())
		Patch(d, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}}}`, client.FieldOwner("kubectl-rollout"))
		Expect(Admin.Patch(ctx, d, client.RawPatch("application/strategic-merge-patch+json",
			[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"app","resources":{"limits":{"cpu":"3"}}}]}}}}`)), client.FieldOwner("kubectl-set"))).To(Succeed())
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.WebAppImage = "registry.acme.com/app/app:v2" })
		roll(a)
		AwaitReady(a)
		Expect(Reload(d)).To(Succeed())
		Expect(*d.Spec.Replicas).To(Equal(int32(7)))
		Expect(d.Spec.Template.Annotations).To(HaveKey("kubectl.kubernetes.io/restartedAt"))
		app := d.Spec.Template.Spec.Containers[0]
		Expect([]string{app.Image, app.Resources.Limits.Cpu().String(), app.Resources.Limits.Memory().String()}).To(Equal([]string{"registry.acme.com/app/app:v2", "3", "512Mi"}))

		By("being told to own them")
		Change(a, func(a *v1alpha1.WebApp) {
			a.Spec.WebAppReplicas = new(int32(3))
			a.Spec.Resources = &v1alpha1.Resources{Limits: corev1.ResourceList{"cpu": *app.Resources.Requests.Cpu()}}
		})
		roll(a)
		AwaitReady(a)
		Expect(Reload(d)).To(Succeed())
		Expect(*d.Spec.Replicas).To(Equal(int32(3)))
		Expect(d.Spec.Template.Spec.Containers[0].Resources.Limits.Cpu().String()).To(Equal("100m"))
	})

	It("leaves the number of pods to its autoscaler", func() {
		a := webApp(Namespace(), func(s *v1alpha1.WebAppSpec) {
			s.WebAppReplicas, s.Autoscaling = new(int32(4)), &v1alpha1.Autoscaling{Min: new(int32(2)), Max: 8}
		})
		Create(a)
		roll(a)
		Eventually(Condition(a, "Autoscaled")).Should(Equal("Unknown AutoscalerPending"))
		hpa := live(&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta(a)})
		status := func(active corev1.ConditionStatus, message string) {
			Change(hpa, func(*autoscalingv2.HorizontalPodAutoscaler) {})
			hpa.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.ScalingActive, Status: active, Message: message}}
			Expect(Admin.Status().Update(ctx, hpa)).To(Succeed())
		}
		status(corev1.ConditionFalse, "no metrics")
		Eventually(Ready(a)).Should(Equal("False AutoscalerInactive"))
		Expect(Message(a, "Autoscaled")).To(ContainSubstring("no metrics"))
		status(corev1.ConditionTrue, "")
		address(a)
		AwaitReady(a)
		d := live(deploymentOf(a))
		Expect(*d.Spec.Replicas).To(Equal(int32(2)))
		Expect(Admin.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(
			&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 6}}), client.FieldOwner("kube-controller-manager"))).To(Succeed())
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.WebAppImage = "registry.acme.com/app/app:v2" })
		roll(a)
		AwaitReady(a)
		Expect(*live(d).Spec.Replicas).To(Equal(int32(6)))
	})

	It("says which pod fails, and why", func() {
		a := serving(webApp(Namespace()))
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.WebAppImage = "registry.acme.com/app/app:missing" })
		composed(a)
		badPod(a, "web-1", corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}}})
		Poke(a)
		Eventually(Ready(a)).Should(Equal("False ImagePullFailed"))
		Expect(Message(a, "Deployed")).To(Equal("the image registry.acme.com/app/app:missing of the container app of the pod web-1 cannot be pulled: not found"))
		Expect(a.Status.Image).To(Equal("registry.acme.com/app/app:v1"), "the one that serves")
	})

	It("touches nothing of somebody else that has its name", func() {
		ns := Namespace()
		theirs := Create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}})
		a := Create(webApp(ns))
		Eventually(Ready(a)).Should(Equal("False NameTaken"))
		before := theirs.ResourceVersion
		Expect(Reload(theirs)).To(Succeed())
		Expect(theirs.ResourceVersion).To(Equal(before))
		live(deploymentOf(a))
		Remove(a)
		Eventually(Gone(a)).Should(Succeed())
		Expect(Reload(theirs)).To(Succeed())
	})

	It("waits for its IngressClass, and for no address where none comes", func() {
		ns := Namespace()
		a := Create(webApp(ns, func(s *v1alpha1.WebAppSpec) {
			s.Ingress = &v1alpha1.Ingress{ClassName: &ns, WaitForAddress: new(false)}
		}))
		roll(a)
		Eventually(Ready(a)).Should(Equal("False IngressClassMissing"))
		class := Create(&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: networkingv1.IngressClassSpec{Controller: "acme.com/test"}})
		DeferCleanup(func() { Remove(class) })
		AwaitReady(a)
	})

	It("writes nothing once it serves, and after a restart of the operator", func() {
		a := serving(webApp(Namespace(), func(s *v1alpha1.WebAppSpec) {
			s.Config = map[string]v1alpha1.FileContent{"a": "b"}
			s.Env = []corev1.EnvVar{{Name: "EMPTY"}, {Name: "A", Value: "b"}}
		}))
		Poke(a)
		op.Stop()
		op.Wire.Forget()
		op.Start()
		Poke(a)
		Consistently(func() []testenv.Write {
			return op.Wire.Writes(func(w testenv.Write) bool { return w.For(a.Namespace) })
		}, "2s").Should(BeEmpty())
	})

	Context("in a tenant's namespace", func() {
		It("of the tier prod meets Pod Security restricted and the quota", func() {
			ns := tenant("webapp-prod", common.TierProd)
			a := webApp(ns, func(s *v1alpha1.WebAppSpec) {
				s.DeploymentTier = common.TierProd
				s.Sidecars = []v1alpha1.Container{{Name: "proxy", Image: "envoy"}}
				s.InitContainers = []v1alpha1.Container{{Name: "wait", Image: "busybox"}}
			})
			sam := User("sam")
			Eventually(func() error { return sam.Create(ctx, a.DeepCopy()) }).Should(Succeed())
			composed(a)
			d := live(deploymentOf(a))
			Eventually(func() error {
				return Admin.Create(ctx, &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "as-the-template", Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec,
				})
			}).Should(Succeed())
		})

		It("has the host names and annotations that the tier allows", func() {
			a := serving(webApp(tenant("webapp-hosts", common.TierStg)))
			uid := uidOf(deploymentOf(a))
			tier := &tenancyv1alpha1.DeploymentTier{ObjectMeta: metav1.ObjectMeta{Name: "stg"}}
			tier.Spec.Hostnames = &[]string{"*.apps.acme.com"}
			Create(tier)
			Eventually(Ready(a)).Should(Equal("False HostnameNotAllowed"))
			Expect(Message(a, "Admitted")).To(ContainSubstring("choose one of: *.apps.acme.com"))
			Eventually(Gone(ingressOf(a))).Should(Succeed())
			Expect(uidOf(deploymentOf(a))).To(Equal(uid))

			By("its annotations")
			Change(tier, func(t *tenancyv1alpha1.DeploymentTier) {
				t.Spec.Hostnames, t.Spec.IngressAnnotations = nil, &[]string{"example.com/*"}
			})
			address(a)
			AwaitReady(a)
			Change(a, func(a *v1alpha1.WebApp) {
				a.Spec.Ingress = &v1alpha1.Ingress{Annotations: map[string]v1alpha1.AnnotationValue{"example.com/a": "x"}}
			})
			AwaitReady(a)
			Expect(live(ingressOf(a)).Annotations).To(HaveKeyWithValue("example.com/a", "x"))
			Change(a, func(a *v1alpha1.WebApp) { a.Spec.Ingress.Annotations["other.com/b"] = "x" })
			Eventually(Ready(a)).Should(Equal("False AnnotationNotAllowed"))
			Expect(Message(a, "Admitted")).To(And(ContainSubstring("other.com/b"), ContainSubstring("choose from: example.com/*")))
			Consistently(func() map[string]string { return live(ingressOf(a)).Annotations }).Should(And(HaveKey("example.com/a"), Not(HaveKey("other.com/b"))))
			Change(tier, func(t *tenancyv1alpha1.DeploymentTier) { t.Spec.IngressAnnotations = &[]string{} })
			Eventually(Gone(ingressOf(a))).Should(Succeed())
			Expect(uidOf(deploymentOf(a))).To(Equal(uid))
			Remove(tier)
			address(a)
			AwaitReady(a)
		})
	})
})

var _ = Describe("A host name", Ordered, func() {
	BeforeAll(func() { StartOperator() })
	asking := func(host, path string) *v1alpha1.WebApp {
		return Create(webApp(Namespace(), func(s *v1alpha1.WebAppSpec) {
			s.WebAppHostname, s.Ingress = host, &v1alpha1.Ingress{Path: path}
		}))
	}

	It("belongs to one WebApp of the cluster until that is deleted", func() {
		first := composed(asking("one.acme.com", "/"))
		second := asking("one.acme.com", "/")
		Eventually(Ready(second)).Should(Equal("False HostnameTaken"))
		Expect(Message(second, "Admitted")).NotTo(ContainSubstring(first.Namespace))
		Expect(Admin.Get(ctx, client.ObjectKeyFromObject(second), ingressOf(second))).NotTo(Succeed())
		composed(asking("one.acme.com", "/other"))
		Remove(first)
		composed(second)
	})

	It("is not lost to another one by a WebApp that is too large for the caches", func() {
		large := map[string]v1alpha1.FileContent{"a": v1alpha1.FileContent(strings.Repeat("x", 100<<10))}
		composed(Create(webApp(Namespace(), func(s *v1alpha1.WebAppSpec) { s.WebAppHostname, s.Config = "large.acme.com", large })))
		second := asking("large.acme.com", "/")
		Eventually(Ready(second)).Should(Equal("False HostnameTaken"))
	})

	It("is free when its WebApp takes another one, and is not taken from it by an older one", func() {
		older := composed(asking("two.acme.com", ""))
		holder := composed(asking("three.acme.com", ""))
		Change(older, func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = "three.acme.com" })
		Eventually(Ready(older)).Should(Equal("False HostnameTaken"))
		Eventually(Gone(ingressOf(older))).Should(Succeed())
		composed(asking("two.acme.com", ""))
		Change(holder, func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = "four.acme.com" })
		composed(older)
	})
})
