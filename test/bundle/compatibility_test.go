// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
)

// additions is how OLM v1 judges the change of a CRD before it upgrades: whatever could make an object invalid
// that was valid, or lose a field, is an error, and so is what it cannot judge, such as a changed CEL rule.
// Descriptions may change, and a list of values may get longer.
var additions = &config.Config{
	Conversion:           config.ConversionPolicyIgnore,
	UnhandledEnforcement: config.EnforcementPolicyError,
	Validations: []config.ValidationConfig{
		{Name: "description", Enforcement: config.EnforcementPolicyNone},
		{Name: "enum", Enforcement: config.EnforcementPolicyError, Configuration: map[string]any{"additionPolicy": "Allow"}},
	},
}

// incompatible says what is wrong with the step from one CRD to another; nothing if it is an addition.
func incompatible(t *testing.T, from, to *apiextensionsv1.CustomResourceDefinition) string {
	t.Helper()
	r, err := runner.New(additions, runner.DefaultRegistry())
	if err != nil {
		t.Fatal(err)
	}
	results := r.Run(from, to)
	if !results.HasFailures() {
		return ""
	}
	return results.RenderPlainText()
}

// TestAdditionsOnly compares the CRDs with those of the last release, which `make release` puts into testdata. A kind
// that is not there was never released: it is an addition, and may change in any way until it is.
func TestAdditionsOnly(t *testing.T) {
	current := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range crds(t) {
		current[crd.Name] = crd
	}
	for _, file := range glob(t, "test", "bundle", "testdata", "released", "*.acme.com_*.yaml") {
		released := &apiextensionsv1.CustomResourceDefinition{}
		readObject(t, file, released)
		crd, found := current[released.Name]
		if !found {
			t.Errorf("%s was released, and is gone", filepath.Base(file))
			continue
		}
		if problem := incompatible(t, released, crd); problem != "" {
			t.Errorf("%s is no longer compatible with its last release (see docs/develop/release.md):\n%s", crd.Name, problem)
		}
	}
}

// TestIncompatible shows that the check above lets an addition pass and nothing else.
func TestIncompatible(t *testing.T) {
	var first *apiextensionsv1.CustomResourceDefinition
	for _, crd := range crds(t) {
		if crd.Spec.Names.Kind == "AcmeNamespace" { // the fields below are its
			first = crd
		}
	}
	if first == nil {
		t.Fatal("there is no AcmeNamespace")
	}
	for reason, row := range map[string]struct {
		change func(spec *apiextensionsv1.JSONSchemaProps)
		fine   bool
	}{
		"nothing":      {func(*apiextensionsv1.JSONSchemaProps) {}, true},
		"another text": {func(s *apiextensionsv1.JSONSchemaProps) { s.Description = "Other words." }, true},
		"optional field": {func(s *apiextensionsv1.JSONSchemaProps) {
			s.Properties["added"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}, true},
		"required field": {func(s *apiextensionsv1.JSONSchemaProps) {
			s.Properties["added"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			s.Required = append(s.Required, "added")
		}, false},
		"removed field": {func(s *apiextensionsv1.JSONSchemaProps) { delete(s.Properties, "adopt") }, false},
		"other type": {func(s *apiextensionsv1.JSONSchemaProps) {
			s.Properties["adopt"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}, false},
		"another rule": {func(s *apiextensionsv1.JSONSchemaProps) {
			s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: "self.adopt"})
		}, false},
	} {
		changed := first.DeepCopy()
		schema := changed.Spec.Versions[0].Schema.OpenAPIV3Schema
		spec := schema.Properties["spec"]
		row.change(&spec)
		schema.Properties["spec"] = spec
		if problem := strings.TrimSpace(incompatible(t, first, changed)); (problem == "") != row.fine {
			t.Errorf("%s: fine is %v, got %q", reason, row.fine, problem)
		}
	}
}

// released are the webhooks of the last release, which `make release` puts into testdata: type and path by name.
func released(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(repo("test", "bundle", "testdata", "released", "webhooks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for document := range strings.SplitSeq(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
		var configuration admissionregistrationv1.ValidatingWebhookConfiguration // the other kind has the same fields, of those used
		decode(t, document, &configuration)
		for _, w := range configuration.Webhooks {
			found[w.Name] = strings.TrimSuffix(configuration.Kind, "WebhookConfiguration") + " " + *w.ClientConfig.Service.Path
		}
	}
	return found
}

// moved are the released webhooks that are gone, or are of another type or at another path.
func moved(released, current map[string]string) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(released)) {
		if current[name] != released[name] {
			problems = append(problems, name+" was "+released[name]+" and is "+current[name])
		}
	}
	return problems
}

// TestWebhooksStayWhereTheyAre compares the webhooks with those of the last release. During an upgrade the
// configurations of both versions ask the pods of both: who is asked for a path that it does not know is no check.
func TestWebhooksStayWhereTheyAre(t *testing.T) {
	current := map[string]string{}
	for _, w := range load(t).CSV.Spec.WebhookDefinitions {
		current[w.GenerateName] = strings.TrimSuffix(string(w.Type), "AdmissionWebhook") + " " + *w.WebhookPath
	}
	before := released(t)
	if len(before) == 0 {
		t.Fatal("nothing was released")
	}
	for _, problem := range moved(before, current) {
		t.Error(problem)
	}
}

// TestMoved shows that the check above lets an addition pass and nothing else.
func TestMoved(t *testing.T) {
	before := map[string]string{"a": "Validating /a", "b": "Mutating /b"}
	for reason, row := range map[string]struct {
		current map[string]string
		fine    bool
	}{
		"nothing":      {before, true},
		"one more":     {map[string]string{"a": "Validating /a", "b": "Mutating /b", "c": "Validating /c"}, true},
		"another path": {map[string]string{"a": "Validating /a", "b": "Mutating /c"}, false},
		"another type": {map[string]string{"a": "Validating /a", "b": "Validating /b"}, false},
		"another name": {map[string]string{"a": "Validating /a", "c": "Mutating /b"}, false},
	} {
		if problems := moved(before, row.current); (len(problems) == 0) != row.fine {
			t.Errorf("%s: fine is %v, got %q", reason, row.fine, problems)
		}
	}
}
