// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/acme/platform-operator/internal/names"
)

// In is the flag for a namespace, after a space; empty for objects that are in none.
func In(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + namespace
}

// Merged returns a map with the fields of another one, if that is one, and more.
func Merged(some any, more map[string]any) map[string]any {
	all := map[string]any{}
	if fields, ok := some.(map[string]any); ok {
		maps.Copy(all, fields)
	}
	maps.Copy(all, more)
	return all
}

// Annotation is the change that sets an annotation, or removes it when the value is nil.
func Annotation(name string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}}
}

// IsPaused reports whether an annotation stops the operator.
func IsPaused(o *unstructured.Unstructured) bool {
	return o.GetAnnotations()[names.AnnotationPaused] == "true"
}

// IsSuspended reports whether spec.suspend is set.
func IsSuspended(o *unstructured.Unstructured) bool {
	suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
	return suspended
}

// Served reports whether the operator has acted on the present version of an object, and on whether it is paused.
func Served(o *unstructured.Unstructured) bool {
	paused := find(Conditions(o), conditionPaused)
	if is := paused != nil && paused.Status == metav1.ConditionTrue; is || IsPaused(o) {
		return is && IsPaused(o)
	}
	return StateOf(o, true).State != Unseen
}

// SchemaHas reports whether the schema of a kind in a document of OpenAPI has a field.
func SchemaHas(document map[string]any, k Kind, path ...string) bool {
	schemas, _, _ := unstructured.NestedMap(document, "components", "schemas")
	for _, schema := range schemas {
		fields, _ := schema.(map[string]any)
		if isOf(fields, k) {
			_, found, _ := unstructured.NestedFieldNoCopy(fields, strings.Split("properties."+strings.Join(path, ".properties."), ".")...)
			return found
		}
	}
	return false
}

func isOf(schema map[string]any, k Kind) bool {
	types, _, _ := unstructured.NestedSlice(schema, "x-kubernetes-group-version-kind")
	for _, item := range types {
		if gvk, ok := item.(map[string]any); ok && gvk["group"] == k.Group && gvk["version"] == k.Version && gvk["kind"] == k.Kind {
			return true
		}
	}
	return false
}

// Dropped returns why a request for a run by hand was dropped; empty if it was not.
func Dropped(o *unstructured.Unstructured, request string) string {
	last, _, _ := unstructured.NestedString(o.Object, "status", "runNow", "request")
	dropped, _, _ := unstructured.NestedString(o.Object, "status", "runNow", "dropped")
	if last != request {
		return ""
	}
	return dropped
}

// JobEnded reports whether a Job has succeeded. That it failed is an error.
func JobEnded(o *unstructured.Unstructured) (bool, error) {
	is, wrong := job(o)
	switch {
	case strings.HasPrefix(is, "failed"):
		return false, fmt.Errorf("the run %s; read its logs: kubectl logs job/%s%s", is, o.GetName(), In(o.GetNamespace()))
	case wrong || o.GetDeletionTimestamp() != nil:
		return false, fmt.Errorf("the run was stopped; see kubectl describe job %s%s", o.GetName(), In(o.GetNamespace()))
	}
	return is == "succeeded", nil
}

// Restartable returns the types of children that have pods to replace.
func Restartable() []string { return []string{"Deployment", "StatefulSet", "DaemonSet"} }

// restartedAt is the annotation by which kubectl rollout restart replaces pods.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// Restart is the change that replaces the pods of a workload, one after the other, as its strategy says.
func Restart(at string) map[string]any {
	return map[string]any{"spec": map[string]any{"template": Annotation(restartedAt, at)}}
}

// RolledOut reports whether all pods of a workload are of its present version and available.
func RolledOut(o *unstructured.Unstructured) bool {
	if number(o, "status", "observedGeneration") < o.GetGeneration() {
		return false
	}
	if o.GetKind() == "DaemonSet" {
		wanted := number(o, "status", "desiredNumberScheduled")
		return number(o, "status", "updatedNumberScheduled") >= wanted && number(o, "status", "numberAvailable") >= wanted
	}
	wanted, ok, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if !ok {
		wanted = 1
	}
	return number(o, "status", "updatedReplicas") >= wanted && number(o, "status", "availableReplicas") >= wanted &&
		number(o, "status", "replicas") <= number(o, "status", "updatedReplicas")
}
