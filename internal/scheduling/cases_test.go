// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
)

var lease = Lease{Namespace: "platform-operator-system", Name: "gpu-schedulerprofile"}

// spec is a SchedulerProfile of one profile.
func spec(with ...func(*v1alpha1.Profile)) *v1alpha1.SchedulerProfileSpec {
	p := v1alpha1.Profile{SchedulerName: "gpu"}
	for _, w := range with {
		w(&p)
	}
	return &v1alpha1.SchedulerProfileSpec{Profiles: []v1alpha1.Profile{p}}
}

func rawPart(text string) func(*v1alpha1.Profile) {
	return func(p *v1alpha1.Profile) { p.Raw = &runtime.RawExtension{Raw: []byte(text)} }
}

func labelKeys(keys ...v1alpha1.LabelKey) func(*v1alpha1.Profile) {
	return func(p *v1alpha1.Profile) { p.Nodes = &v1alpha1.Nodes{LabelKeys: keys} }
}

func expressions(p *v1alpha1.Profile) {
	p.Nodes = &v1alpha1.Nodes{Expressions: []v1alpha1.NodeExpression{
		{Key: "tier", Operator: corev1.NodeSelectorOpIn, Values: []v1alpha1.LabelValue{"y", "1e3", "null", ""}},
		{Key: "old", Operator: corev1.NodeSelectorOpDoesNotExist},
		{Key: "zone", Operator: corev1.NodeSelectorOpNotIn, Values: []v1alpha1.LabelValue{"a"}},
		{Key: "cores", Operator: corev1.NodeSelectorOpGt, Values: []v1alpha1.LabelValue{"007"}},
		{Key: "age", Operator: corev1.NodeSelectorOpLt, Values: []v1alpha1.LabelValue{"100"}},
		{Key: "yes", Operator: corev1.NodeSelectorOpExists},
	}}
}

func weights(p *v1alpha1.Profile) {
	p.Weights = map[v1alpha1.ScorePlugin]v1alpha1.Weight{
		"ImageLocality": 0, "InterPodAffinity": 1, "NodeAffinity": 2, "NodeResourcesBalancedAllocation": 3, "NodeResourcesFit": 4,
		"PodTopologySpread": 100, "TaintToleration": 0,
	}
}

func spread(p *v1alpha1.Profile) {
	p.Spread = []v1alpha1.Spread{
		{MaxSkew: 2, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.DoNotSchedule, MinDomains: new(int32(3))},
		{MaxSkew: 1, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: corev1.ScheduleAnyway},
	}
}

func packs(p *v1alpha1.Profile) { p.Strategy = v1alpha1.BinPacking }

func resources(p *v1alpha1.Profile) {
	p.Resources = []v1alpha1.Resource{{Name: "nvidia.com/gpu", Weight: 5}, {Name: "cpu", Weight: 1}}
}

func preempts(is v1alpha1.Switch) func(*v1alpha1.Profile) {
	return func(p *v1alpha1.Profile) { p.Preemption = is }
}

func percentage(n int32) func(*v1alpha1.Profile) {
	return func(p *v1alpha1.Profile) { p.PercentageOfNodesToScore = new(n) }
}

// rest is what no typed field sets, and every version has.
const rest = `{"plugins": {"multiPoint": {"disabled": [{"name": "VolumeZone"}]}, "filter": {"enabled": []}, "preScore": null},
  "pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 100}},
    {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 9007199254740993}}]}`

// cases has a case for each field, at its limits, and for all of them together.
var cases = map[string]*v1alpha1.SchedulerProfileSpec{
	"nothing":             spec(),
	"label-keys":          spec(labelKeys("selectable", "acme.com/b", "acme.com/a")),
	"expressions":         spec(expressions),
	"keys-and-expression": spec(expressions, func(p *v1alpha1.Profile) { p.Nodes.LabelKeys = []v1alpha1.LabelKey{"selectable"} }),
	"balanced":            spec(func(p *v1alpha1.Profile) { p.Strategy = v1alpha1.Balanced }),
	"bin-packing":         spec(packs),
	"resources":           spec(resources),
	"packed-resources":    spec(packs, resources),
	"spread":              spec(spread),
	"weights":             spec(weights),
	"one-weight": spec(func(p *v1alpha1.Profile) {
		p.Weights = map[v1alpha1.ScorePlugin]v1alpha1.Weight{"ImageLocality": 100}
	}),
	"no-preemption":  spec(preempts(v1alpha1.Disabled)),
	"preemption":     spec(preempts(v1alpha1.Enabled)),
	"percentage-0":   spec(percentage(0)),
	"percentage-100": spec(percentage(100)),
	"raw":            spec(rawPart(rest)),
	"raw-empty":      spec(rawPart(`{}`)),
	"several": {Profiles: []v1alpha1.Profile{
		{SchedulerName: "null", Strategy: v1alpha1.BinPacking}, {SchedulerName: "1.5"}, {SchedulerName: "y", Preemption: v1alpha1.Disabled},
	}},
	"everything": spec(expressions, packs, resources, spread, weights, preempts(v1alpha1.Disabled), percentage(30), rawPart(rest),
		func(p *v1alpha1.Profile) { p.Nodes.LabelKeys = []v1alpha1.LabelKey{"selectable"} }),
}
