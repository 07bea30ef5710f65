// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/acme/platform-operator/internal/plugin"
	"github.com/acme/platform-operator/internal/plugin/doctor"
)

// installation is what may be told of an installation.
func installation(i doctor.Installation) map[string]any {
	out := map[string]any{
		"namespace": i.Namespace, "deployments": each(i.Deployments.Value, deployment), "definitions": each(i.Definitions.Value, definition),
		"hooks": each(i.Hooks.Value, hooks), "policies": each(i.Policies.Value, plain), "bindings": each(i.Bindings.Value, plain),
		"certificates": each(i.Certificates.Value, plain), "apiServices": each(i.APIServices.Value, plain), "deniedRights": i.Rights.Value,
	}
	if i.Lease.Value != nil {
		lease := plain(i.Lease.Value)
		spec, _, _ := unstructured.NestedMap(i.Lease.Value.Object, "spec")
		lease["spec"] = map[string]any{
			"held": spec["holderIdentity"] != nil && spec["holderIdentity"] != "", "leaseDurationSeconds": harmless("", spec["leaseDurationSeconds"]),
			"leaseTransitions": harmless("", spec["leaseTransitions"]), "renewTime": harmless("at", spec["renewTime"]),
		}
		out["lease"] = lease
	}
	return out
}

// plain is an object by its metadata and conditions.
func plain(o *unstructured.Unstructured) map[string]any {
	out := map[string]any{"kind": o.GetKind(), "metadata": metadata(o)}
	if all := conditions(o); len(all) > 0 {
		out["conditions"] = all
	}
	return out
}

func conditions(o *unstructured.Unstructured) (all []map[string]any) {
	for _, c := range plugin.Conditions(o) {
		all = append(all, pick(map[string]any{"type": c.Type, "status": string(c.Status), "reason": c.Reason}, "type", "status", "reason"))
	}
	return all
}

// flag is the name of a flag at the begin of an argument.
var flag = regexp.MustCompile(`^--?[A-Za-z0-9][A-Za-z0-9.-]*`)

// deployment has the names of arguments and of environment variables, and no values.
func deployment(o *unstructured.Unstructured) map[string]any {
	out := plain(o)
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	out["status"] = pick(status, "replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "observedGeneration")
	var containers []map[string]any
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, item := range list {
		c, _ := item.(map[string]any)
		container := pick(c, "name", "image")
		args, _, _ := unstructured.NestedStringSlice(c, "args")
		var flags, variables []string
		for _, arg := range args {
			if name := flag.FindString(arg); name != "" {
				flags = append(flags, name)
			}
		}
		env, _, _ := unstructured.NestedSlice(c, "env")
		for _, item := range env {
			if v, isMap := item.(map[string]any); isMap {
				name, _ := v["name"].(string)
				variables = append(variables, name)
			}
		}
		container["flags"], container["env"] = flags, variables
		resources, _, _ := unstructured.NestedMap(c, "resources")
		container["resources"] = resources
		containers = append(containers, container)
	}
	out["containers"] = containers
	return out
}

// definition has the versions, and whether each is served and stored.
func definition(o *unstructured.Unstructured) map[string]any {
	out := plain(o)
	var versions []map[string]any
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	for _, item := range list {
		v, _ := item.(map[string]any)
		versions = append(versions, pick(v, "name", "served", "storage"))
	}
	out["versions"] = versions
	return out
}

func hooks(o *unstructured.Unstructured) map[string]any {
	out := plain(o)
	var all []map[string]any
	for _, hook := range doctor.Hooks(o) {
		picked := pick(hook, "name", "timeoutSeconds")
		policy, _, _ := unstructured.NestedString(hook, "failurePolicy")
		bundle, _, _ := unstructured.NestedString(hook, "clientConfig", "caBundle")
		picked["failurePolicy"], picked["hasCA"] = textOf("mode", policy), bundle != ""
		all = append(all, picked)
	}
	out["webhooks"] = all
	return out
}
