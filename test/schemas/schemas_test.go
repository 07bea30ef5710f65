// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schemas holds the rules of every type against a real API server, which has the generated CustomResourceDefinitions and
// nothing else. A file per kind has a row for each rule.
package schemas

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/schematest"
)

func TestMain(m *testing.M) {
	os.Exit(schematest.Main(m))
}

// sample is one of config/samples, in the namespace default.
func sample(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(testenv.RepoFile("config", "samples", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	u := schematest.Parse(t, string(text))
	u.SetNamespace("default")
	return u
}

// create creates an object in a dry run, and gives the causes of the refusal.
func create(t *testing.T, u *unstructured.Unstructured) []string {
	t.Helper()
	text, err := u.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return schematest.Create(t, string(text))
}

// defaulted is an object with its defaults, after a dry run.
func defaulted(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := schematest.Parse(t, text)
	if err := schematest.Admin.Create(t.Context(), u, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	return u
}

// store creates an object until the test ends, since all tests share one API server.
func store(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	if err := schematest.Admin.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := schematest.Admin.Delete(context.WithoutCancel(t.Context()), u); err != nil {
			t.Error(err)
		}
	})
}

// changed gives a field of the spec of a stored object another value, or removes it with nil, and gives the causes of the refusal.
func changed(t *testing.T, u *unstructured.Unstructured, path string, value any) []string {
	t.Helper()
	v := u.DeepCopy()
	fields := append([]string{"spec"}, strings.Split(path, ".")...)
	if value == nil {
		unstructured.RemoveNestedField(v.Object, fields...)
	} else if err := unstructured.SetNestedField(v.Object, value, fields...); err != nil {
		t.Fatal(err)
	}
	return schematest.Causes(t, schematest.Admin.Update(t.Context(), v, client.DryRunAll))
}

// list has n elements that a format makes from a number.
func list(format string, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(format, i))
	}
	return strings.Join(all, ", ")
}
