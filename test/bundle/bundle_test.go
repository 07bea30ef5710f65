// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/operator-framework/api/pkg/manifests"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

const packageName = "acme-platform-operator"

// repo is a path in the repository.
func repo(elements ...string) string {
	return filepath.Join(append([]string{"..", ".."}, elements...)...)
}

// load reads the bundle as the validators want it.
func load(t *testing.T) *manifests.Bundle {
	t.Helper()
	b, err := manifests.GetBundleFromDir(repo("bundle"))
	if err != nil {
		t.Fatalf("reading the bundle: %v", err)
	}
	return b
}

// readObject reads a YAML file with one object; unknown fields are errors.
func readObject(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// decode reads one document of YAML.
func decode(t *testing.T, document string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(document), into); err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
}

func kindOf(t *testing.T, document string) string {
	t.Helper()
	var o unstructured.Unstructured
	decode(t, document, &o.Object)
	return o.GetKind()
}

// glob lists files, and fails when there are none.
func glob(t *testing.T, elements ...string) []string {
	t.Helper()
	files, err := filepath.Glob(repo(elements...))
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing is called %v: %v", elements, err)
	}
	return files
}

// crds are the generated CRDs.
func crds(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, file := range glob(t, "config", "crd", "bases", "*.yaml") {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		readObject(t, file, crd)
		all = append(all, crd)
	}
	return all
}

// samples are the objects in config/samples.
func samples(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, file := range glob(t, "config", "samples", "*.yaml") {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		sample := &unstructured.Unstructured{}
		readObject(t, file, &sample.Object)
		all = append(all, sample)
	}
	return all
}

// bundled are the bundle's objects of one kind.
func bundled[T any](t *testing.T, kind string) []*T {
	t.Helper()
	var all []*T
	for _, object := range load(t).Objects {
		if object.GetKind() != kind {
			continue
		}
		typed := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
			t.Fatal(err)
		}
		all = append(all, typed)
	}
	return all
}

// flat has one line for each thing that rules allow, so that rules can be compared however they are grouped.
func flat(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, r := range rules {
		names := r.ResourceNames
		if len(names) == 0 {
			names = []string{"*any*"}
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, name := range names {
					for _, verb := range r.Verbs {
						all = append(all, verb+" "+resource+"."+group+" "+name)
					}
				}
			}
		}
		for _, url := range r.NonResourceURLs {
			for _, verb := range r.Verbs {
				all = append(all, verb+" "+url)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// difference has what is in a only, and what is in b only.
func difference(a, b []string) (onlyA, onlyB []string) {
	for _, s := range a {
		if !slices.Contains(b, s) {
			onlyA = append(onlyA, s)
		}
	}
	for _, s := range b {
		if !slices.Contains(a, s) {
			onlyB = append(onlyB, s)
		}
	}
	return onlyA, onlyB
}
