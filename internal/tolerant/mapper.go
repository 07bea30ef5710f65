// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerant

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mapper knows the types of the operator's own also while their CustomResourceDefinitions are gone: their caches are made
// all the same, and are filled as soon as the API server serves the type.
type mapper struct {
	meta.RESTMapper
	ours func(schema.GroupVersionKind) bool
}

// RESTMapping implements meta.RESTMapper. The scope of a type that is not served does not matter: all namespaces are listed.
func (m mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := m.RESTMapper.RESTMapping(kind, versions...)
	if !meta.IsNoMatchError(err) || len(versions) == 0 || !m.ours(kind.WithVersion(versions[0])) {
		return mapping, err
	}
	gvk := kind.WithVersion(versions[0])
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return &meta.RESTMapping{Resource: plural, GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace}, nil
}
