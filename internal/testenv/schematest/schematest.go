// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schematest asks a real API server what it thinks of objects: for tests of the rules in the types.
package schematest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/testenv"
)

// Admin talks to an API server that has the generated CustomResourceDefinitions and nothing else: no
// webhook, no operator.
var Admin client.Client

// Main runs the tests of a package with such an API server, and gives the exit code. All tests share it, so that one that creates
// an object outside of a dry run has to delete it.
func Main(m *testing.M) int {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func run(m *testing.M) (code int, err error) {
	plane, err := testenv.Start(testenv.Options{CRDs: []string{testenv.RepoFile("config", "crd", "bases")}})
	if err != nil {
		return 0, err
	}
	defer func() {
		if stopErr := plane.Stop(); err == nil {
			err = stopErr
		}
	}()
	if Admin, err = client.New(plane.Config, client.Options{}); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// Parse reads one object as a user would write it.
func Parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &u.Object); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return u
}

// Create creates an object in a dry run, and gives the messages of the refusal: one for each cause.
func Create(t *testing.T, text string) []string {
	t.Helper()
	return Causes(t, Admin.Create(t.Context(), Parse(t, text), client.DryRunAll, client.FieldValidation("Strict")))
}

// Causes are the field and message of everything that the API server found wrong.
func Causes(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
		t.Fatalf("not refused by the schema: %v", err)
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return []string{err.Error()}
	}
	var all []string
	for _, c := range status.Status().Details.Causes {
		// CEL is not run when the schema itself is not met; the API server says so, beside the mistake.
		if !strings.Contains(c.Message, "some validation rules were not checked because the object was invalid") {
			all = append(all, c.Field+": "+c.Message)
		}
	}
	slices.Sort(all)
	return all
}

// WantCauses wants exactly these causes, in any order.
func WantCauses(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("causes, -want +got:\n%s", diff)
	}
}

// WantRefused wants every message, under one field, and no other field.
func WantRefused(t *testing.T, got []string, field string, messages ...string) {
	t.Helper()
	for _, g := range got {
		if !strings.HasPrefix(g, field+": ") {
			t.Errorf("another field is rejected: %s", g)
		}
	}
	for _, m := range messages {
		if !strings.Contains(strings.Join(got, "\n"), m) {
			t.Errorf("refused with %q, want %q", got, m)
		}
	}
	if len(got) != len(messages) {
		t.Errorf("refused with %d messages %q, want %d", len(got), got, len(messages))
	}
}
