// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// inRepo runs a program in the root of the repository and returns what it said; failing is for the caller.
func inRepo(t *testing.T, words ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = repo()
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	return output.String(), err
}

func mustInRepo(t *testing.T, words ...string) {
	t.Helper()
	if output, err := inRepo(t, words...); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, output)
	}
}

// makeBundle makes a bundle of a version in a folder.
func makeBundle(t *testing.T, dir, version string) string {
	t.Helper()
	output := filepath.Join(dir, "bundle-"+version)
	mustInRepo(t, "go", "run", "./hack/bundle", "--version", version,
		"--image", "registry.acme.com/platform/platform-operator:v"+version, "--output", output)
	return output
}

// TestCheckFindsAnotherBundle shows that `make bundle-check`, which makes the bundle that is committed once more, finds a
// difference.
func TestCheckFindsAnotherBundle(t *testing.T) {
	image := load(t).CSV.Annotations["containerImage"]
	output, err := inRepo(t, "go", "run", "./hack/bundle", "--check", "--version", "9.9.9", "--image", image)
	if err == nil || !strings.Contains(output, "not up to date") {
		t.Errorf("another version must make a difference: %v\n%s", err, output)
	}
}

// TestVersionsAndTheirCatalogs makes three releases and a candidate, and from them both sorts of catalogs.
func TestVersionsAndTheirCatalogs(t *testing.T) {
	dir := t.TempDir()
	template := filepath.Join(dir, "template.yaml")
	writeEmptyTemplate(t, template)
	released := filepath.Join(dir, "released", "catalog.yaml")
	inline := filepath.Join(dir, "inline", "catalog.yaml")
	catalog := []string{"go", "run", "./hack/catalog"}
	var bundles, flags []string
	for _, version := range []string{"0.1.0", "0.2.0-rc.1", "0.2.0", "0.3.0"} {
		bundle := makeBundle(t, dir, version)
		bundles = append(bundles, packageName+".v"+version)
		flags = append(flags, "--bundle", bundle)
		mustInRepo(t, slices.Concat(catalog, []string{
			"add", "--template", template, "--version", version,
			"--image", "registry.acme.com/platform/platform-operator-bundle:v" + version,
		})...)
		// As at a release: of the older versions only what the catalog says of them is left.
		mustInRepo(t, slices.Concat(catalog, []string{"render", "--template", template, "--output", released, "--bundle", bundle})...)
	}
	deprecate(t, template, packageName+".v0.1.0")
	mustInRepo(t, slices.Concat(catalog, []string{"render", "--template", template, "--output", released}, flags[len(flags)-2:])...)
	mustInRepo(t, slices.Concat(catalog, []string{"render", "--inline", "--template", template, "--output", inline}, flags)...)
	for _, file := range []string{released, inline} {
		mustInRepo(t, "bin/opm", "validate", filepath.Dir(file))
		if !slices.ContainsFunc(readBlobs(t, file), func(b map[string]any) bool { return b["schema"] == "olm.deprecations" }) {
			t.Error("the deprecation is lost")
		}
		channels, listed, _ := readCatalog(t, file)
		if !slices.Equal(listed, bundles) {
			t.Errorf("it lists %v", listed)
		}
		for _, g := range channels {
			if want := map[string]int{"candidate": 4, "stable": 3}[g.Name]; len(g.Entries) != want {
				t.Errorf("%s has %d versions; want %d", g.Name, len(g.Entries), want)
			}
			for _, problem := range g.problems(bundles) {
				t.Errorf("%s: %s", g.Name, problem)
			}
		}
	}
	checkVersion(t, filepath.Join(dir, "bundle-0.3.0"), "0.3.0")
	output, err := inRepo(t, slices.Concat(catalog, []string{
		"add", "--template", template, "--version", "0.2.5",
		"--image", "registry.acme.com/platform/platform-operator-bundle:v0.2.5",
	})...)
	if err == nil || !strings.Contains(output, "must be higher") {
		t.Errorf("a version below the head must be refused: %v\n%s", err, output)
	}
}

// deprecate does what docs/develop/release.md says of a bad version.
func deprecate(t *testing.T, template, bundle string) {
	t.Helper()
	text, err := os.ReadFile(template)
	if err != nil {
		t.Fatal(err)
	}
	entry := "- schema: olm.deprecations\n  package: " + packageName + "\n  entries:\n" +
		"  - reference: {schema: olm.bundle, name: " + bundle + "}\n    message: use a newer one\nschema: "
	changed := strings.Replace(string(text), "schema: olm.template", entry+"olm.template", 1)
	if err := os.WriteFile(template, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

func writeEmptyTemplate(t *testing.T, file string) {
	t.Helper()
	text := `schema: olm.template.basic
entries:
- {schema: olm.package, name: acme-platform-operator, defaultChannel: stable}
- {schema: olm.channel, package: acme-platform-operator, name: stable, entries: []}
- {schema: olm.channel, package: acme-platform-operator, name: candidate, entries: []}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func checkVersion(t *testing.T, bundle, version string) {
	t.Helper()
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	readObject(t, filepath.Join(bundle, "manifests", packageName+".clusterserviceversion.yaml"), csv)
	_, container := program(t, csv, manager)
	if csv.Spec.Version.String() != version || !strings.HasSuffix(container.Image, ":v"+version) {
		t.Errorf("it is of version %s and runs %s", csv.Spec.Version, container.Image)
	}
	if _, err := os.Stat(bundle + ".Dockerfile"); err != nil {
		t.Error(err)
	}
}

// TestPinnedImage checks that a digest makes the bundle one that works disconnected.
func TestPinnedImage(t *testing.T) {
	output := filepath.Join(t.TempDir(), "bundle")
	image := "registry.acme.com/platform/platform-operator@sha256:" + strings.Repeat("0", 64)
	mustInRepo(t, "go", "run", "./hack/bundle", "--version", "0.1.0", "--image", image, "--output", output)
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	readObject(t, filepath.Join(output, "manifests", packageName+".clusterserviceversion.yaml"), csv)
	_, container := program(t, csv, manager)
	if container.Image != image || csv.Annotations["features.operators.openshift.io/disconnected"] != "true" {
		t.Errorf("it runs %s, works disconnected: %s", container.Image, csv.Annotations["features.operators.openshift.io/disconnected"])
	}
}
