// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"net/mail"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"golang.org/x/mod/semver"
)

// The checks of the community's pipelines, which cannot be run without their images, as far as they look at
// a bundle or a catalog. The names of the tests are those of the checks.

func Test_check_operator_name(t *testing.T) {
	csv := load(t).CSV
	if want := packageName + ".v" + csv.Spec.Version.String(); csv.Name != want || len(csv.Name) > 63 {
		t.Errorf("it is called %s; want %s, with at most 63 characters", csv.Name, want)
	}
	if got := readAnnotations(t)["operators.operatorframework.io.bundle.package.v1"]; got != packageName {
		t.Errorf("the annotations say %s", got)
	}
}

func Test_operator_version_directory_name(t *testing.T) {
	version := "v" + load(t).CSV.Spec.Version.String()
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		t.Errorf("%s is no semantic version", version)
	}
}

// both has the categories that the validators and the pipelines know.
var both = []string{
	"AI/Machine Learning", "Application Runtime", "Big Data", "Cloud Provider", "Developer Tools", "Database",
	"Integration & Delivery", "Logging & Tracing", "Monitoring", "Modernization & Migration", "Networking", "OpenShift Optional",
	"Security", "Storage", "Streaming & Messaging",
}

func Test_check_required_fields(t *testing.T) {
	csv := load(t).CSV
	a, spec := csv.Annotations, csv.Spec
	between := func(what, text string, low, high int) {
		t.Helper()
		if len(text) < low || len(text) > high {
			t.Errorf("%s has %d characters; want %d to %d: %q", what, len(text), low, high, text)
		}
	}
	between("displayName", spec.DisplayName, 3, 50)
	between("description", spec.Description, 20, 64<<10)
	between("maturity", spec.Maturity, 3, 20)
	between("provider.name", spec.Provider.Name, 3, 100)
	between("annotation description", a["description"], 10, 135)
	between("annotation support", a["support"], 3, 100)
	if !strings.HasPrefix(a["repository"], "https://") || (a["certified"] != "true" && a["certified"] != "false") {
		t.Errorf("repository %q, certified %q", a["repository"], a["certified"])
	}
	if !regexp.MustCompile(`^([^/]+/){1,}[^/:]+:.+$`).MatchString(a["containerImage"]) {
		t.Errorf("containerImage %q lacks a registry or project, or a tag or digest", a["containerImage"])
	}
	if _, err := time.Parse(time.RFC3339, a["createdAt"]); err != nil {
		t.Errorf("createdAt: %v", err)
	}
	for category := range strings.SplitSeq(a["categories"], ",") {
		if !slices.Contains(both, strings.TrimSpace(category)) {
			t.Errorf("category %q is not known everywhere", category)
		}
	}
	if len(spec.Keywords) == 0 {
		t.Error("it has no keywords")
	}
	checkLinks(t, spec.Links)
	checkMaintainers(t, spec.Maintainers)
	checkIcon(t, spec.Icon)
}

func checkLinks(t *testing.T, links []operatorsv1alpha1.AppLink) {
	t.Helper()
	for _, link := range links {
		if u, err := url.Parse(link.URL); link.Name == "" || err != nil || u.Scheme != "https" {
			t.Errorf("link %v", link)
		}
	}
	if len(links) == 0 {
		t.Error("it has no links")
	}
}

func checkMaintainers(t *testing.T, maintainers []operatorsv1alpha1.Maintainer) {
	t.Helper()
	for _, maintainer := range maintainers {
		if _, err := mail.ParseAddress(maintainer.Email); err != nil || maintainer.Name == "" {
			t.Errorf("maintainer %v: %v", maintainer, err)
		}
	}
	if len(maintainers) == 0 {
		t.Error("it has no maintainers")
	}
}

func checkIcon(t *testing.T, icons []operatorsv1alpha1.Icon) {
	t.Helper()
	if len(icons) != 1 || icons[0].MediaType != "image/svg+xml" {
		t.Fatalf("want one icon, an SVG; got %d", len(icons))
	}
	text, err := base64.StdEncoding.DecodeString(icons[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	var svg struct {
		XMLName xml.Name `xml:"svg"`
		Width   string   `xml:"width,attr"`
		Height  string   `xml:"height,attr"`
	}
	if err := xml.Unmarshal(text, &svg); err != nil || svg.Width != svg.Height || svg.Width == "" {
		t.Errorf("the icon is no square SVG: %v, %v", svg, err)
	}
	if source, err := os.ReadFile(repo("config", "manifests", "icon.svg")); err != nil || string(source) != string(text) {
		t.Errorf("it is not config/manifests/icon.svg: %v", err)
	}
}

func Test_check_api_version_constraints(t *testing.T) {
	csv := load(t).CSV
	if !semver.IsValid("v" + csv.Spec.MinKubeVersion) {
		t.Errorf("minKubeVersion %q", csv.Spec.MinKubeVersion)
	}
	if readAnnotations(t)["com.redhat.openshift.versions"] == "" {
		t.Error("with minKubeVersion, com.redhat.openshift.versions must be stated")
	}
	if _, found := csv.Annotations["olm.properties"]; found {
		t.Error("olm.properties belongs into metadata/properties.yaml")
	}
	if _, err := os.Stat(repo("bundle", "metadata", "dependencies.yaml")); err == nil {
		t.Error("OLM v1 refuses bundles with dependencies")
	}
}

// Test_features checks that all features are stated, since consoles take what is not for unknown.
func Test_features(t *testing.T) {
	csv := load(t).CSV
	for _, feature := range []string{
		"disconnected", "fips-compliant", "proxy-aware", "tls-profiles", "token-auth-aws", "token-auth-azure", "token-auth-gcp",
		"cnf", "cni", "csi",
	} {
		if v := csv.Annotations["features.operators.openshift.io/"+feature]; v != "true" && v != "false" {
			t.Errorf("%s is %q", feature, v)
		}
	}
	pinned := true
	for _, image := range csv.Spec.RelatedImages {
		pinned = pinned && strings.Contains(image.Image, "@sha256:")
	}
	if claimed := csv.Annotations["features.operators.openshift.io/disconnected"] == "true"; claimed != pinned {
		t.Errorf("works disconnected: %v, all images pinned: %v", claimed, pinned)
	}
	for _, label := range []string{"arch.amd64", "arch.arm64", "os.linux"} {
		if csv.Labels["operatorframework.io/"+label] != "supported" {
			t.Errorf("the label %s is missing", label)
		}
	}
}

func Test_suggested_namespace(t *testing.T) {
	a := load(t).CSV.Annotations
	var namespace struct {
		Kind     string
		Metadata struct {
			Name   string
			Labels map[string]string
		}
	}
	if err := json.Unmarshal([]byte(a["operatorframework.io/suggested-namespace-template"]), &namespace); err != nil {
		t.Fatal(err)
	}
	if suggested := a["operatorframework.io/suggested-namespace"]; suggested != "platform-operator-system" || suggested != namespace.Metadata.Name ||
		namespace.Metadata.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("%s and %v", suggested, namespace)
	}
}
