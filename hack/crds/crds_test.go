/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/testenv"
)

// prose are the strings of specs that no parser reads, so that a length is enough.
var prose = []string{".env[].value", ".command[]", ".args[]", ".annotations{}"}

// definitions are the generated CustomResourceDefinitions, by file.
func definitions(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(testenv.RepoFile("config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %v, %v", files, err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(f)] = text
	}
	return all
}

// TestEverythingIsBounded walks every field of every kind.
func TestEverythingIsBounded(t *testing.T) {
	for file, text := range definitions(t) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			for name, p := range v.Schema.OpenAPIV3Schema.Properties {
				if !isMeta(name) {
					wantBounds(t, file, "."+name, &p, false)
				}
			}
		}
	}
}

// wantBounds wants bounds. A map or a list may have a rule that says what its values are.
func wantBounds(t *testing.T, file, path string, s *apiextensionsv1.JSONSchemaProps, ruled bool) {
	t.Helper()
	rules := func(mention string) bool {
		return slices.ContainsFunc(s.XValidations, func(r apiextensionsv1.ValidationRule) bool { return strings.Contains(r.Rule, mention) })
	}
	free := isStatus(path) && s.Format == "" || slices.ContainsFunc(prose, func(p string) bool { return strings.HasSuffix(path, p) })
	switch {
	case s.XIntOrString || s.Type == "string" && len(s.Enum) == 0:
		if s.MaxLength == nil {
			t.Errorf("%s: %s has no length", file, path)
		}
		if s.Pattern == "" && !free && !ruled && len(s.XValidations) == 0 {
			t.Errorf("%s: %s has no pattern", file, path)
		}
		if s.XIntOrString && (strings.HasPrefix(s.Pattern, generatedQuantity) || s.Minimum == nil) {
			t.Errorf("%s: %s may be any quantity", file, path)
		}
	case s.Type == "array":
		if s.MaxItems == nil {
			t.Errorf("%s: %s may have any number of elements", file, path)
		}
		wantBounds(t, file, path+"[]", s.Items.Schema, rules("self.all("))
	case s.AdditionalProperties != nil:
		if s.MaxProperties == nil {
			t.Errorf("%s: %s may have any number of keys", file, path)
		}
		if !isStatus(path) && !rules("self.all(k, ") {
			t.Errorf("%s: %s may have any keys", file, path)
		}
		wantBounds(t, file, path+"{}", s.AdditionalProperties.Schema, rules("self[k]"))
	}
	for name, p := range s.Properties {
		wantBounds(t, file, path+"."+name, &p, false)
	}
}

// TestTightenTwice wants a bound that is set to be left alone.
func TestTightenTwice(t *testing.T) {
	for file, text := range definitions(t) {
		again, err := tighten(text)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(append([]byte("---\n"), again...), text) {
			t.Errorf("%s changes when it is tightened again", file)
		}
	}
}
