// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// What kubectl explain prints is the description of each field.
func TestEveryFieldIsExplained(t *testing.T) {
	files, err := filepath.Glob("../../../config/crd/bases/tenancy.acme.com_*.yaml")
	if err != nil || len(files) != 2 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			t.Fatal(err)
		}
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		if len(schema.Description) < 80 {
			t.Errorf("%s says little of itself: %q", crd.Spec.Names.Kind, schema.Description)
		}
		delete(schema.Properties, "metadata") // Kubernetes' own, explained by kubectl
		explained(t, crd.Spec.Names.Kind, schema)
		if crd.Spec.Names.Categories[0] != "acme" || len(crd.Spec.Names.ShortNames) != 1 {
			t.Errorf("%s has the categories %v and the short names %v", crd.Name, crd.Spec.Names.Categories, crd.Spec.Names.ShortNames)
		}
	}
}

func explained(t *testing.T, path string, schema *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for name, property := range schema.Properties {
		if property.Description == "" {
			t.Errorf("%s.%s is not explained", path, name)
		}
		explained(t, path+"."+name, &property)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		explained(t, path+"[]", schema.Items.Schema)
	}
}
