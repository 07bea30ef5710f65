// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetPodReady makes a pod Ready or not, as its kubelet would. A pod that has no address yet gets the status that is given with it.
func SetPodReady(p *corev1.Pod, ready bool) {
	ginkgo.GinkgoHelper()
	c := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
	if ready {
		c.Status = corev1.ConditionTrue
	}
	first := p.Status
	gomega.Eventually(func() error {
		if err := Reload(p); err != nil {
			return err
		}
		if p.Status.PodIP == "" {
			p.Status = first
		}
		p.Status.Conditions = []corev1.PodCondition{c}
		return Admin.Status().Update(ctx, p) //nolint:forbidigo // a kubelet writes the status of pods
	}).Should(gomega.Succeed())
}
