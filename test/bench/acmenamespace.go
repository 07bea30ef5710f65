// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/tenancy"
)

var _ = join(benchmark{
	name: acmeNamespaces.name, small: "--count 100 --warm-up 20 --rounds 1",
	run: func(ctx context.Context, l *lab) (outcome, error) { return measure(ctx, l, acmeNamespaces) },
})

var acmeNamespaces = subject{
	name: tenancy.KindName,
	object: func(name string) engine.Object {
		return &tenancyv1alpha1.AcmeNamespace{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: tenancyv1alpha1.AcmeNamespaceSpec{
				NamespaceName: name,
				AdminUsername: "sam",
				AdminGroups:   []string{"team"},
				Labels:        map[string]tenancyv1alpha1.LabelValue{"cost-center": "4711"},
			},
		}
	},
	children: []client.Object{
		&corev1.Namespace{}, &corev1.LimitRange{}, &corev1.ResourceQuota{},
		&rbacv1.Role{}, &rbacv1.RoleBinding{}, &networkingv1.NetworkPolicy{},
	},
	// At most 12 requests: 6 children, the finalizer, the status (Ready, and once more when the quota is
	// counted), an event, and two to spare.
	aims: aims{ratio: 2, cpuRatio: 2.2, requests: 12, residentMiB: 100, growthMiB: 10},
}
