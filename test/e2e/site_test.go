// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadsv1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
)

// site is a WebApp of the team, as one of its users sees it.
type site struct {
	client.Client // the user's
	name          string
}

func (s site) key() client.ObjectKey { return client.ObjectKey{Namespace: teamNamespace, Name: s.name} }

func (s site) get(ctx context.Context, g Gomega) *workloadsv1alpha1.WebApp {
	a := &workloadsv1alpha1.WebApp{}
	g.Expect(s.Get(ctx, s.key(), a)).To(Succeed())
	return a
}

func (s site) change(ctx context.Context, do func(*workloadsv1alpha1.WebAppSpec)) {
	GinkgoHelper()
	eventually(ctx, "the WebApp is changed", soon, func(g Gomega) {
		a := s.get(ctx, g)
		do(&a.Spec)
		g.Expect(s.Update(ctx, a)).To(Succeed())
	})
}

// ready is the condition Ready of what the spec asks for now.
func (s site) ready(ctx context.Context, g Gomega) *metav1.Condition {
	a := s.get(ctx, g)
	c := meta.FindStatusCondition(a.Status.Conditions, "Ready")
	g.Expect(c).NotTo(BeNil())
	g.Expect(a.Status.ObservedGeneration).To(Equal(a.Generation))
	return c
}

func (s site) awaitServing(ctx context.Context, image string) {
	GinkgoHelper()
	eventually(ctx, image+" serves", soon, func(g Gomega) {
		c := s.ready(ctx, g)
		g.Expect(c.Status).To(Equal(metav1.ConditionTrue), c.Message)
		g.Expect(s.get(ctx, g).Status.Image).To(Equal(image))
	})
}

// awaitTrouble waits until the WebApp is not ready for a reason, and its message is as it should be.
func (s site) awaitTrouble(ctx context.Context, reason string, message gomegatypes.GomegaMatcher) {
	GinkgoHelper()
	eventually(ctx, "the WebApp says "+reason, soon, func(g Gomega) {
		c := s.ready(ctx, g)
		g.Expect(c.Reason).To(Equal(reason), c.Message)
		g.Expect(c.Message).To(message)
		say("%s: %s", c.Reason, c.Message)
	})
}

// container is the application's container as the Deployment has it.
func (s site) container(ctx context.Context) corev1.Container {
	GinkgoHelper()
	d := &appsv1.Deployment{}
	Expect(s.Get(ctx, s.key(), d)).To(Succeed())
	return d.Spec.Template.Spec.Containers[0]
}

// pods are the pods that are not being deleted, by UID, with the number of their restarts.
func (s site) pods(ctx context.Context, g Gomega) map[string]int32 {
	list := &corev1.PodList{}
	g.Expect(s.List(ctx, list, client.InNamespace(teamNamespace), client.MatchingLabels{"workloads.apps.acme.com/webapp": s.name})).To(Succeed())
	found := map[string]int32{}
	for _, p := range list.Items {
		if p.DeletionTimestamp != nil {
			continue
		}
		found[p.Name+" "+string(p.UID)] = 0
		for _, c := range p.Status.ContainerStatuses {
			found[p.Name+" "+string(p.UID)] += c.RestartCount
		}
	}
	return found
}

// load is what has become of the requests of the pod that sends 200 a second.
type load struct {
	Seconds                 float64
	Sent, Answers, Failures int
	First                   string // failure
	Latest, Slowest         time.Duration
}

// rate is how many requests of a second were answered since an earlier time.
func (l load) rate(since load) float64 {
	return float64(l.Answers-since.Answers) / (l.Seconds - since.Seconds)
}

// expectNoneLost expects that each request so far was answered.
func (l load) expectNoneLost() {
	GinkgoHelper()
	say("%d answers, %d failures %s; the slowest after %s, one was sent %s too late", l.Answers, l.Failures, l.First,
		l.Slowest.Round(time.Millisecond), l.Latest.Round(time.Millisecond))
	Expect(l.Failures).To(BeZero(), l.First)
}

func (w *world) loaded(ctx context.Context, g Gomega) (l load) {
	clientset, err := kubernetes.NewForConfig(w.config)
	g.Expect(err).NotTo(HaveOccurred())
	body, err := clientset.CoreV1().Pods(teamNamespace).ProxyGet("http", loadName, "8080", "/", nil).DoRaw(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(body, &l)).To(Succeed(), string(body))
	return l
}

// loadedFor is what the load gives in a time.
func (w *world) loadedFor(ctx context.Context, seconds float64) (before, after load) {
	GinkgoHelper()
	before = w.loaded(ctx, Default)
	eventually(ctx, "time passes under load", soon, func(g Gomega) {
		after = w.loaded(ctx, g)
		g.Expect(after.Seconds).To(BeNumerically(">=", before.Seconds+seconds))
	})
	return before, after
}
