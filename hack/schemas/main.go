// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command schemas makes JSON schemas for editors and for kubeconform from CustomResourceDefinitions.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	crds := flag.String("crds", "config/crd/bases", "folder with CustomResourceDefinitions")
	to := flag.String("to", "docs/schemas", "folder for the schemas; what else is in its folders is deleted")
	flag.Parse()
	if err := write(*crds, *to); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

// write replaces the folders of API groups in a folder. Other files in it stay.
func write(crds, to string) error {
	files, err := generate(crds)
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(to, "*", "*.json"))
	if err != nil {
		return err
	}
	for _, file := range old {
		err = errors.Join(err, os.Remove(file))
	}
	for name, text := range files {
		file := filepath.Join(to, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644))
	}
	return err
}

// generate makes a schema of each version of each kind. The names are those that kubeconform's template
// "{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json" gives.
func generate(folder string) (map[string][]byte, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(fmt.Errorf("%s holds no CustomResourceDefinitions", folder), err)
	}
	schemas := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err == nil {
			err = yaml.UnmarshalStrict(text, crd)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		for _, v := range crd.Spec.Versions {
			name := fmt.Sprintf("%s/%s_%s.json", crd.Spec.Group, strings.ToLower(crd.Spec.Names.Kind), v.Name)
			if schemas[name], err = schemaOf(crd, v); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return schemas, nil
}

// schemaOf makes the schema of one version of a kind.
func schemaOf(crd *apiextensionsv1.CustomResourceDefinition, v apiextensionsv1.CustomResourceDefinitionVersion) ([]byte, error) {
	text, err := json.Marshal(v.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	convert(schema)
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = crd.Spec.Names.Kind
	schema["required"] = []string{"apiVersion", "kind", "metadata"}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return nil, errors.New("the schema has no properties")
	}
	properties["apiVersion"] = only(crd.Spec.Group+"/"+v.Name, "version of the API")
	properties["kind"] = only(crd.Spec.Names.Kind, "kind of the object")
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err = e.Encode(schema)
	return out.Bytes(), err
}

func only(value, description string) map[string]any {
	return map[string]any{"type": "string", "enum": []string{value}, "description": description}
}

// convert turns a structural schema of Kubernetes, and all that it contains, into JSON schema: extensions go, null is a
// type, and unknown fields are errors where the API server would drop them.
func convert(s map[string]any) {
	open := s["x-kubernetes-preserve-unknown-fields"] == true || s["x-kubernetes-embedded-resource"] == true
	for key := range s {
		if strings.HasPrefix(key, "x-kubernetes-") {
			delete(s, key)
		}
	}
	if s["nullable"] == true {
		s["type"] = []any{s["type"], "null"}
	}
	delete(s, "nullable")
	properties, _ := s["properties"].(map[string]any)
	for _, p := range properties {
		convertAny(p)
	}
	if _, stated := s["additionalProperties"]; properties != nil && !stated && !open {
		s["additionalProperties"] = false
	}
	convertAny(s["items"])
	convertAny(s["additionalProperties"])
}

func convertAny(s any) {
	if schema, ok := s.(map[string]any); ok {
		convert(schema)
	}
}
