// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// TestSchemasAreUpToDate wants the committed schemas to be those of the CRDs, no more and no fewer.
func TestSchemasAreUpToDate(t *testing.T) {
	want, err := generate(filepath.Join(root, "config", "crd", "bases"))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(root, "docs", "schemas")
	files, err := filepath.Glob(filepath.Join(folder, "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(want) {
		t.Errorf("%d schemas are committed, there are %d kinds: run make docs", len(files), len(want))
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if diff := cmp.Diff(string(text), string(got)); err != nil || diff != "" {
			t.Errorf("%s is not up to date, run make docs: %v\n%s", name, err, diff)
		}
	}
}

// TestWriteDeletesSchemasOfFormerKinds keeps pages beside the schemas, and no schema of a kind that is gone.
func TestWriteDeletesSchemasOfFormerKinds(t *testing.T) {
	to := t.TempDir()
	former, page := filepath.Join(to, "old.acme.com", "robot_v1.json"), filepath.Join(to, "README.md")
	if err := os.Mkdir(filepath.Dir(former), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{former, page} {
		if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(filepath.Join(root, "config", "crd", "bases"), to); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(former); !os.IsNotExist(err) {
		t.Errorf("the schema of a former kind: %v", err)
	}
	if _, err := os.Stat(page); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(to, "batch.acme.com", "crontab_v1alpha1.json")); err != nil {
		t.Error(err)
	}
}

// TestSamplesAreValid validates the samples and the examples of README.md as kubeconform and editors do.
func TestSamplesAreValid(t *testing.T) {
	samples, err := filepath.Glob(filepath.Join(root, "config", "samples", "*_*.yaml"))
	if err != nil || len(samples) == 0 {
		t.Fatalf("there are no samples: %v", err)
	}
	for _, file := range samples {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if err := validate(t, object(t, read(t, file))); err != nil {
				t.Error(err)
			}
		})
	}
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(read(t, filepath.Join(root, "README.md")), -1)
	if len(blocks) < 8 {
		t.Fatalf("README.md has %d examples: the search for them is broken", len(blocks))
	}
	for _, block := range blocks {
		if err := validate(t, object(t, block[1])); err != nil {
			t.Errorf("%v in:\n%s", err, block[1])
		}
	}
}

// TestSchemasFindMistakes shows what the schemas find: each case is a sample with one change.
func TestSchemasFindMistakes(t *testing.T) {
	sample := read(t, filepath.Join(root, "config", "samples", "batch_v1alpha1_crontab.yaml"))
	for name, c := range map[string]struct{ old, changed, want string }{
		"an unknown field":  {"timeZone:", "timezone:", "additional properties 'timezone' not allowed"},
		"a wrong type":      {"image: registry", "replicas: many\n  image: registry", "got string, want integer"},
		"another version":   {"com/v1alpha1", "com/v1", "value must be 'batch.acme.com/v1alpha1'"},
		"a missing field":   {"  image: registry.acme.com/report:v1\n", "", "missing property 'image'"},
		"a wrong value":     {"activeDeadline: 2h", "activeDeadline: soon", "does not match pattern"},
		"an unknown choice": {"activeDeadline: 2h", "concurrencyPolicy: Never", "value must be one of"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(sample, c.old, c.changed, 1)
			if text == sample {
				t.Fatalf("the sample has no %q", c.old)
			}
			o := map[string]any{}
			if err := yaml.Unmarshal([]byte(text), &o); err != nil {
				t.Fatal(err)
			}
			err := compile(t, "batch.acme.com/crontab_v1alpha1.json").Validate(o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// validate checks an object against the committed schema of its kind.
func validate(t *testing.T, o *unstructured.Unstructured) error {
	t.Helper()
	gvk := o.GroupVersionKind()
	return compile(t, fmt.Sprintf("%s/%s_%s.json", gvk.Group, strings.ToLower(gvk.Kind), gvk.Version)).Validate(o.Object)
}

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(root, "docs", "schemas", name))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
