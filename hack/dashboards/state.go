// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

const stateHeader = `# What kube-state-metrics exports of each object of the operator's kinds: its option --custom-resource-state-config-file, or the
# value customResourceState.config of its Helm chart. See docs/operations.md#dashboards. Written by hack/dashboards.
`

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group    string
		Names    struct{ Kind string }
		Versions []struct {
			Name            string
			Served, Storage bool
			Subresources    struct{ Status *struct{} }
		}
	}
}

// stateMetrics is the configuration of kube-state-metrics for all kinds.
func stateMetrics(crds string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(crds, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no CustomResourceDefinition: %w", crds, err)
	}
	var resources []any
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var d definition
		if err := yaml.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		resources = append(resources, d.resource())
	}
	text, err := yaml.Marshal(map[string]any{"kind": "CustomResourceStateMetrics", "spec": map[string]any{"resources": resources}})
	return append([]byte(stateHeader), text...), err
}

// resource is what is exported of one kind, under the name that the operator's own series have for it.
func (d definition) resource() map[string]any {
	metrics := []any{gauge("generation", "Changes of the spec.", []string{"metadata", "generation"})}
	version := ""
	for _, v := range d.Spec.Versions {
		if v.Storage {
			version = v.Name
		}
		if v.Storage && v.Subresources.Status != nil {
			condition := gauge("condition", "1 while a condition is True, else 0.", []string{"status", "conditions"})
			inner := condition["each"].(map[string]any)["gauge"].(map[string]any)
			inner["labelsFromPath"] = map[string]any{"type": []string{"type"}, "reason": []string{"reason"}}
			inner["valueFrom"] = []string{"status"}
			metrics = append(metrics, condition,
				gauge("observed_generation", "Changes of the spec that the operator has looked at.", []string{"status", "observedGeneration"}),
				gauge("ready_since_timestamp_seconds", "When Ready changed.", []string{"status", "conditions", "[type=Ready]", "lastTransitionTime"}))
		}
	}
	metrics = append(metrics, gauge("created_timestamp_seconds", "When the object was created.", []string{"metadata", "creationTimestamp"}))
	return map[string]any{
		"groupVersionKind": map[string]any{"group": d.Spec.Group, "version": version, "kind": d.Spec.Names.Kind},
		"metricNamePrefix": "acme_object",
		"commonLabels":     map[string]any{"kind": strings.ToLower(d.Spec.Names.Kind)},
		"labelsFromPath":   map[string]any{"object": []string{"metadata", "name"}, "object_namespace": []string{"metadata", "namespace"}},
		"metrics":          metrics,
	}
}

func gauge(name, help string, path []string) map[string]any {
	return map[string]any{"name": name, "help": help, "each": map[string]any{"type": "Gauge", "gauge": map[string]any{"path": path}}}
}
