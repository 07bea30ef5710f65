// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crds tightens the generated CustomResourceDefinitions: every string, list and map gets a bound, and every string
// that a parser reads gets a pattern that is stricter than the parser (docs/adr/0027-no-poison.md).
//
// It also joins the lines of each paragraph of the descriptions, which are wrapped where comments are, and writes what follows
// from the definitions: the roles for people in config/rbac, and the lists of definitions, samples and roles for kustomize.
//
// Markers in the types cannot set bounds for the types of Kubernetes that they embed, and can be forgotten; this sees every
// field of every kind.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func main() {
	folder := flag.String("folder", "", "folder of the CustomResourceDefinitions, which are changed in place")
	config := flag.String("config", "", "folder of the manifests, in which roles and lists are written")
	flag.Parse()
	if *folder == "" || *config == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*folder, *config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder, config string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if text, err = tighten(text); err != nil {
			return fmt.Errorf("tightening %s: %w", f, err)
		}
		if err := os.WriteFile(f, append([]byte("---\n"), text...), 0o600); err != nil {
			return err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, crd); err != nil {
			return err
		}
		crds = append(crds, crd)
	}
	return writeConfig(config, crds)
}

// tighten gives a definition with bounds, and descriptions without breaks in paragraphs, in the schema of each of its versions.
// All else stays as it was written.
func tighten(text []byte) ([]byte, error) {
	crd := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, err
	}
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	if err != nil {
		return nil, err
	}
	for _, v := range versions {
		version := v.(map[string]any)
		generic, _, err := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		if err != nil {
			return nil, err
		}
		schema := &apiextensionsv1.JSONSchemaProps{}
		if err := convert(generic, schema); err != nil {
			return nil, err
		}
		boundObject(schema)
		unwrap(schema)
		if err := convert(schema, &generic); err != nil {
			return nil, err
		}
		version["schema"] = map[string]any{"openAPIV3Schema": generic}
	}
	if err := unstructured.SetNestedSlice(crd, versions, "spec", "versions"); err != nil {
		return nil, err
	}
	return yaml.Marshal(crd)
}

// convert brings a schema from one form into another.
func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}
