// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// defaults are what a tier says where the spec says nothing. docs/kinds/webapp.md has the same table.
type defaults struct {
	replicas         int32
	requests, limits corev1.ResourceList
	// spread are the labels of nodes over which the pods are spread, as evenly as can be.
	spread []string
	// maxUnavailable is the disruption budget.
	maxUnavailable intstr.IntOrString
	// Probes are made every period seconds. A pod gets no requests after notReady failures, and its container is
	// restarted after dead failures.
	period, notReady, dead int32
	history                int32
}

// builtIn is the table of the tiers.
var builtIn = map[common.TierName]defaults{
	common.TierDev: {
		replicas: 2, requests: amounts("100m", "128Mi"), limits: amounts("500m", "512Mi"),
		maxUnavailable: intstr.FromString("50%"), period: 10, notReady: 3, dead: 6, history: 2,
	},
	common.TierStg: {
		replicas: 2, requests: amounts("100m", "128Mi"), limits: amounts("500m", "512Mi"),
		spread: []string{corev1.LabelHostname}, maxUnavailable: intstr.FromInt32(1), period: 10, notReady: 3, dead: 3, history: 5,
	},
	common.TierProd: {
		replicas: 3, requests: amounts("250m", "256Mi"), limits: amounts("1", "1Gi"),
		spread:         []string{corev1.LabelHostname, corev1.LabelTopologyZone},
		maxUnavailable: intstr.FromInt32(1), period: 5, notReady: 2, dead: 3, history: 10,
	},
}

// of is what a tier says. One that the schema does not know, of an object of another version, counts as dev.
func of(tier common.TierName) defaults {
	if d, known := builtIn[tier]; known {
		return d
	}
	return builtIn[common.TierDev]
}

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}
