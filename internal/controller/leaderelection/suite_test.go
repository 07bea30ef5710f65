// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var ctx = context.Background()

// node is where the pods are. Kubernetes publishes only pods of nodes that exist.
const node = "node-1"

func TestController(t *testing.T) {
	s := Setup{Options: testenv.Options{WithControllers: true}, Scheme: operator.Scheme(), Installed: true}
	s.Prepare = func() {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{corev1.LabelTopologyZone: "zone-a"}}}
		Expect(Admin.Create(ctx, n)).To(Succeed())
	}
	s.Run(t, "LeaderElection")
}

// election is a LeaderElection over the pods app=ledger of a namespace of its own.
func election(with ...func(*v1alpha1.LeaderElection)) *v1alpha1.LeaderElection {
	GinkgoHelper()
	e := &v1alpha1.LeaderElection{ObjectMeta: metav1.ObjectMeta{Name: "ledger", Namespace: Namespace()}}
	e.Spec = v1alpha1.LeaderElectionSpec{
		PodSelector: map[string]v1alpha1.LabelValue{"app": "ledger"},
		Service:     &v1alpha1.LeaderService{Ports: []v1alpha1.ServicePort{{Port: 80}}},
		Discovery:   v1alpha1.Discovery{ConfigMap: v1alpha1.Enabled},
		Handover:    v1alpha1.Handover{NotReadyFor: &metav1.Duration{}},
	}
	for _, w := range with {
		w(e)
	}
	return e
}

var addresses int

// pod creates a pod that runs and is Ready.
func pod(ns, name string, with ...func(*corev1.Pod)) *corev1.Pod {
	GinkgoHelper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": "ledger"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "registry.acme.com/ledger"}}},
	}
	for _, w := range with {
		w(p)
	}
	Create(p)
	addresses++
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.128.%d.%d", addresses/250, addresses%250+1)}
	p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	SetPodReady(p, true)
	return p
}

// deployment makes a Deployment, of which Kubernetes makes no pods here.
func deployment(ns, name string, labels map[string]string) *appsv1.Deployment {
	GinkgoHelper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	d.Spec.Replicas = new(int32(0))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.acme.com/ledger"}}
	return Create(d)
}

// kill removes a pod at once.
func kill(p *corev1.Pod) {
	GinkgoHelper()
	Remove(p, client.GracePeriodSeconds(0))
}

// labelled gives a function that lists the pods of a namespace with the label.
func labelled(ns string) func() []string {
	return func() []string {
		list := &corev1.PodList{}
		Expect(Admin.List(ctx, list, client.InNamespace(ns), client.MatchingLabels{"leader": "true"})).To(Succeed())
		all := []string{}
		for _, p := range list.Items {
			all = append(all, p.Name)
		}
		slices.Sort(all)
		return all
	}
}

// leader gives a function that returns the leader of the status, with its epoch.
func leader(e *v1alpha1.LeaderElection) func() string {
	return func() string {
		if err := Reload(e); err != nil {
			return err.Error()
		}
		if e.Status.Leader == nil {
			return "none"
		}
		return fmt.Sprintf("%s %d", e.Status.Leader.Pod, e.Status.Epoch)
	}
}

func markOf(e *v1alpha1.LeaderElection, name string) string {
	GinkgoHelper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: name}}
	Expect(Reload(p)).To(Succeed())
	return p.Annotations[names.LeaderMark(e.Name)]
}

func leaseOf(e *v1alpha1.LeaderElection) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: names.Child(e.Name, "leader")}}
}

// ledgerOf is the Lease of an election, with nothing in it, as the operator creates it.
func ledgerOf(e *v1alpha1.LeaderElection) *coordinationv1.Lease {
	lease := leaseOf(e)
	lease.Labels = map[string]string{"app.kubernetes.io/managed-by": "platform-operator", "platform.acme.com/owner-uid": string(e.UID)}
	lease.Annotations = map[string]string{"platform.acme.com/owner": "leaderelection/" + e.Namespace + "/" + e.Name}
	lease.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "coordination.acme.com/v1alpha1", Kind: "LeaderElection", Name: e.Name, UID: e.UID, Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	return lease
}

// long is longer than any spec.
func long() *metav1.Duration { return &metav1.Duration{Duration: 10 * time.Minute} }
