// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// PriorityQuotaName is the name of the ResourceQuota that rejects pods whose priority class is not allowed. The
// API server shows the name to the user.
const PriorityQuotaName = "priority-classes-not-allowed"

// systemPriorityClasses are Kubernetes' own: their pods preempt all others.
var systemPriorityClasses = []string{"system-cluster-critical", "system-node-critical"}

// objectBounds are how many objects of a type a namespace of the tier dev may hold; stg may hold objectsStg times as
// many, prod objectsProd times. What tenants cannot create is not counted, so that the operator's own is never refused.
// The operator's own kinds are counted as offers says.
var objectBounds = map[corev1.ResourceName]int64{
	"count/configmaps":                             50,
	"count/controllerrevisions.apps":               350, // ten of each WebApp, StatefulSet and DaemonSet
	"count/cronjobs.batch":                         20,
	"count/daemonsets.apps":                        5,
	"count/deployments.apps":                       20,
	"count/horizontalpodautoscalers.autoscaling":   20,
	"count/ingresses.networking.k8s.io":            20,
	"count/jobs.batch":                             100,
	"count/leases.coordination.k8s.io":             20,
	"count/persistentvolumeclaims":                 10,
	"count/poddisruptionbudgets.policy":            20,
	"count/pods":                                   100, // with those that have ended
	"count/replicasets.apps":                       250, // a Deployment keeps ten old ones
	"count/replicationcontrollers":                 10,
	"count/rolebindings.rbac.authorization.k8s.io": 50,
	"count/roles.rbac.authorization.k8s.io":        50,
	"count/secrets":                                50,
	"count/serviceaccounts":                        20,
	"count/services":                               20,
	"count/statefulsets.apps":                      10,
}

const (
	objectsStg  = 4
	objectsProd = 10
)

// amountBounds are the bounds of amounts that are not object counts. A Service of type LoadBalancer takes a
// node port for each of its ports, unless it sets allocateLoadBalancerNodePorts to false.
var amountBounds = map[common.TierName]map[corev1.ResourceName]string{
	common.TierDev: {
		"services.loadbalancers": "0", "services.nodeports": "0", "requests.storage": "50Gi",
		"requests.ephemeral-storage": "10Gi", "limits.ephemeral-storage": "40Gi",
	},
	common.TierStg: {
		"services.loadbalancers": "2", "services.nodeports": "10", "requests.storage": "500Gi",
		"requests.ephemeral-storage": "50Gi", "limits.ephemeral-storage": "200Gi",
	},
	common.TierProd: {
		"services.loadbalancers": "5", "services.nodeports": "25", "requests.storage": "5Ti",
		"requests.ephemeral-storage": "200Gi", "limits.ephemeral-storage": "800Gi",
	},
}

// bound adds the bounds of a built-in tier to its quota.
func bound(quota corev1.ResourceList, name common.TierName) {
	times := map[common.TierName]int64{common.TierDev: 1, common.TierStg: objectsStg, common.TierProd: objectsProd}[name]
	for _, bounds := range []map[corev1.ResourceName]int64{objectBounds, offerBounds()} {
		for r, n := range bounds {
			quota[r] = *resource.NewQuantity(n*times, resource.DecimalSI)
		}
	}
	for r, amount := range amountBounds[name] {
		quota[r] = resource.MustParse(amount)
	}
}

// withEphemeralStorage adds defaults of ephemeral storage to the limits of containers if they have none: a
// quota that counts it would otherwise reject plain pods.
func (t Tier) withEphemeralStorage() Tier {
	const r = corev1.ResourceEphemeralStorage
	for _, list := range []corev1.ResourceList{t.Limits.Default, t.Limits.DefaultRequest, t.Limits.Max} {
		if _, said := list[r]; said {
			return t
		}
	}
	with := func(list corev1.ResourceList, amount string) corev1.ResourceList {
		list = list.DeepCopy()
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[r] = resource.MustParse(amount)
		return list
	}
	t.Limits.Default, t.Limits.DefaultRequest = with(t.Limits.Default, "1Gi"), with(t.Limits.DefaultRequest, "256Mi")
	return t
}
