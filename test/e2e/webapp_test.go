// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	workloadsv1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
)

const (
	webName     = "site" // a WebApp of the team's administrator
	loadName    = "load"
	rolledTimes = 20
)

// The WebApp stays until the kinds are removed: its pods are among those that no upgrade may restart.
var _ = withOperator("WebApp", func() {
	var sam client.Client
	key := client.ObjectKey{Namespace: teamNamespace, Name: webName}
	get := func(ctx context.Context, g Gomega) *workloadsv1alpha1.WebApp {
		a := &workloadsv1alpha1.WebApp{}
		g.Expect(sam.Get(ctx, key, a)).To(Succeed())
		return a
	}
	change := func(ctx context.Context, do func(*workloadsv1alpha1.WebAppSpec)) {
		GinkgoHelper()
		eventually(ctx, "the WebApp is changed", soon, func(g Gomega) {
			a := get(ctx, g)
			do(&a.Spec)
			g.Expect(sam.Update(ctx, a)).To(Succeed())
		})
	}
	awaitServing := func(ctx context.Context, image string) {
		GinkgoHelper()
		eventually(ctx, image+" serves", soon, func(g Gomega) {
			a := get(ctx, g)
			c := readyOf(g, a)
			g.Expect(c.Status).To(Equal(metav1.ConditionTrue), c.Message)
			g.Expect(a.Status.Image).To(Equal(image))
		})
	}
	awaitTrouble := func(ctx context.Context, reason, said string) {
		GinkgoHelper()
		eventually(ctx, "the WebApp says "+reason, soon, func(g Gomega) {
			c := readyOf(g, get(ctx, g))
			g.Expect(c.Reason).To(Equal(reason), c.Message)
			g.Expect(c.Message).To(ContainSubstring(said))
			say("%s: %s", c.Reason, c.Message)
		})
	}
	serving := func(ctx context.Context) string {
		GinkgoHelper()
		d := &appsv1.Deployment{}
		Expect(sam.Get(ctx, key, d)).To(Succeed())
		return d.Spec.Template.Spec.Containers[0].Image
	}

	It("serves through its Service, made by a tenant with rights of his own", func(ctx SpecContext) {
		var kubeconfig string
		kubeconfig, sam = lab.login(teamAdmin, teamNamespace)
		Expect(sam.Create(ctx, &workloadsv1alpha1.WebApp{
			ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace, Name: webName},
			Spec: workloadsv1alpha1.WebAppSpec{
				WebAppImage: lab.app, WebAppHostname: "site.acme.com", DeploymentTier: common.TierDev, Args: []string{"serve"},
				Config:  map[string]workloadsv1alpha1.FileContent{"app.ini": "log=info"},
				Probes:  &workloadsv1alpha1.Probes{Readiness: &workloadsv1alpha1.Probe{Path: ptr.To("/"), PeriodSeconds: ptr.To[int32](1), TimeoutSeconds: ptr.To[int32](1)}},
				Ingress: &workloadsv1alpha1.Ingress{WaitForAddress: ptr.To(false)},
			},
		})).To(Succeed())
		awaitServing(ctx, lab.app)
		// The pod web runs since the part of AcmeNamespace.
		out, err := lab.kubectl(ctx, kubeconfig, "exec", "web", "--", "/app", "get", "http://"+webName+"."+teamNamespace)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(Equal("hello"))
		out, err = lab.kubectl(ctx, kubeconfig, "get", "wa")
		Expect(err).NotTo(HaveOccurred(), out)
		say("http://%s.%s says hello; kubectl get wa:\n%s", webName, teamNamespace, out)

		service := &corev1.Service{}
		Expect(sam.Get(ctx, key, service)).To(Succeed())
		Expect(sam.Create(ctx, lab.pod(teamNamespace, loadName, "load", "http://"+service.Spec.ClusterIP))).To(Succeed())
		eventually(ctx, "requests are sent", soon, func(g Gomega) { g.Expect(lab.loaded(ctx, g).Answers).To(BeNumerically(">", 200)) })
	}, NodeTimeout(3*soon))

	var last string // the image that serves
	It("loses no request while 20 images are rolled out", func(ctx SpecContext) {
		program := filepath.Join(lab.dir, "app")
		start := time.Now()
		for i := range rolledTimes {
			next, err := lab.cluster.PushProgram(ctx, program, fmt.Sprintf("app:v%d", i+2))
			Expect(err).NotTo(HaveOccurred())
			last = next.Tag
			change(ctx, func(s *workloadsv1alpha1.WebAppSpec) { s.WebAppImage = last })
			awaitServing(ctx, last)
		}
		l := lab.loaded(ctx, NewWithT(GinkgoT()))
		say("%d rollouts in %s; %d answers, %d failures %s", rolledTimes, since(start), l.Answers, l.Failures, l.First)
		Expect(l.Failures).To(BeZero(), l.First)
		Expect(l.Answers).To(BeNumerically(">", 2000))
	}, NodeTimeout(10*soon))

	It("goes on serving when a migration fails", func(ctx SpecContext) {
		next, err := lab.cluster.PushProgram(ctx, filepath.Join(lab.dir, "app"), "app:next")
		Expect(err).NotTo(HaveOccurred())
		change(ctx, func(s *workloadsv1alpha1.WebAppSpec) {
			s.WebAppImage, s.Migration = next.Tag, &workloadsv1alpha1.Migration{Args: []string{"write", "/no/such/folder"}}
		})
		awaitTrouble(ctx, "MigrationFailed", "no such file or directory")
		Expect(serving(ctx)).To(Equal(last))
		change(ctx, func(s *workloadsv1alpha1.WebAppSpec) { s.Migration.Args = []string{"write", "/dev/null"} })
		awaitServing(ctx, next.Tag)
	}, NodeTimeout(3*soon))

	It("goes on serving when a version ends again and again", func(ctx SpecContext) {
		change(ctx, func(s *workloadsv1alpha1.WebAppSpec) { s.Args = []string{"nonsense"} })
		awaitTrouble(ctx, "CrashLoop", "exit code 1")
		// Here is the place for a rollback that happens by itself.
		change(ctx, func(s *workloadsv1alpha1.WebAppSpec) { s.Args = []string{"serve"} })
		awaitServing(ctx, get(ctx, NewWithT(GinkgoT())).Spec.WebAppImage)
		l := lab.loaded(ctx, NewWithT(GinkgoT()))
		say("%d answers, %d failures %s", l.Answers, l.Failures, l.First)
		Expect(l.Failures).To(BeZero(), l.First)
		Expect(sam.Delete(ctx, lab.pod(teamNamespace, loadName))).To(Succeed())
		eventually(ctx, "the pods of before are gone", soon, func(g Gomega) {
			pods := &corev1.PodList{}
			g.Expect(sam.List(ctx, pods, client.InNamespace(teamNamespace), client.MatchingLabels{"workloads.apps.acme.com/webapp": webName})).To(Succeed())
			g.Expect(pods.Items).To(HaveLen(2))
			g.Expect(sam.List(ctx, pods, client.InNamespace(teamNamespace), client.MatchingLabels{"app": loadName})).To(Succeed())
			g.Expect(pods.Items).To(BeEmpty())
		})
	}, NodeTimeout(4*soon))
})

func readyOf(g Gomega, a *workloadsv1alpha1.WebApp) *metav1.Condition {
	c := meta.FindStatusCondition(a.Status.Conditions, "Ready")
	g.Expect(c).NotTo(BeNil())
	g.Expect(a.Status.ObservedGeneration).To(Equal(a.Generation))
	return c
}

// load is what the pod that sends 200 requests a second counts.
type load struct {
	Answers, Failures int
	First             string // failure
}

func (w *world) loaded(ctx context.Context, g Gomega) (l load) {
	clientset, err := kubernetes.NewForConfig(w.config)
	g.Expect(err).NotTo(HaveOccurred())
	body, err := clientset.CoreV1().Pods(teamNamespace).ProxyGet("http", loadName, "8080", "/", nil).DoRaw(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(body, &l)).To(Succeed(), string(body))
	return l
}
