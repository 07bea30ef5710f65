// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
)

const (
	shop       = "shop" // the namespace of a web server
	webApp     = "webapp"
	webConfig  = "webapp-config"
	webWatcher = "webapp-config-watcher"
)

var _ = withOperator("ConfigWatcher", func() {
	var before []string

	It("takes the configuration as it is", func(ctx SpecContext) {
		Expect(lab.client.Create(ctx, namespaceOf(shop))).To(Succeed())
		Expect(lab.client.Create(ctx, webServerConfig("blue"))).To(Succeed())
		for _, o := range webServer() {
			Expect(lab.client.Create(ctx, o)).To(Succeed())
		}
		lab.awaitRollout(ctx, shop, webApp)
		before = lab.podsOf(ctx, shop, webApp)
		Expect(before).To(HaveLen(2))
		lab.apply(ctx, shop, "autoreboot_v1alpha1_configwatcher.yaml")
		w := lab.awaitWatcher(ctx, 0)
		Expect(lab.podsOf(ctx, shop, webApp)).To(Equal(before))
		say("the watcher has seen %d source and restarted nothing", len(w.Status.Observed))
	}, NodeTimeout(3*soon))

	It("restarts the pods once when it changes, and the server answers all the time", func(ctx SpecContext) {
		asking := lab.ask(shop, webApp)
		start := time.Now()
		Expect(lab.client.Update(ctx, webServerConfig("green"))).To(Succeed())
		w := lab.awaitWatcher(ctx, 1)
		lab.awaitRollout(ctx, shop, webApp)
		eventually(ctx, "the pods of before are gone", soon, func(g Gomega) {
			pods := &corev1.PodList{}
			g.Expect(lab.client.List(ctx, pods, client.InNamespace(shop))).To(Succeed())
			g.Expect(pods.Items).To(HaveLen(2))
			g.Expect(lab.podsOf(ctx, shop, webApp)).NotTo(ContainElement(BeElementOf(before)))
		})
		took := since(start)
		answers, failures := asking()
		Expect(failures).To(BeEmpty())
		Expect(answers).To(BeNumerically(">", 10))
		Expect(lab.replicaSets(ctx, shop)).To(Equal(2), "one for each content")
		say("two new pods %s after the change of %s; %d requests meanwhile, none without an answer", took, w.Status.History[0].Source, answers)
	}, NodeTimeout(2*soon))

	It("restarts nothing when only metadata changes, or the same content returns", func(ctx SpecContext) {
		now := lab.podsOf(ctx, shop, webApp)
		labelled := webServerConfig("green")
		labelled.Labels = map[string]string{"team": "shop"}
		Expect(lab.client.Update(ctx, labelled)).To(Succeed())
		Expect(lab.client.Delete(ctx, webServerConfig(""))).To(Succeed())
		eventually(ctx, "the missing ConfigMap is reported", soon, func(g Gomega) {
			c := meta.FindStatusCondition(lab.watcher(ctx, g).Status.Conditions, "Ready")
			g.Expect(c).NotTo(BeNil())
			g.Expect(c.Status).To(Equal(metav1.ConditionFalse))
		})
		Expect(lab.client.Create(ctx, webServerConfig("green"))).To(Succeed())
		w := lab.awaitWatcher(ctx, 1)
		Expect(w.Status.Pending).To(BeNil())
		Expect(lab.podsOf(ctx, shop, webApp)).To(Equal(now))
		say("a label, and the ConfigMap deleted and created again: no restart")
		Expect(lab.client.Delete(ctx, namespaceOf(shop))).To(Succeed())
	}, NodeTimeout(2*soon))
})

func namespaceOf(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func webServerConfig(color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: webConfig},
		Data:       map[string]string{"color": color},
	}
}

// webServer is a Deployment of two pods that never has fewer than two, and its Service. A pod that is asked to end continues
// on answering for some seconds, until nobody sends it requests any more.
func webServer() []client.Object {
	of := metav1.ObjectMeta{Namespace: shop, Name: webApp}
	labels := map[string]string{"app": webApp}
	spec := lab.pod(shop, webApp, "serve").Spec
	get := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}}
	spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: get, PeriodSeconds: 1}
	spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}}
	return []client.Object{
		&corev1.Service{ObjectMeta: of, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 8080}}}},
		&appsv1.Deployment{ObjectMeta: of, Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](2),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: ptr.To(intstr.FromInt32(0))},
			},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		}},
	}
}

// apply creates the sample of a kind in a namespace.
func (w *world) apply(ctx context.Context, namespace, sample string, change ...func(*unstructured.Unstructured)) {
	GinkgoHelper()
	objects, err := testenv.ReadObjects(testenv.RepoFile("config", "samples", sample))
	Expect(err).NotTo(HaveOccurred())
	for _, o := range objects {
		o.SetNamespace(namespace)
		for _, c := range change {
			c(o)
		}
		Expect(w.client.Create(ctx, o)).To(Succeed())
	}
}

func (w *world) watcher(ctx context.Context, g Gomega) *autorebootv1alpha1.ConfigWatcher {
	o := &autorebootv1alpha1.ConfigWatcher{}
	g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: shop, Name: webWatcher}, o)).To(Succeed())
	return o
}

// awaitWatcher waits until the watcher is ready, has restarted so many times, and has nothing more to do.
func (w *world) awaitWatcher(ctx context.Context, restarts int) *autorebootv1alpha1.ConfigWatcher {
	GinkgoHelper()
	var o *autorebootv1alpha1.ConfigWatcher
	eventually(ctx, fmt.Sprintf("the watcher is ready after %d restarts", restarts), soon, func(g Gomega) {
		o = w.watcher(ctx, g)
		g.Expect(o.Status.Restarts).To(BeEquivalentTo(restarts))
		g.Expect(o.Status.Pending).To(BeNil())
		g.Expect(o.Status.Observed).NotTo(BeEmpty())
		c := meta.FindStatusCondition(o.Status.Conditions, "Ready")
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.Status).To(Equal(metav1.ConditionTrue), c.Message)
	})
	return o
}

// awaitRollout waits until all pods of a Deployment are those of its template.
func (w *world) awaitRollout(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	eventually(ctx, name+" is rolled out", soon, func(g Gomega) {
		d := &appsv1.Deployment{}
		g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, d)).To(Succeed())
		g.Expect(d.Status.ObservedGeneration).To(Equal(d.Generation))
		g.Expect(d.Status.UpdatedReplicas).To(Equal(*d.Spec.Replicas))
		g.Expect(d.Status.AvailableReplicas).To(Equal(*d.Spec.Replicas))
		g.Expect(d.Status.Replicas).To(Equal(*d.Spec.Replicas))
	})
}

// podsOf are the names of the pods of an app that are not being deleted, sorted by the API server.
func (w *world) podsOf(ctx context.Context, namespace, app string) []string {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(w.client.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{"app": app})).To(Succeed())
	var names []string
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	return names
}

func (w *world) replicaSets(ctx context.Context, namespace string) int {
	GinkgoHelper()
	all := &appsv1.ReplicaSetList{}
	Expect(w.client.List(ctx, all, client.InNamespace(namespace))).To(Succeed())
	return len(all.Items)
}

// ask sends requests to a Service, one after the other, until the function is called that it gives. That one tells how
// many were answered, and what became of the others.
func (w *world) ask(namespace, service string) func() (answers int, failures []string) {
	GinkgoHelper()
	clientset, err := kubernetes.NewForConfig(w.config)
	Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	DeferCleanup(stop)
	var asking sync.WaitGroup
	answers, failures := 0, []string(nil)
	asking.Go(func() {
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			body, err := clientset.CoreV1().Services(namespace).ProxyGet("http", service, "8080", "/", nil).DoRaw(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				failures = append(failures, fmt.Sprintf("%s: %v", time.Now().Format(time.RFC3339Nano), err))
			case string(body) != "hello\n":
				failures = append(failures, fmt.Sprintf("%q", body))
			default:
				answers++
			}
		}
	})
	return func() (int, []string) {
		stop()
		asking.Wait()
		return answers, failures
	}
}
