// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestOptions(t *testing.T) {
	digest := strings.Repeat("a", 64)
	for _, row := range []struct{ version, image, problem string }{
		{"0.1.0", "registry.acme.com/platform/platform-operator:v0.1.0", ""},
		{"0.1.0-rc.1", "127.0.0.1:5000/platform-operator:v0.1.0", ""},
		{"0.1.0", "registry.acme.com/x@sha256:" + digest, ""},
		{"", "registry.acme.com/x:v1", "--version"},
		{"v0.1.0", "registry.acme.com/x:v1", "--version"},
		{"0.1", "registry.acme.com/x:v1", "--version"},
		{"0.1.0", "", "--image"},
		{"0.1.0", "platform-operator:v1", "--image"},
		{"0.1.0", "registry.acme.com/x", "--image"},
		{"0.1.0", "registry.acme.com/x@sha256:abc", "--image"},
	} {
		err := options{version: row.version, image: row.image}.validate()
		if (err == nil) != (row.problem == "") || (err != nil && !strings.Contains(err.Error(), row.problem)) {
			t.Errorf("%q %q: want a problem with %q, got %v", row.version, row.image, row.problem, err)
		}
	}
}

func TestDropUnserved(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	csv.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{
		{Name: "a.example.com", Version: "v1"}, {Name: "a.example.com", Version: "v1alpha1"},
	}
	dropUnserved(csv, map[string]bool{"a.example.com/v1": true, "a.example.com/v1alpha1": false})
	if owned := csv.Spec.CustomResourceDefinitions.Owned; len(owned) != 1 || owned[0].Version != "v1" {
		t.Errorf("only v1 is served, but owned are %v", owned)
	}
}

func TestKindsAreDescribed(t *testing.T) {
	const readme = "# Us\n\n| kind | what it gives |\n|---|---|\n| [Robot](docs/kinds/robot.md) | a robot, `dev` |\n| [Car](docs/kinds/car.md) | a car |\n\nText\n"
	got, err := describeKinds("Before\n\nKINDS\n\nAfter\n", readme)
	if want := "Before\n\n* **Robot**: a robot, `dev`.\n* **Car**: a car.\n\nAfter\n"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for _, wrong := range [][2]string{{"no line", readme}, {"\nKINDS\n\nKINDS\n", readme}, {"\nKINDS\n", "no table"}} {
		if got, err := describeKinds(wrong[0], wrong[1]); err == nil {
			t.Errorf("%q is accepted: %q", wrong, got)
		}
	}
}

func TestWebhookNames(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	csv.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{
		{GenerateName: "a.example.com", Type: operatorsv1alpha1.MutatingAdmissionWebhook},
		{GenerateName: "b.example.com", Type: operatorsv1alpha1.ValidatingAdmissionWebhook},
	}
	if err := checkWebhookNames(csv); err != nil {
		t.Error(err)
	}
	csv.Spec.WebhookDefinitions[1].GenerateName = "a.example.com"
	if err := checkWebhookNames(csv); err == nil {
		t.Error("a mutating and a validating webhook have one name")
	}
}

func TestNamespacedRulesBecomeARole(t *testing.T) {
	dir := t.TempDir()
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}
	spec := &csv.Spec.InstallStrategy.StrategySpec
	spec.Permissions = []operatorsv1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: "x-controller-manager", Rules: rules}}
	if err := moveNamespacedRules(csv, dir); err != nil {
		t.Fatal(err)
	}
	if len(spec.Permissions) > 0 {
		t.Error("the rules are still there")
	}
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	for name, into := range map[string]any{"role": &role, "rolebinding": &binding} {
		if err := readYAML(filepath.Join(dir, "x-namespaced_rbac.authorization.k8s.io_v1_"+name+".yaml"), into); err != nil {
			t.Fatal(err)
		}
	}
	if role.Rules[0].Resources[0] != "secrets" || binding.RoleRef.Name != role.Name || binding.Subjects[0].Name != "x-controller-manager" {
		t.Errorf("role %v, binding %v", role, binding)
	}
}

func TestTidyManifests(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x-webhook-service_v1_service.yaml": "kind: Service\n",
		"x_v1_service.yaml":                 "kind: Service\nmetadata:\n  name: x\n  creationTimestamp: null\nstatus: {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := tidyManifests(dir); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("the webhooks' Service must be gone, and nothing else: %v, %v", all, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "x_v1_service.yaml"))
	if want := "kind: Service\nmetadata:\n  name: x\n"; err != nil || string(text) != want {
		t.Errorf("want %q, got %q, %v", want, text, err)
	}
}
