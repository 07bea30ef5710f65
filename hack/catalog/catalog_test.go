// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const emptyTemplate = `schema: olm.template.basic
entries:
- {schema: olm.package, name: acme-platform-operator, defaultChannel: stable}
- {schema: olm.channel, package: acme-platform-operator, name: stable, entries: []}
- {schema: olm.channel, package: acme-platform-operator, name: candidate, entries: []}
`

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func image(version string) string { return "registry.acme.com/bundle:v" + version }

// entries are what a template lists in a channel.
func entries(t *testing.T, file, name string) []channelEntry {
	t.Helper()
	read, err := readTemplate(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range read.Entries {
		if entry.text("name") == name {
			var c channel
			if err := convert(entry, &c); err != nil {
				t.Fatal(err)
			}
			return c.Entries
		}
	}
	t.Fatalf("there is no channel %s", name)
	return nil
}

func TestAdd(t *testing.T) {
	file := write(t, "template.yaml", emptyTemplate)
	for _, version := range []string{"0.1.0", "0.2.0-rc.1", "0.2.0"} {
		if err := addFile(file, version, image(version)); err != nil {
			t.Fatal(err)
		}
	}
	const prefix = packageName + ".v"
	stable := []channelEntry{
		{Name: prefix + "0.1.0"},
		{Name: prefix + "0.2.0", Replaces: prefix + "0.1.0", SkipRange: ">=0.1.0 <0.2.0"},
	}
	candidate := []channelEntry{
		{Name: prefix + "0.1.0"},
		{Name: prefix + "0.2.0-rc.1", Replaces: prefix + "0.1.0", SkipRange: ">=0.1.0 <0.2.0-rc.1"},
		{Name: prefix + "0.2.0", Replaces: prefix + "0.2.0-rc.1", SkipRange: ">=0.1.0 <0.2.0"},
	}
	if diff := cmp.Diff(stable, entries(t, file, "stable")); diff != "" {
		t.Errorf("stable (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(candidate, entries(t, file, "candidate")); diff != "" {
		t.Errorf("candidate (-want +got):\n%s", diff)
	}
}

func TestAddRefuses(t *testing.T) {
	with := write(t, "template.yaml", emptyTemplate)
	if err := addFile(with, "0.2.0", image("0.2.0")); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(with)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ file, version, image, problem string }{
		{with, "0.2.0", image("0.2.0"), "must be higher"},
		{with, "0.1.9", image("0.1.9"), "must be higher"},
		{with, "0.3", image("0.3"), "semantic version"},
		{with, "0.3.0", image("0.3.1"), "must have the tag v0.3.0"},
		{with, "0.3.0", "registry.acme.com/bundle", "must have the tag v0.3.0"},
		{write(t, "x.yaml", "schema: olm.semver\n"), "0.3.0", image("0.3.0"), "must be olm.template.basic"},
		{write(t, "x.yaml", "schema: olm.template.basic\n"), "0.3.0", image("0.3.0"), "not all of the channels"},
		{filepath.Join(t.TempDir(), "absent"), "0.3.0", image("0.3.0"), "no such file"},
	} {
		err := addFile(row.file, row.version, row.image)
		if err == nil || !strings.Contains(err.Error(), row.problem) {
			t.Errorf("%s with %s: want a problem with %q, got %v", row.version, row.image, row.problem, err)
		}
	}
	if after, err := os.ReadFile(with); err != nil || string(after) != string(before) {
		t.Errorf("a refused version was written: %v\n%s", err, after)
	}
}

func TestVersionOf(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	for image, want := range map[string]string{
		"registry.acme.com/bundle:v0.2.0":               "0.2.0",
		"127.0.0.1:5000/bundle:v0.2.0-rc.1":             "0.2.0-rc.1",
		"registry.acme.com/bundle:v0.2.0" + digest:      "0.2.0",
		"registry.acme.com:443/bundle":                  "",
		"registry.acme.com/bundle:latest":               "",
		"registry.acme.com/bundle" + digest:             "",
		"registry.acme.com/bundle:v0.2.0@sha256:abcdef": "",
	} {
		if got, err := versionOf(image); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: want %q, got %q, %v", image, want, got, err)
		}
	}
}

// TestUnknownVersion checks that a version of which nothing is known is not silently left out.
func TestUnknownVersion(t *testing.T) {
	r := rendering{}
	if _, err := r.complete(blob{"schema": schemaBundle, "image": image("0.9.0")}, nil); err == nil || !strings.Contains(err.Error(), "0.9.0") {
		t.Errorf("want an error about 0.9.0, got %v", err)
	}
	deprecations := blob{"schema": "olm.deprecations", "package": packageName}
	if got, err := r.complete(deprecations, nil); err != nil || got.text("package") != packageName {
		t.Errorf("what needs no completion must stay: %v, %v", got, err)
	}
}

func TestNameImage(t *testing.T) {
	bundle := blob{"image": "bundle:v0.2.0", "relatedImages": []any{
		map[string]any{"name": "", "image": "bundle:v0.2.0"}, map[string]any{"name": "manager", "image": "registry.acme.com/manager"},
	}}
	nameImage(bundle, image("0.2.0"))
	want := blob{"image": image("0.2.0"), "relatedImages": []any{
		map[string]any{"name": "", "image": image("0.2.0")}, map[string]any{"name": "manager", "image": "registry.acme.com/manager"},
	}}
	if diff := cmp.Diff(want, bundle); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"remove"}, {"add", "--versions"}, {"render", "--template", "absent"}} {
		if err := run(context.Background(), args, io.Discard); err == nil {
			t.Errorf("%v must be refused", args)
		}
	}
}
