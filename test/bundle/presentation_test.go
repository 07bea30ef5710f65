// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestEveryKindIsPresented says what a kind lacks in the bundle: its CRD, a description, descriptors for the
// fields of its sample and of its status, the kinds that it makes, the sample as an example.
func TestEveryKindIsPresented(t *testing.T) {
	b := load(t)
	var examples []unstructured.Unstructured
	if err := json.Unmarshal([]byte(b.CSV.Annotations["alm-examples"]), &examples); err != nil {
		t.Fatalf("alm-examples: %v", err)
	}
	all := crds(t)
	for _, crd := range all {
		for _, version := range crd.Spec.Versions {
			t.Run(crd.Spec.Names.Kind+"/"+version.Name, func(t *testing.T) {
				for _, lack := range lacks(b.CSV, crd, version, samples(t), examples) {
					t.Error(lack)
				}
			})
		}
	}
	if owned := b.CSV.Spec.CustomResourceDefinitions.Owned; len(owned) > len(all) || len(b.V1CRDs) != len(all) {
		t.Errorf("there are %d CRDs, the bundle has %d and owns %d", len(all), len(b.V1CRDs), len(owned))
	}
	if samples := samples(t); len(samples) != len(examples) {
		t.Errorf("there are %d samples and %d examples: is each sample in config/samples/kustomization.yaml?", len(samples), len(examples))
	}
}

// lacks lists what is missing of a served version, and of a version that is not served what must not be there.
func lacks(
	csv *operatorsv1alpha1.ClusterServiceVersion, crd *apiextensionsv1.CustomResourceDefinition,
	version apiextensionsv1.CustomResourceDefinitionVersion, samples []*unstructured.Unstructured, examples []unstructured.Unstructured,
) []string {
	owned := csv.Spec.CustomResourceDefinitions.Owned
	i := slices.IndexFunc(owned, func(d operatorsv1alpha1.CRDDescription) bool {
		return d.Name == crd.Name && d.Version == version.Name && d.Kind == crd.Spec.Names.Kind
	})
	switch {
	case !version.Served && i >= 0:
		return []string{"the bundle owns a version that is not served"}
	case !version.Served:
		return nil
	case i < 0:
		return []string{"the bundle does not own it: is it in PROJECT and in config/crd/kustomization.yaml?"}
	}
	var missing []string
	d := owned[i]
	if d.DisplayName == "" || d.Description == "" {
		missing = append(missing, "it has no display name or description: write +operator-sdk:csv:customresourcedefinitions above the type")
	}
	if !strings.Contains(csv.Spec.Description, "**"+crd.Spec.Names.Kind+"**") {
		missing = append(missing, "the description of the operator does not tell what it is: README.md needs a row about it")
	}
	if len(d.Resources) == 0 {
		missing = append(missing, "it says not what it makes: add resources={{KIND,VERSION,\"\"}} to that marker")
	}
	missing = append(missing, lackingDescriptors(d, crd, version, samples)...)
	isExample := func(e unstructured.Unstructured) bool { return isOf(&e, crd, version.Name) }
	if !slices.ContainsFunc(examples, isExample) {
		missing = append(missing, "alm-examples has none of it")
	}
	return missing
}

func lackingDescriptors(
	d operatorsv1alpha1.CRDDescription, crd *apiextensionsv1.CustomResourceDefinition,
	version apiextensionsv1.CustomResourceDefinitionVersion, samples []*unstructured.Unstructured,
) []string {
	described := map[string]bool{}
	for _, s := range d.SpecDescriptors {
		described["spec."+s.Path] = s.DisplayName != "" && s.Description != ""
	}
	for _, s := range d.StatusDescriptors {
		described["status."+s.Path] = s.DisplayName != "" && s.Description != ""
	}
	var fields []string
	found := false
	for _, sample := range samples {
		if isOf(sample, crd, version.Name) {
			found = true
			spec, _, _ := unstructured.NestedMap(sample.Object, "spec")
			for field := range spec {
				fields = append(fields, "spec."+field)
			}
		}
	}
	var missing []string
	if !found {
		missing = append(missing, "config/samples has none of it")
	}
	for field := range version.Schema.OpenAPIV3Schema.Properties["status"].Properties {
		fields = append(fields, "status."+field)
	}
	slices.Sort(fields)
	for _, field := range fields {
		if !described[field] {
			missing = append(missing, fmt.Sprintf(
				"%s has no descriptor: write +operator-sdk:csv:customresourcedefinitions:type=... above the field", field))
		}
	}
	return missing
}

func isOf(o *unstructured.Unstructured, crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	return o.GetKind() == crd.Spec.Names.Kind && o.GetAPIVersion() == crd.Spec.Group+"/"+version
}

// TestLacks shows that the check above sees each of the things it speaks of.
func TestLacks(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name, crd.Spec.Group, crd.Spec.Names.Kind = "widgets.example.com", "example.com", "Widget"
	version := apiextensionsv1.CustomResourceDefinitionVersion{
		Name: "v1", Served: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"status": {Properties: map[string]apiextensionsv1.JSONSchemaProps{"phase": {}}},
			},
		}},
	}
	sample := unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "spec": map[string]any{"size": "1"},
	}}
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	check := func(want int) {
		t.Helper()
		if got := lacks(csv, crd, version, []*unstructured.Unstructured{&sample}, nil); len(got) != want {
			t.Errorf("%d things should be missing, got %q", want, got)
		}
	}
	check(1) // not owned
	owned := operatorsv1alpha1.CRDDescription{Name: crd.Name, Version: "v1", Kind: "Widget"}
	csv.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{owned}
	check(6) // description, in the operator's, resources, two descriptors, example
	csv.Spec.Description = "* **Widget**: a widget."
	owned.DisplayName, owned.Description = "Widget", "A widget."
	owned.Resources = []operatorsv1alpha1.APIResourceReference{{Kind: "Pod", Version: "v1"}}
	csv.Spec.CustomResourceDefinitions.Owned[0] = owned
	check(3)
	owned.SpecDescriptors = []operatorsv1alpha1.SpecDescriptor{{Path: "size", DisplayName: "Size", Description: "Its size."}}
	owned.StatusDescriptors = []operatorsv1alpha1.StatusDescriptor{{Path: "phase", DisplayName: "Phase", Description: "Its phase."}}
	csv.Spec.CustomResourceDefinitions.Owned[0] = owned
	check(1)
	version.Served = false
	check(1)
	csv.Spec.CustomResourceDefinitions.Owned = nil
	check(0)
}

// TestCapabilityLevelIsShown holds the level that the bundle claims against the page that says which tests
// show it.
func TestCapabilityLevelIsShown(t *testing.T) {
	levels := []string{"Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"}
	claimed := slices.Index(levels, load(t).CSV.Annotations["capabilities"])
	if claimed < 0 {
		t.Fatal("it claims no level that there is")
	}
	page, err := os.ReadFile(repo("docs", "capabilities.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range capabilityRows(t, string(page)) {
		level := slices.Index(levels, row.level)
		if level < 0 {
			t.Errorf("%q is no level", row.level)
		}
		if level > claimed {
			continue
		}
		if len(row.tests) == 0 {
			t.Errorf("%s is claimed, but %q names no test", row.level, row.criterion)
		}
		for _, test := range row.tests {
			if _, err := os.Stat(repo(test)); err != nil {
				t.Errorf("%s: the test of %q: %v", row.level, row.criterion, err)
			}
		}
	}
}
