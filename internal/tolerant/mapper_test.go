// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerant

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMapperKnowsOwnTypesThatAreNotServed(t *testing.T) {
	served := meta.NewDefaultRESTMapper(nil)
	version := func(group string) schema.GroupVersion { return schema.GroupVersion{Group: group, Version: "v1"} }
	served.Add(version("ours").WithKind("Served"), meta.RESTScopeRoot)
	m := mapper{served, func(gvk schema.GroupVersionKind) bool { return gvk.Group == "ours" }}
	for _, tc := range []struct{ group, kind, want string }{
		{"ours", "Served", "serveds"}, {"ours", "Policy", "policies"}, {"theirs", "Policy", ""},
	} {
		got, err := m.RESTMapping(version(tc.group).WithKind(tc.kind).GroupKind(), "v1")
		switch {
		case tc.want == "":
			if !meta.IsNoMatchError(err) {
				t.Errorf("%v: %v, %v", tc, got, err)
			}
		case err != nil || got.Resource != version(tc.group).WithResource(tc.want) || got.GroupVersionKind != version(tc.group).WithKind(tc.kind):
			t.Errorf("%v: %v, %v", tc, got, err)
		case (got.Scope == meta.RESTScopeRoot) != (tc.kind == "Served"):
			t.Errorf("%v: scope %v", tc, got.Scope.Name())
		}
	}
}
