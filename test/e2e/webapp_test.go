// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	workloadsv1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
)

const (
	webName     = "site" // a WebApp of the team's administrator
	loadName    = "load"
	rolledTimes = 20
	// deadline is how long a version may take before it is rolled back. One that ends at once has been started several times by then.
	deadline = 15 * time.Second
)

// The WebApp stays until the kinds are removed: its pods are among those that no upgrade may restart.
var _ = withOperator("WebApp", func() {
	app := site{name: webName}

	It("serves through its Service, made by a tenant with rights of his own", func(ctx SpecContext) {
		var kubeconfig string
		kubeconfig, app.Client = lab.login(teamAdmin, teamNamespace)
		a := &workloadsv1alpha1.WebApp{
			ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace, Name: webName},
			Spec: workloadsv1alpha1.WebAppSpec{
				WebAppImage: lab.app, WebAppHostname: "site.acme.com", DeploymentTier: common.TierDev, Args: []string{"serve"},
				Config:  map[string]workloadsv1alpha1.FileContent{"app.ini": "log=info"},
				Probes:  everySecond("/"),
				Ingress: &workloadsv1alpha1.Ingress{WaitForAddress: ptr.To(false)},
			},
		}
		// Kubernetes begins to count a new kind some minutes after its CustomResourceDefinition was installed.
		eventually(ctx, "the quota counts WebApps", installed, func(g Gomega) { g.Expect(app.Create(ctx, a.DeepCopy())).To(Succeed()) })
		app.awaitServing(ctx, lab.app)
		// The pod web runs since the part of AcmeNamespace.
		out, err := lab.kubectl(ctx, kubeconfig, "exec", "web", "--", "/app", "get", "http://"+webName+"."+teamNamespace)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(Equal("hello"))
		out, err = lab.kubectl(ctx, kubeconfig, "get", "wa")
		Expect(err).NotTo(HaveOccurred(), out)
		say("http://%s.%s says hello; kubectl get wa:\n%s", webName, teamNamespace, out)
		startLoad(ctx, app)
	}, NodeTimeout(installed+3*soon))

	var last string // the image that serves
	It("loses no request while 20 images are rolled out", func(ctx SpecContext) {
		start := time.Now()
		before, atRest := lab.loadedFor(ctx, 5)
		for i := range rolledTimes {
			last = lab.pushAgain(ctx, fmt.Sprintf("app:v%d", i+2))
			app.change(ctx, func(s *workloadsv1alpha1.WebAppSpec) { s.WebAppImage = last })
			app.awaitServing(ctx, last)
		}
		l := lab.loaded(ctx, Default)
		say("%d rollouts in %s under %.0f requests a second, at rest it was %.0f", rolledTimes, since(start), l.rate(atRest), atRest.rate(before))
		l.expectNoneLost()
		Expect(l.rate(atRest)).To(BeNumerically(">=", 0.95*atRest.rate(before)), "answers a second")
	}, NodeTimeout(10*soon))

	It("continues to serve when a migration fails", func(ctx SpecContext) {
		next := lab.pushAgain(ctx, "app:next")
		app.change(ctx, func(s *workloadsv1alpha1.WebAppSpec) {
			s.WebAppImage, s.Migration = next, &workloadsv1alpha1.Migration{Args: []string{"write", "/no/such/folder"}}
		})
		app.awaitTrouble(ctx, "MigrationFailed", ContainSubstring("no such file or directory"))
		Expect(app.container(ctx).Image).To(Equal(last))
		app.change(ctx, func(s *workloadsv1alpha1.WebAppSpec) { s.Migration.Args = []string{"write", "/dev/null"} })
		app.awaitServing(ctx, next)
		last = next
	}, NodeTimeout(3*soon))

	It("rolls a version back by itself that ends again and again, and loses no request", func(ctx SpecContext) {
		pods := app.pods(ctx, Default)
		Expect(pods).To(HaveLen(2))
		start := time.Now()
		app.change(ctx, func(s *workloadsv1alpha1.WebAppSpec) {
			s.Args, s.AutoRollback, s.RolloutDeadline = []string{"nonsense"}, true, &metav1.Duration{Duration: deadline}
		})
		app.awaitTrouble(ctx, "CrashLoop", ContainSubstring("exit code 1"))
		app.awaitTrouble(ctx, "RolledBack", And(ContainSubstring("exit code 1"), ContainSubstring("serves. Change the spec")))
		Expect(app.container(ctx).Args).To(Equal([]string{"serve"}))
		Expect(app.pods(ctx, Default)).To(Equal(pods), "the pods of the version before")
		say("rolled back %s after the change, with no pod of the version before replaced or restarted", since(start))

		app.change(ctx, func(s *workloadsv1alpha1.WebAppSpec) { s.Args = []string{"serve"} })
		app.awaitServing(ctx, last)
		Expect(app.pods(ctx, Default)).To(Equal(pods), "the pods of the version before")
		lab.loaded(ctx, Default).expectNoneLost()
		Expect(app.Delete(ctx, lab.pod(teamNamespace, loadName))).To(Succeed())
	}, NodeTimeout(4*soon))

	Context("with a database", specsOfDatabase)

	It("has come to rest", func(ctx SpecContext) {
		eventually(ctx, "the pods of before are gone", soon, func(g Gomega) {
			pods := &corev1.PodList{}
			g.Expect(app.List(ctx, pods, client.InNamespace(teamNamespace))).To(Succeed())
			ended := func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded }
			g.Expect(slices.DeleteFunc(pods.Items, ended)).To(HaveLen(3)) // its own two, and web
		})
	}, NodeTimeout(soon))
})

// everySecond are probes that notice soon that an application serves.
func everySecond(path string) *workloadsv1alpha1.Probes {
	return &workloadsv1alpha1.Probes{Readiness: &workloadsv1alpha1.Probe{Path: ptr.To(path), PeriodSeconds: ptr.To[int32](1), TimeoutSeconds: ptr.To[int32](1)}}
}

// startLoad starts a pod that sends requests to a WebApp's Service.
func startLoad(ctx context.Context, app site) {
	GinkgoHelper()
	service := &corev1.Service{}
	Expect(app.Get(ctx, app.key(), service)).To(Succeed())
	pod := lab.pod(teamNamespace, loadName, "load", "http://"+service.Spec.ClusterIP)
	unhurt(pod)
	Expect(app.Create(ctx, pod)).To(Succeed())
	eventually(ctx, "requests are sent", soon, func(g Gomega) { g.Expect(lab.loaded(ctx, g).Answers).To(BeNumerically(">", 200)) })
}

// unhurt lets a pod use more of the processors than the tier's default, which would slow it down.
func unhurt(pod *corev1.Pod) {
	cpu := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
	}
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: cpu("100m"), Limits: cpu("2")}
}

// pushAgain pushes the image of the test program under another name.
func (w *world) pushAgain(ctx context.Context, name string) string {
	GinkgoHelper()
	pushed, err := w.cluster.PushProgram(ctx, filepath.Join(w.dir, "app"), name)
	Expect(err).NotTo(HaveOccurred())
	return pushed.Tag
}
