// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func definition(scope apiextensionsv1.ResourceScope, scale *apiextensionsv1.CustomResourceSubresourceScale) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Group, crd.Spec.Scope = "toys.acme.com", scope
	crd.Spec.Names.Plural, crd.Spec.Names.Singular = "robots", "robot"
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1alpha1", Subresources: &apiextensionsv1.CustomResourceSubresources{Scale: scale},
	}}
	return crd
}

func TestRolesForPeople(t *testing.T) {
	scale := &apiextensionsv1.CustomResourceSubresourceScale{}
	for _, c := range []struct {
		reason string
		crd    *apiextensionsv1.CustomResourceDefinition
		who    string
		to     []string
		rules  []string
	}{
		{"users of a namespace write", definition("Namespaced", nil), "editor", []string{"admin", "edit"}, []string{"robots: create delete get list patch update watch"}},
		{"users of a namespace read", definition("Namespaced", nil), "viewer", []string{"view"}, []string{"robots: get list watch"}},
		{"nobody decides over tenants unasked", definition("Cluster", nil), "editor", nil, []string{"robots: create delete get list patch update watch"}},
		{"nobody sees tenants unasked", definition("Cluster", nil), "viewer", nil, []string{"robots: get list watch"}},
		{
			"editors scale", definition("Namespaced", scale), "editor",
			[]string{"admin", "edit"},
			[]string{"robots: create delete get list patch update watch", "robots/scale: get patch update"},
		},
		{"viewers see the scale", definition("Namespaced", scale), "viewer", []string{"view"}, []string{"robots: get list watch", "robots/scale: get"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			role := &rbacv1.ClusterRole{}
			if err := yaml.UnmarshalStrict(roleForPeople(c.crd, c.who), role); err != nil {
				t.Fatal(err)
			}
			if want := "toys-robot-" + c.who + "-role"; role.Name != want {
				t.Errorf("its name is %s, want %s", role.Name, want)
			}
			var to, rules []string
			for _, name := range []string{"admin", "edit", "view"} {
				if role.Labels["rbac.authorization.k8s.io/aggregate-to-"+name] == "true" {
					to = append(to, name)
				}
			}
			for _, r := range role.Rules {
				rules = append(rules, r.Resources[0]+": "+strings.Join(r.Verbs, " "))
			}
			if diff := cmp.Diff([][]string{c.to, c.rules}, [][]string{to, rules}); diff != "" {
				t.Errorf("aggregated to, rules (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConfig writes into a folder that knows another kind, which is gone.
func TestConfig(t *testing.T) {
	folder := t.TempDir()
	before := map[string]string{
		"crd/kustomization.yaml":               "# hand\nresources:\n- bases/old.acme.com_olds.yaml\n# end\n",
		"samples/kustomization.yaml":           "resources:\n",
		"samples/toys_v1alpha1_robot.yaml":     "kind: Robot\n",
		"rbac/kustomization.yaml":              "resources:\n- metrics_reader_role.yaml\n- old_old_editor_role.yaml\n- old_old_viewer_role.yaml\n",
		"rbac/old_old_editor_role.yaml":        "kind: ClusterRole\n",
		"rbac/leader_election_binding_it.yaml": "",
		"rbac/metrics_reader_role.yaml":        "",
	}
	for name, text := range before {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeConfig(folder, []*apiextensionsv1.CustomResourceDefinition{definition("Cluster", nil)}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"crd/kustomization.yaml":     "# hand\nresources:\n- bases/toys.acme.com_robots.yaml\n# end\n",
		"samples/kustomization.yaml": "resources:\n- toys_v1alpha1_robot.yaml\n",
		"rbac/kustomization.yaml":    "resources:\n- metrics_reader_role.yaml\n- toys_robot_editor_role.yaml\n- toys_robot_viewer_role.yaml\n",
	} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || string(text) != want {
			t.Errorf("%s is %q, %v; want %q", name, text, err, want)
		}
	}
	for name, want := range map[string]bool{
		"old_old_editor_role.yaml": false, "toys_robot_editor_role.yaml": true, "metrics_reader_role.yaml": true, "leader_election_binding_it.yaml": true,
	} {
		if got := exists(filepath.Join(folder, "rbac", name)); got != want {
			t.Errorf("%s is there: %v, want %v", name, got, want)
		}
	}
}
