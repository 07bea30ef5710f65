// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	workloadsv1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

var _ = join(benchmark{
	name: webApps.name, small: "--count 60 --warm-up 20 --rounds 1",
	run: func(ctx context.Context, l *lab) (outcome, error) { return measure(ctx, l, webApps) },
})

// webApps have no pods: what Kubernetes does for those would hide what the operator does.
var webApps = subject{
	name:      "webapp",
	namespace: watchedNamespace,
	// The raw client does not wait for a Deployment either.
	condition: "Composed",
	object: func(name string) engine.Object {
		return &workloadsv1alpha1.WebApp{
			ObjectMeta: metav1.ObjectMeta{Namespace: watchedNamespace, Name: name},
			Spec: workloadsv1alpha1.WebAppSpec{
				WebAppImage:    "registry.acme.com/bench:v1",
				WebAppHostname: name + ".acme.com",
				DeploymentTier: common.TierProd,
				WebAppReplicas: new(int32(0)),
				Env:            []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}},
				Config:         map[string]workloadsv1alpha1.FileContent{"app.ini": "log=info"},
				Ingress:        &workloadsv1alpha1.Ingress{WaitForAddress: new(false)},
			},
		}
	},
	children: []client.Object{
		&networkingv1.NetworkPolicy{}, &corev1.ServiceAccount{}, &corev1.ConfigMap{}, &corev1.Service{}, &appsv1.Deployment{}, &networkingv1.Ingress{},
		&appsv1.ControllerRevision{},
	},
	change: func(ctx context.Context, b *bench, name string) error {
		a := &workloadsv1alpha1.WebApp{ObjectMeta: metav1.ObjectMeta{Namespace: watchedNamespace, Name: name}}
		image := []byte(`{"spec":{"webAppImage":"registry.acme.com/bench:v2"}}`)
		if err := b.admin.Patch(ctx, a, client.RawPatch(client.Merge.Type(), image)); err != nil {
			return fmt.Errorf("changing %s: %w", name, err)
		}
		return nil
	},
	// Two requests for each of the seven children.
	aims: aims{ratio: 1.8, cpuRatio: 3, requests: 14, residentMiB: 100, growthMiB: 10, changeSeconds: 0.030},
}
