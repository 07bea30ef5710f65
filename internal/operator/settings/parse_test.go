// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
)

const header = "apiVersion: config.acme.com/v1alpha1\nkind: PlatformOperatorConfig\n"

func TestParseWithoutContentIsAllDefaults(t *testing.T) {
	want := &configv1alpha1.PlatformOperatorConfig{}
	configv1alpha1.Default(want)
	for _, text := range []string{"", "\n", "# nothing but a comment\n", "---\n", "null", header, "---\n" + header, header + "manager:\n"} {
		got, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// Each file sets every field it can, so that nothing is defaulted: what is read and written again must
// be what was in the file.
func TestParseReadsEveryField(t *testing.T) {
	for _, file := range []string{"testdata/ldap.yaml", "testdata/scim.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		config, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		written, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := yaml.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-in the file +read and written again):\n%s", file, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	const needsDuration = "must be a duration with its unit, such as 10s or 5m"
	for _, c := range []struct{ reason, text, want string }{
		{"unknown field", header + "acmeNamespace: {identity: {tpye: LDAP}}", `unknown field "acmeNamespace.identity.tpye"`},
		{"several unknown fields", header + "a: 1\nmanager: {b: 2}", `[unknown field "a", unknown field "manager.b"]`},
		{"field in the wrong case", header + "acmenamespace: {}", `unknown field "acmenamespace"`},
		{
			"duplicate key", header + "acmeNamespace:\n  identity:\n    type: None\n    type: LDAP\n",
			"yaml: unmarshal errors:\n  line 6: mapping key \"type\" already defined at line 5",
		},
		{
			"no type", "manager: {}",
			`[apiVersion: Required value: must be "config.acme.com/v1alpha1", kind: Required value: must be "PlatformOperatorConfig"]`,
		},
		{
			"wrong kind", "apiVersion: config.acme.com/v1alpha1\nkind: ConfigMap",
			`kind: Unsupported value: "ConfigMap": supported values: "PlatformOperatorConfig"`,
		},
		{
			"wrong version, whose fields are not judged", "apiVersion: config.acme.com/v2\nkind: PlatformOperatorConfig\nnew: 1",
			`apiVersion: Unsupported value: "config.acme.com/v2": supported values: "config.acme.com/v1alpha1"`,
		},
		{"kind that is no text", "apiVersion: config.acme.com/v1alpha1\nkind: 4", `kind: found number, must be text`},
		{"list", "- 1", `the document: found array, must be a block of fields`},
		{"text for a block", header + "manager: fast", `manager: found string, must be a block of fields`},
		{
			"text for a number", header + "acmeNamespace: {maxConcurrentReconciles: ten}",
			`acmeNamespace.maxConcurrentReconciles: found string, must be a whole number that fits 32 bits`,
		},
		{
			"number too large", header + "acmeNamespace: {maxConcurrentReconciles: 5000000000}",
			`acmeNamespace.maxConcurrentReconciles: found number 5000000000, must be a whole number that fits 32 bits`,
		},
		{
			"text for a boolean", header + "acmeNamespace: {identity: {ldap: {startTLS: please}}}",
			`acmeNamespace.identity.ldap.startTLS: found string, must be true or false`,
		},
		{"text for a list", header + "acmeNamespace: {protectedNames: team}", `acmeNamespace.protectedNames: found string, must be a list`},
		{"duration without a unit", header + "acmeNamespace: {identity: {timeout: 3}}", `acmeNamespace.identity.timeout: found 3, ` + needsDuration},
		{
			"duration in words", header + "acmeNamespace: {billing: {cloudEvents: {timeout: 3 seconds}}}",
			`acmeNamespace.billing.cloudEvents.timeout: found "3 seconds", ` + needsDuration,
		},
		{
			"explicit zero is not the default", header + "acmeNamespace: {maxConcurrentReconciles: 0}",
			`acmeNamespace.maxConcurrentReconciles: Invalid value: 0: must be between 1 and 100`,
		},
		{
			"negative duration", header + "manager: {cacheSyncTimeout: -1s}",
			`manager.cacheSyncTimeout: Invalid value: "-1s": must be more than 0s`,
		},
		{"second document", header + "---\nkind: Other", `yaml: line 3: a second document; the configuration is one document`},
		{"not YAML", "a: [", `yaml: line 1: did not find expected node content`},
		{"second document that is not YAML", header + "---\na: [", `yaml: line 4: did not find expected node content`},
		{
			"key that is a number", header + "1: 2",
			`yaml: keys must be text, and numbers finite: json: unsupported type: map[interface {}]interface {}`,
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			config, err := Parse([]byte(c.text))
			if err == nil {
				t.Fatalf("no error, but %+v", config)
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzParse looks for a text that makes Parse panic, or that it accepts but would not accept again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", header, header + "acmeNamespace: {identity: {timeout: 3}}", "a: &a [*a]", "- 1", "<<: 1", "? []"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := Parse(text)
		if err != nil {
			return
		}
		written, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(written)
		if err != nil {
			t.Fatalf("%q was accepted and written as %s, which is rejected: %v", text, written, err)
		}
		if diff := cmp.Diff(config, again); diff != "" {
			t.Fatalf("%q (-first +read again):\n%s", text, diff)
		}
	})
}
