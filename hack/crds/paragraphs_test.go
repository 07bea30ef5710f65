// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func TestJoinParagraphs(t *testing.T) {
	for _, tc := range []struct{ reason, text, want string }{
		{"one line", "a b.", "a b."},
		{"nothing", "", ""},
		{"a paragraph is one line", "a\nb\n  c.", "a b c."},
		{"paragraphs stay apart", "a\nb.\n\nc\nd.", "a b.\n\nc d."},
		{"each item of a list has a line", "One of:\n- a\n  b\n- c\nd\n* e", "One of:\n- a b\n- c d\n* e"},
		{"so has a numbered one", "Do:\n\n1. a\n   b\n2. c\n\nThen\ne.", "Do:\n\n1. a b\n2. c\n\nThen e."},
		{"nested items", "- a\n    - b\n      c", "- a\n    - b c"},
		{"a number at the start of a line is no item", "at most\n10. Default\n5.", "at most 10. Default 5."},
		{"a dash in a word is no item", "a\n-b", "a -b"},
		{"indented code keeps its lines", "For instance:\n\n    a: 1\n      b: 2\n\nand\nc.", "For instance:\n\n    a: 1\n      b: 2\n\nand c."},
		{"code by tabs", "For instance:\n\ta\n\tb\nand\nc", "For instance:\n\ta\n\tb\nand c"},
		{"fenced code keeps its lines", "a\n```\nb\n- c\n\nd\n```\ne\nf", "a\n```\nb\n- c\n\nd\n```\ne f"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got := joinParagraphs(tc.text)
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if again := joinParagraphs(got); again != got {
				t.Errorf("%q becomes %q when it is joined again", got, again)
			}
		})
	}
}

// TestDescriptionsAreOneLineAParagraph reads what is installed: a break within a paragraph would show in kubectl explain.
func TestDescriptionsAreOneLineAParagraph(t *testing.T) {
	for file, text := range definitions(t) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			wantOneLineAParagraph(t, file, v.Schema.OpenAPIV3Schema)
		}
	}
}

func wantOneLineAParagraph(t *testing.T, path string, s *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for paragraph := range strings.SplitSeq(s.Description, "\n\n") {
		for i, line := range strings.Split(paragraph, "\n") {
			if i > 0 && !bulleted.MatchString(strings.TrimSpace(line)) && !indented.MatchString(line) {
				t.Errorf("%s: the description breaks before %q", path, line)
			}
		}
	}
	for name, p := range s.Properties {
		wantOneLineAParagraph(t, path+"."+name, &p)
	}
	if s.Items != nil {
		wantOneLineAParagraph(t, path+"[]", s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		wantOneLineAParagraph(t, path+"{}", s.AdditionalProperties.Schema)
	}
}
