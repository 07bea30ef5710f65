// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/openapi3"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/plugin"
)

const (
	// fieldManager is under which name the plugin writes.
	fieldManager = "kubectl-acme"
	// lookEvery is how often the plugin looks for what it waits for.
	lookEvery = time.Second / 2
)

// Patch merges a change into an object, and returns the object afterwards.
func (c *Cluster) Patch(ctx context.Context, k plugin.Kind, o *unstructured.Unstructured, change map[string]any) (*unstructured.Unstructured, error) {
	// The UID keeps an object from being changed that was created again under the same name.
	change["metadata"] = plugin.Merged(change["metadata"], map[string]any{"uid": string(o.GetUID())})
	patch, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("writing a patch: %w", err)
	}
	return c.resource(k, o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
}

// HasField reports whether the schema of a kind has a field, as the API server publishes it.
func (c *Cluster) HasField(k plugin.Kind, path ...string) (bool, error) {
	document, err := openapi3.NewRoot(c.discovery.OpenAPIV3()).GVSpecAsMap(k.GroupVersion())
	if err != nil {
		return false, fmt.Errorf("reading the schema of %s: %w", k.Resource, err)
	}
	return plugin.SchemaHas(document, k, path...), nil
}

// Await reads an object until something holds of it, or the context ends.
func (c *Cluster) Await(ctx context.Context, k plugin.Kind, o *unstructured.Unstructured,
	holds func(context.Context, *unstructured.Unstructured) (bool, error),
) error {
	return wait.PollUntilContextCancel(ctx, lookEvery, true, func(ctx context.Context) (bool, error) {
		live, err := c.resource(k, o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || (err == nil && live.GetUID() != o.GetUID()):
			return false, fmt.Errorf("%s %s was deleted meanwhile", k.Word(), o.GetName())
		case err != nil:
			return false, err
		}
		return holds(ctx, live)
	})
}

// Children returns the children of an object by their types, of those with these names.
func (c *Cluster) Children(
	ctx context.Context, owner plugin.Kind, o *unstructured.Unstructured, kinds ...string,
) (map[string][]*unstructured.Unstructured, error) {
	byKind := map[string][]*unstructured.Unstructured{}
	types, _ := plugin.Made(c.Resources, owner)
	for _, k := range types {
		for _, name := range kinds {
			if k.Kind != name {
				continue
			}
			err := c.each(ctx, k, o.GetNamespace(), plugin.OwnedBy(o), func(child *unstructured.Unstructured) { byKind[name] = append(byKind[name], child) })
			if err != nil {
				return nil, fmt.Errorf("listing %s: %w", k.Resource, err)
			}
			if byKind[name], err = proved(o, plugin.Belong(o, byKind[name], c.OperatorNamespace)); err != nil {
				return nil, err
			}
		}
	}
	return byKind, nil
}

// Resource returns the type of an object.
func (c *Cluster) Resource(o *unstructured.Unstructured) (plugin.Kind, error) {
	for _, k := range c.Resources {
		if gvk := o.GroupVersionKind(); k.Group == gvk.Group && k.Kind == gvk.Kind {
			return k, nil
		}
	}
	return plugin.Kind{}, fmt.Errorf("the cluster does not serve %s", o.GetKind())
}

// RunEnded reports whether the run of a request has ended. That it failed or was dropped is an error.
func (c *Cluster) RunEnded(ctx context.Context, k plugin.Kind, o *unstructured.Unstructured, request string) (bool, error) {
	if dropped := plugin.Dropped(o, request); dropped != "" {
		return false, fmt.Errorf("the run was dropped: %s; request it again", dropped)
	}
	jobs, err := c.Children(ctx, k, o, "Job")
	if err != nil {
		return false, err
	}
	for _, job := range jobs["Job"] {
		if job.GetAnnotations()[names.AnnotationRunNow] == request {
			return plugin.JobEnded(job)
		}
	}
	return false, nil
}
