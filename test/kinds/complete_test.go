// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds checks without a cluster that every kind has all that docs/develop/add-a-kind.md asks for, and that nothing
// more is needed to add one.
package kinds

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/tenancy"
	"github.com/acme/platform-operator/internal/testenv"
)

// TestEveryResourceIsComplete looks at what every CustomResourceDefinition needs, with a controller or without.
func TestEveryResourceIsComplete(t *testing.T) {
	for _, crd := range definitions(t) {
		t.Run(crd.Spec.Names.Kind, func(t *testing.T) {
			n := crd.Spec.Names
			expect(t, len(n.ShortNames) > 0, "it has no short name")
			expect(t, slices.Contains(n.Categories, "acme"), "it is not in the category acme")
			for _, v := range crd.Spec.Versions {
				expect(t, slices.Contains(columns(v), "Age"), "it has no column Age")
				expect(t, v.Schema.OpenAPIV3Schema.Description != "", "it has no description")
				sample := fmt.Sprintf("config/samples/%s_%s_%s.yaml", group(crd), v.Name, n.Singular)
				objects, err := testenv.ReadObjects(testenv.RepoFile(sample))
				gvk := fmt.Sprintf("%s/%s, Kind=%s", crd.Spec.Group, v.Name, n.Kind)
				expect(t, err == nil && len(objects) == 1 && objects[0].GroupVersionKind().String() == gvk, "%s holds no sample: %v", sample, err)
				expect(t, inProject(t, group(crd), v.Name, n.Kind) != nil, "it is not in PROJECT")
			}
			page := "docs/kinds/" + n.Singular + ".md"
			_, err := os.Stat(testenv.RepoFile(page))
			expect(t, err == nil, "it has no page %s", page)
			expect(t, strings.Contains(read(t, "README.md"), "| ["+n.Kind+"]("+page+") |"), "README.md has no row about it")
		})
	}
}

// TestEveryKindIsComplete looks at what every row of the table of kinds needs.
func TestEveryKindIsComplete(t *testing.T) {
	for _, row := range operator.Kinds {
		gvk, err := apiutil.GVKForObject(row.Object, operator.Scheme())
		if err != nil {
			t.Fatal(err)
		}
		t.Run(gvk.Kind, func(t *testing.T) {
			crd, version := definition(t, gvk.Group, gvk.Kind, gvk.Version)
			expect(t, version.Subresources != nil && version.Subresources.Status != nil, "status is no subresource")
			expect(t, slices.Contains(columns(version), "Ready") && slices.Contains(columns(version), "Reason"), "it lacks the columns Ready and Reason")
			status := version.Schema.OpenAPIV3Schema.Properties["status"].Properties
			expect(t, len(status["conditions"].Type) > 0 && len(status["observedGeneration"].Type) > 0, "its status is not the common one")

			project := inProject(t, group(crd), gvk.Version, gvk.Kind)
			expect(t, project != nil && project.Controller, "PROJECT knows of no controller")
			expect(t, project != nil && (project.Webhooks != nil) == (row.Webhook != nil), "PROJECT and the table differ about webhooks")

			page := read(t, "docs/kinds/"+crd.Spec.Names.Singular+".md")
			expect(t, len(row.Conditions) > 0, "the table names no conditions")
			for _, condition := range append([]string{engine.Ready, engine.Stalled, engine.Paused}, row.Conditions...) {
				expect(t, explains(page, condition), "the page has no row on the condition %s", condition)
			}
			expect(t, slices.Contains(sections(), lowerFirst(gvk.Kind)), "the configuration has no section %s", lowerFirst(gvk.Kind))
			if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
				expect(t, adminMayWrite(crd), "administrators of namespaces cannot use it: see internal/tenancy/offers.go")
			}
		})
	}
}

func expect(t *testing.T, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Errorf(format, args...)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(testenv.RepoFile(file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// definitions reads the generated CustomResourceDefinitions.
func definitions(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(testenv.RepoFile("config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no CRDs: %v", err)
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		text, err := os.ReadFile(file)
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err == nil {
			err = yaml.UnmarshalStrict(text, crd)
		}
		if err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		all = append(all, crd)
	}
	return all
}

// definition finds the CustomResourceDefinition of a kind, and one of its versions.
func definition(t *testing.T, group, kind, version string) (*apiextensionsv1.CustomResourceDefinition, apiextensionsv1.CustomResourceDefinitionVersion) {
	t.Helper()
	for _, crd := range definitions(t) {
		for _, v := range crd.Spec.Versions {
			if crd.Spec.Group == group && crd.Spec.Names.Kind == kind && v.Name == version {
				return crd, v
			}
		}
	}
	t.Fatalf("there is no CRD of %s %s %s: run make manifests", group, version, kind)
	return nil, apiextensionsv1.CustomResourceDefinitionVersion{}
}

// group is the first word of the API group of a resource, which names its files.
func group(crd *apiextensionsv1.CustomResourceDefinition) string {
	first, _, _ := strings.Cut(crd.Spec.Group, ".")
	return first
}

func columns(v apiextensionsv1.CustomResourceDefinitionVersion) []string {
	var all []string
	for _, c := range v.AdditionalPrinterColumns {
		all = append(all, c.Name)
	}
	return all
}

// projectResource is what operator-sdk's file PROJECT holds about a kind.
type projectResource struct {
	API                  *struct{}
	Controller           bool
	Group, Version, Kind string
	Webhooks             *struct{}
}

func inProject(t *testing.T, group, version, kind string) *projectResource {
	t.Helper()
	var project struct{ Resources []projectResource }
	if err := yaml.Unmarshal([]byte(read(t, "PROJECT")), &project); err != nil {
		t.Fatal(err)
	}
	for _, r := range project.Resources {
		if r.Group == group && r.Version == version && r.Kind == kind && r.API != nil {
			return &r
		}
	}
	return nil
}

// explains reports whether a page has a row of a table about a condition.
func explains(page, condition string) bool {
	return regexp.MustCompile(`(?m)^\|[^|]*\b` + condition + `\b[^|]*\|`).MatchString(page)
}

// sections are the names of the sections of the configuration.
func sections() []string {
	var all []string
	for f := range reflect.TypeFor[configv1alpha1.PlatformOperatorConfig]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, name)
	}
	return all
}

func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }

func adminMayWrite(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(tenancy.AdminRules(), func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, crd.Spec.Group) && slices.Contains(r.Resources, crd.Spec.Names.Plural) &&
			slices.Contains(r.Verbs, "create") && slices.Contains(r.Verbs, "delete") && slices.Contains(r.Verbs, "patch")
	})
}
