// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/config/policy"
)

// references are the fields that name what holds secrets, with the policy that asks for the author's rights whenever one changes, and
// what that compares. Those without a policy are read by the author's own pods, and not by the operator.
var references = map[string]struct{ policy, compares string }{
	"Database spec.passwordSecretRef":               {"database_rights.yaml", "object.spec.?passwordSecretRef == oldObject.spec.?passwordSecretRef"},
	"RebootPolicy spec.source.credentialsSecretRef": {"restart_rights.yaml", "object.spec != oldObject.spec"},
	"RebootPolicy spec.source.databaseRef":          {"restart_rights.yaml", "object.spec != oldObject.spec"},
	"RebootPolicy spec.source.tls.caSecretRef":      {"restart_rights.yaml", "object.spec != oldObject.spec"},
	"WebApp spec.databaseSecretRef":                 {},
}

// TestReferences: rights are asked for when any member of a reference changes. Another key of a Secret is another secret.
func TestReferences(t *testing.T) {
	found := map[string]bool{}
	files, err := filepath.Glob("../crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no CustomResourceDefinitions:", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			walk(crd.Spec.Names.Kind+" spec", v.Schema.OpenAPIV3Schema.Properties["spec"], func(path string) { found[path] = true })
		}
	}
	for path := range found {
		want, known := references[path]
		if !known {
			t.Errorf("%s names a Secret: let a policy ask whether its author may read that, compare the whole reference, and add it here", path)
		}
		if want.policy == "" {
			continue
		}
		text, err := policy.All.ReadFile(want.policy)
		if err != nil {
			t.Fatal(err)
		}
		last := path[strings.LastIndex(path, ".")+1:]
		part := regexp.MustCompile(`oldObject\.spec[.?\w]*` + last + `\.`)
		if !strings.Contains(policy.OneLine(string(text)), want.compares) || part.Match(text) {
			t.Errorf("%s: %s does not compare the whole of it: %s", path, want.policy, want.compares)
		}
	}
	for path := range references {
		if !found[path] {
			t.Errorf("%s does not exist", path)
		}
	}
}

// walk calls do with the path of every reference to a Secret, or to a Database, which stands for its connection Secret.
func walk(path string, s apiextensionsv1.JSONSchemaProps, do func(path string)) {
	for name, p := range s.Properties {
		if _, named := p.Properties["name"]; named && (strings.HasSuffix(name, "SecretRef") || name == "databaseRef") {
			do(path + "." + name)
		}
		walk(path+"."+name, p, do)
	}
	if s.Items != nil && s.Items.Schema != nil {
		walk(path+"[]", *s.Items.Schema, do)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		walk(path+"{}", *s.AdditionalProperties.Schema, do)
	}
}
