// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// customApplyConfiguration is the wanted state of an object of one of the operator's own types, for which client-go has none.
type customApplyConfiguration struct {
	metav1ac.TypeMetaApplyConfiguration    `json:",inline"`
	*metav1ac.ObjectMetaApplyConfiguration `json:"metadata,omitempty"`

	Spec map[string]any `json:"spec,omitempty"`
}

// IsApplyConfiguration implements runtime.ApplyConfiguration.
func (*customApplyConfiguration) IsApplyConfiguration() {}

// GetKind implements intent.
func (c *customApplyConfiguration) GetKind() *string { return c.Kind }

// GetAPIVersion implements intent.
func (c *customApplyConfiguration) GetAPIVersion() *string { return c.APIVersion }

// GetName implements intent.
func (c *customApplyConfiguration) GetName() *string { return c.Name }

// GetNamespace implements intent.
func (c *customApplyConfiguration) GetNamespace() *string { return c.Namespace }

func newCustom(gvk schema.GroupVersionKind, name, namespace string) *customApplyConfiguration {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	c := &customApplyConfiguration{ObjectMetaApplyConfiguration: &metav1ac.ObjectMetaApplyConfiguration{Name: &name, Namespace: &namespace}}
	c.APIVersion, c.Kind = &apiVersion, &kind
	return c
}

// NewCustomChild wraps an object of one of the operator's own types: its name, its namespace, and those fields of its spec that
// are in its JSON. Others may set the rest of the spec.
func NewCustomChild[L any, PL liveObject[L]](gvk schema.GroupVersionKind, wanted PL) (Child, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return Child{}, fmt.Errorf("converting %s %s: %w", gvk.Kind, wanted.GetName(), err)
	}
	intent := newCustom(gvk, wanted.GetName(), wanted.GetNamespace())
	intent.Spec, _ = content["spec"].(map[string]any)
	return Child{
		intent: intent, key: client.ObjectKeyFromObject(wanted), newLive: func() client.Object { return PL(new(L)) },
		extract: func(live client.Object, manager string) (any, error) { return extractCustom(gvk, live, manager) },
		mark: func(l, a map[string]string, o *metav1ac.OwnerReferenceApplyConfiguration) {
			intent.Labels, intent.Annotations = merged(intent.Labels, l), merged(intent.Annotations, a)
			if o != nil {
				intent.OwnerReferences = append(intent.OwnerReferences, *o)
			}
		},
	}, nil
}

// extractCustom returns the part of an object that a field manager has applied.
func extractCustom(gvk schema.GroupVersionKind, live client.Object, manager string) (*customApplyConfiguration, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return nil, err
	}
	out := &customApplyConfiguration{}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != manager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return nil, err
		}
		applied, _ := applied(content, set).(map[string]any)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(applied, out); err != nil {
			return nil, err
		}
	}
	named := newCustom(gvk, live.GetName(), live.GetNamespace())
	out.TypeMetaApplyConfiguration = named.TypeMetaApplyConfiguration
	if out.ObjectMetaApplyConfiguration == nil {
		out.ObjectMetaApplyConfiguration = named.ObjectMetaApplyConfiguration
	}
	out.Name, out.Namespace = named.Name, named.Namespace
	return out, nil
}

// applied returns the part of a value that a set of fields names; all of it without a set. The names of the fields say how lists
// are merged, so that no schema is needed.
func applied(v any, set *fieldpath.Set) any {
	if set == nil {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, each := range v {
			if below, named := below(set, fieldpath.FieldNameElement(name)); named {
				out[name] = applied(each, below)
			}
		}
		return out
	case []any:
		var out []any
		for _, each := range v {
			if below, named := element(set, each); named {
				out = append(out, applied(each, below))
			}
		}
		return out
	default:
		return v
	}
}

// below returns the set of fields below a path, and whether there is any, or the path itself is in the set.
func below(set *fieldpath.Set, path fieldpath.PathElement) (*fieldpath.Set, bool) {
	if fields, partly := set.Children.Get(path); partly {
		return fields, true
	}
	return nil, set.Members.Has(path)
}

// element is below for an element of a list, which is named by its value or by some of its fields.
func element(set *fieldpath.Set, v any) (*fieldpath.Set, bool) {
	fields, isMap := v.(map[string]any)
	if !isMap {
		return below(set, fieldpath.ValueElement(value.NewValueInterface(v)))
	}
	var at *fieldpath.PathElement
	match := func(path fieldpath.PathElement) {
		if path.Key != nil && hasKey(fields, *path.Key) {
			at = &path
		}
	}
	set.Children.Iterate(match)
	set.Members.Iterate(match)
	if at == nil {
		return nil, false
	}
	return below(set, *at)
}

func hasKey(fields map[string]any, key value.FieldList) bool {
	for _, f := range key {
		if v, exists := fields[f.Name]; !exists || !value.Equals(value.NewValueInterface(v), f.Value) {
			return false
		}
	}
	return true
}
