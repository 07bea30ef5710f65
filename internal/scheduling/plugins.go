// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scheduling turns SchedulerProfiles into configurations of kube-scheduler, and checks what kube-scheduler itself would
// not notice. It is pure, and shared by the controller and the webhook of the kind.
//
// The configuration is a map of only what was set. It never goes through the types of kube-scheduler: these write fields that were
// not set, which a scheduler of another version rejects.
package scheduling

import (
	"maps"
	"slices"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
)

// The plugins that typed fields configure.
const (
	nodeAffinity      = "NodeAffinity"
	nodeResourcesFit  = "NodeResourcesFit"
	podTopologySpread = "PodTopologySpread"
	defaultPreemption = "DefaultPreemption"
)

// The extension points that typed fields configure, or need.
const (
	filter             = "filter"
	multiPoint         = "multiPoint"
	score              = "score"
	postFilter         = "postFilter"
	podGroupPostFilter = "podGroupPostFilter"
)

// oldest and newest are the first and the last minor version of Kubernetes 1 that the tables below know.
const oldest, newest = 32, 37

// since are the names of the plugins of kube-scheduler, by the first minor version that has them. None has been removed.
var since = map[int][]string{
	32: {
		"DefaultBinder", defaultPreemption, "DynamicResources", "ImageLocality", "InterPodAffinity", nodeAffinity, "NodeName", "NodePorts",
		"NodeResourcesBalancedAllocation", nodeResourcesFit, "NodeUnschedulable", "NodeVolumeLimits", podTopologySpread, "PrioritySort",
		"SchedulingGates", "TaintToleration", "VolumeBinding", "VolumeRestrictions", "VolumeZone",
	},
	35: {"GangScheduling", "NodeDeclaredFeatures"},
	36: {"PodGroupPodsCount", "TopologyPlacementGenerator"},
	37: {"DeferredPodScheduling"},
}

// pointsSince are the extension points of a profile, by the first minor version that has them.
var pointsSince = map[int][]string{
	32: {
		"bind", filter, multiPoint, "permit", "postBind", postFilter, "preBind", "preEnqueue", "preFilter", "preScore", "queueSort",
		"reserve", score,
	},
	36: {"placementGenerate", "placementScore"},
	37: {podGroupPostFilter},
}

// argsSince are the plugins that take arguments, by the first minor version of which they do. kube-scheduler ignores the arguments of
// its other plugins.
var argsSince = map[int][]string{
	32: {
		defaultPreemption, "InterPodAffinity", nodeAffinity, "NodeResourcesBalancedAllocation", nodeResourcesFit, podTopologySpread,
		"VolumeBinding",
	},
	34: {"DynamicResources"},
}

// Scheduler is the scheduler that a configuration is for.
type Scheduler struct {
	// Minor is its minor version of Kubernetes 1. 0 if it is not known, which allows what any version has.
	Minor int
	// Plugins are those that it has in addition to the ones of kube-scheduler.
	Plugins []string
}

// Of returns the scheduler that an object asks for, if the operator's own image is of the given minor version.
func Of(p *v1alpha1.SchedulerProfileSpec, minor int) Scheduler {
	if p.Image != "" {
		return Scheduler{Plugins: p.PluginNames}
	}
	return Scheduler{Minor: minor}
}

// plugins returns the names of its plugins, sorted.
func (s Scheduler) plugins() []string {
	return slices.Sorted(slices.Values(append(s.upTo(since), s.Plugins...)))
}

// takesArgs reports whether one of its plugins takes arguments.
func (s Scheduler) takesArgs(name string) bool {
	return slices.Contains(s.upTo(argsSince), name) || slices.Contains(s.Plugins, name)
}

// points returns its extension points, sorted.
func (s Scheduler) points() []string { return slices.Sorted(slices.Values(s.upTo(pointsSince))) }

func (s Scheduler) upTo(table map[int][]string) (all []string) {
	for _, minor := range slices.Sorted(maps.Keys(table)) {
		if s.Minor == 0 || minor <= s.Minor {
			all = append(all, table[minor]...)
		}
	}
	return all
}
