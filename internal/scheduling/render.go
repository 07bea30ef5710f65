// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
)

// Lease is the Lease by which the replicas of a scheduler elect the active one.
type Lease struct {
	Namespace, Name string
}

type (
	object = map[string]any
	list   = []any
)

// Config returns the configuration of kube-scheduler as YAML. An error means that Check finds a problem. Equal input gives equal
// text.
func Config(spec *v1alpha1.SchedulerProfileSpec, lease Lease, s Scheduler) (string, error) {
	config, err := render(spec, lease, s)
	if err != nil {
		return "", err
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("writing the configuration: %w", err)
	}
	return string(text), nil
}

func render(spec *v1alpha1.SchedulerProfileSpec, lease Lease, s Scheduler) (object, error) {
	var profiles list
	for i := range spec.Profiles {
		p, err := profile(&spec.Profiles[i], s)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	return object{
		"apiVersion": "kubescheduler.config.k8s.io/v1",
		"kind":       "KubeSchedulerConfiguration",
		"leaderElection": object{
			"leaderElect": true, "resourceNamespace": lease.Namespace, "resourceName": lease.Name,
		},
		"profiles": profiles,
	}, nil
}

// profile lays the typed fields over the raw part, which sets none of the same.
func profile(p *v1alpha1.Profile, s Scheduler) (object, error) {
	r, err := parse(p.Raw, s)
	if err != nil {
		return nil, fmt.Errorf("the raw part of the profile %s: %w", p.SchedulerName, err)
	}
	if problems := clashes(p, r, s); len(problems) > 0 {
		return nil, fmt.Errorf("the raw part of the profile %s: %s", p.SchedulerName, problems[0])
	}
	out := object{"schedulerName": p.SchedulerName}
	if n := p.PercentageOfNodesToScore; n != nil {
		out["percentageOfNodesToScore"] = *n
	}
	points := object{}
	maps.Copy(points, r.plugins)
	maps.Copy(points, typedPoints(p, s))
	if len(points) > 0 {
		out["plugins"] = points
	}
	configs := slices.Clone(r.pluginConfig)
	args := typedArgs(p)
	for _, name := range slices.Sorted(maps.Keys(args)) {
		configs = append(configs, object{"name": name, "args": args[name]})
	}
	if len(configs) > 0 {
		out["pluginConfig"] = configs
	}
	return out, nil
}

// typedPoints are the extension points that typed fields set.
func typedPoints(p *v1alpha1.Profile, s Scheduler) object {
	out := object{}
	if len(p.Weights) > 0 {
		out[score] = scores(p.Weights)
	}
	if p.Preemption == v1alpha1.Disabled {
		for _, point := range []string{postFilter, podGroupPostFilter} {
			// Of a scheduler of an unknown version, only what all versions have may be set.
			if point == postFilter || s.Minor != 0 && slices.Contains(s.points(), point) {
				out[point] = object{"disabled": list{object{"name": defaultPreemption}}}
			}
		}
	}
	return out
}

// scores are the weights of plugins. One that is disabled has no weight, because 0 stands for 1 there.
func scores(weights map[v1alpha1.ScorePlugin]v1alpha1.Weight) object {
	var enabled, disabled list
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		if weight := weights[name]; weight > 0 {
			enabled = append(enabled, object{"name": string(name), "weight": int32(weight)})
		} else {
			disabled = append(disabled, object{"name": string(name)})
		}
	}
	out := object{}
	if len(enabled) > 0 {
		out["enabled"] = enabled
	}
	if len(disabled) > 0 {
		out["disabled"] = disabled
	}
	return out
}

// typedArgs are the arguments of plugins that typed fields set, by the plugin's name.
func typedArgs(p *v1alpha1.Profile) map[string]object {
	out := map[string]object{}
	if requirements := requirementsOf(p.Nodes); len(requirements) > 0 {
		out[nodeAffinity] = object{"addedAffinity": object{
			"requiredDuringSchedulingIgnoredDuringExecution": object{
				"nodeSelectorTerms": list{object{"matchExpressions": requirements}},
			},
		}}
	}
	if p.Strategy != "" || len(p.Resources) > 0 {
		out[nodeResourcesFit] = object{"scoringStrategy": strategy(p)}
	}
	if len(p.Spread) > 0 {
		out[podTopologySpread] = object{"defaultingType": "List", "defaultConstraints": constraints(p.Spread)}
	}
	return out
}

// requirementsOf are what a node has to meet.
func requirementsOf(n *v1alpha1.Nodes) (out list) {
	if n == nil {
		return nil
	}
	for _, key := range slices.Sorted(slices.Values(n.LabelKeys)) {
		out = append(out, object{"key": string(key), "operator": "Exists"})
	}
	for _, e := range n.Expressions {
		requirement := object{"key": string(e.Key), "operator": string(e.Operator)}
		if len(e.Values) > 0 {
			var values list
			for _, v := range e.Values {
				values = append(values, string(v))
			}
			requirement["values"] = values
		}
		out = append(out, requirement)
	}
	return out
}

// strategy is how NodeResourcesFit scores. Its type has no default where it is set at all.
func strategy(p *v1alpha1.Profile) object {
	out := object{"type": "LeastAllocated"}
	if p.Strategy == v1alpha1.BinPacking {
		out["type"] = "MostAllocated"
	}
	var resources list
	for _, r := range p.Resources {
		resources = append(resources, object{"name": r.Name, "weight": r.Weight})
	}
	if len(resources) > 0 {
		out["resources"] = resources
	}
	return out
}

func constraints(all []v1alpha1.Spread) (out list) {
	for _, s := range all {
		c := object{"maxSkew": s.MaxSkew, "topologyKey": string(s.TopologyKey), "whenUnsatisfiable": string(s.WhenUnsatisfiable)}
		if s.MinDomains != nil {
			c["minDomains"] = *s.MinDomains
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b any) int {
		return cmp.Compare(a.(object)["topologyKey"].(string), b.(object)["topologyKey"].(string))
	})
	return out
}
