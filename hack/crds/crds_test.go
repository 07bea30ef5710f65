// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/schematest"
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
		if s.XIntOrString && (strings.HasPrefix(s.Pattern, generatedQuantity) || s.Minimum == nil && !rules("type(self) == int")) {
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

// TestPatternsAreStricterThanTheParsers generates strings from the patterns.
func TestPatternsAreStricterThanTheParsers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	none := func(errs []string) error {
		if len(errs) == 0 {
			return nil
		}
		return errors.New(strings.Join(errs, "; "))
	}
	for _, tc := range []struct {
		pattern   string
		maxLength int
		parse     func(string) error
	}{
		{quantity, maxQuantity, func(s string) error { _, err := resource.ParseQuantity(s); return err }},
		{moment, maxMoment, func(s string) error {
			_, err := time.Parse(time.RFC3339, s)
			if err != nil && strings.HasSuffix(err.Error(), "day out of range") {
				return nil // the format date-time refuses that
			}
			return err
		}},
		{duration, 12, func(s string) error { _, err := time.ParseDuration(s); return err }},
		{label, maxLabel, func(s string) error { return none(validation.IsDNS1123Label(s)) }},
		{labelKey, 128, func(s string) error { return none(validation.IsQualifiedName(s)) }},
		{labelValue, maxLabel, func(s string) error { return none(validation.IsValidLabelValue(s)) }},
		{dataKey, maxSubdomain, func(s string) error {
			if s == "." || strings.HasPrefix(s, "..") {
				return nil // a name of a folder, which is rejected where it is used
			}
			return none(validation.IsConfigMapKey(s))
		}},
		{variable, 128, func(s string) error { return none(validation.IsRelaxedEnvVarName(s)) }},
	} {
		made := schematest.Strings(tc.pattern, tc.maxLength, 500, r)
		if len(made) < 5 {
			t.Errorf("%s makes only %q", tc.pattern, made)
		}
		for _, s := range made {
			if err := tc.parse(s); err != nil {
				t.Errorf("%q is of the pattern %s, but: %v", s, tc.pattern, err)
			}
		}
	}
}
