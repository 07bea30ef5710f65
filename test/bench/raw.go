// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// rawManager is the field manager of the raw client, and the mark of what it makes.
const rawManager = "raw"

// template is one request of the raw client, written for the sample; every other object's request
// differs in the name only.
type template struct{ path, body string }

// learn makes templates from what the operator made for a sample: exactly the fields that it applied,
// without the marks, so that the operator takes none of what the raw client makes for its own.
func (c *cluster) learn(ctx context.Context, s subject, sample engine.Object) ([]template, error) {
	var templates []template
	converter := applyconfigurations.NewTypeConverter(clientgoscheme.Scheme)
	unmark := strings.NewReplacer(
		string(sample.GetUID()), rawManager,
		`"`+names.Operator+`"`, `"`+rawManager+`"`,
		`"`+s.name+`/`, `"`+rawManager+`/`)
	for _, child := range s.children {
		gvk, err := apiutil.GVKForObject(child, c.admin.Scheme())
		if err != nil {
			return nil, err
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := c.admin.List(ctx, list, client.MatchingLabels{names.LabelOwnerUID: string(sample.GetUID())}); err != nil {
			return nil, fmt.Errorf("reading the children of the sample: %w", err)
		}
		if len(list.Items) == 0 {
			return nil, fmt.Errorf("the operator made no %s for the sample", gvk.Kind)
		}
		for i := range list.Items {
			intent, err := applied(converter, &list.Items[i], names.FieldManager(s.name))
			if err != nil {
				return nil, fmt.Errorf("reading what the operator applied to a %s: %w", gvk.Kind, err)
			}
			if s.namespace != "" { // the garbage collector would delete what has no owner
				unstructured.RemoveNestedField(intent.Object, "metadata", "ownerReferences")
			}
			body, err := json.Marshal(intent.Object)
			if err != nil {
				return nil, fmt.Errorf("encoding a %s: %w", gvk.Kind, err)
			}
			where, err := c.pathOf(&list.Items[i])
			if err != nil {
				return nil, err
			}
			templates = append(templates, template{where, unmark.Replace(string(body))})
		}
	}
	return templates, nil
}

// applied is the apply request that leads to the fields that a manager owns.
func applied(converter managedfields.TypeConverter, live *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	typed, err := converter.ObjectToTyped(live)
	if err != nil {
		return nil, err
	}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != manager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" {
			continue
		}
		owned := &fieldpath.Set{}
		if err := owned.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, err
		}
		fields, ok := typed.ExtractItems(owned.Leaves()).AsValue().Unstructured().(map[string]any)
		if !ok {
			return nil, errors.New("its fields are no object")
		}
		intent := &unstructured.Unstructured{Object: fields}
		intent.SetGroupVersionKind(live.GroupVersionKind())
		intent.SetName(live.GetName())
		intent.SetNamespace(live.GetNamespace())
		return intent, nil
	}
	return nil, fmt.Errorf("%s owns nothing of it", manager)
}

// pathOf is the URL path of an object.
func (c *cluster) pathOf(o *unstructured.Unstructured) (string, error) {
	gvk := o.GroupVersionKind()
	mapping, err := c.admin.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return "", err
	}
	elem := []string{"/apis", gvk.Group, gvk.Version}
	if gvk.Group == "" {
		elem = []string{"/api", gvk.Version}
	}
	if o.GetNamespace() != "" {
		elem = append(elem, "namespaces", o.GetNamespace())
	}
	return path.Join(append(elem, mapping.Resource.Resource, o.GetName())...), nil
}

// raw applies the templates for each of the names, as fast as a client can: the requests are ready
// before the clock starts, and the answers are not looked into.
func (c *cluster) raw(ctx context.Context, workers int, templates []template, sample string, wanted []string) (time.Duration, error) {
	ready := map[string][]template{}
	for _, name := range wanted {
		for _, t := range templates {
			ready[name] = append(ready[name], template{strings.ReplaceAll(t.path, sample, name), strings.ReplaceAll(t.body, sample, name)})
		}
	}
	start := time.Now()
	err := each(ctx, workers, wanted, func(ctx context.Context, name string) error {
		for _, t := range ready[name] {
			err := c.rest.Patch(types.ApplyYAMLPatchType).AbsPath(t.path).
				Param("fieldManager", rawManager).Param("force", "true").Body([]byte(t.body)).Do(ctx).Error()
			if err != nil {
				return fmt.Errorf("applying %s: %w", t.path, err)
			}
		}
		return nil
	})
	return time.Since(start), err
}
