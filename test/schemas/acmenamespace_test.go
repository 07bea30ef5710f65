// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/acme/platform-operator/internal/testenv/schematest"
)

// acmeNamespace is an AcmeNamespace with further lines in its spec.
func acmeNamespace(lines ...string) string {
	spec := map[string]string{"namespaceName": "app-y", "adminUsername": "sam"}
	var more []string
	for _, l := range lines {
		if key, value, ok := strings.Cut(l, ": "); ok && spec[key] != "" {
			spec[key] = value
		} else {
			more = append(more, "  "+l+"\n")
		}
	}
	return "apiVersion: tenancy.acme.com/v1alpha1\nkind: AcmeNamespace\nmetadata: {name: team-x}\nspec:\n" +
		"  namespaceName: " + spec["namespaceName"] + "\n  adminUsername: " + spec["adminUsername"] + "\n" + strings.Join(more, "")
}

const (
	noResource = "every key must be the name of a resource, for instance cpu, requests.storage, hugepages-2Mi or example.com/gpu"
	noLabel    = "must be a DNS-1123 label: lower-case letters, digits and '-', beginning and ending with a letter or digit, for instance team-a"
	reserved   = "is reserved for the cluster: default, kube-*, openshift-*, olm and operators cannot be handed to a tenant"
	noSpace    = "must not begin or end with white space or hold control characters, line separators or marks of direction"
	systemUser = "system: names belong to Kubernetes; give a user of your identity provider, or system:serviceaccount:NAMESPACE:NAME"
	systemTeam = "system: groups belong to Kubernetes; give groups of your identity provider, or system:serviceaccounts:NAMESPACE"
	ourKey     = "keys of *kubernetes.io, *k8s.io and *acme.com and the key admin are reserved: guardrails depend on them; use a prefix of your own"
	noKey      = "every key must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	noValue    = "every value must be a label value: at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
)

func TestNamespaceName(t *testing.T) {
	for _, name := range []string{"a", "app-y", "1", "0app", "kube", "openshift", "defaults", "olm-test", strings.Repeat("a", 63)} {
		t.Run("accepted "+name, func(t *testing.T) {
			schematest.WantCauses(t, schematest.Create(t, acmeNamespace("namespaceName: "+strconv.Quote(name))))
		})
	}
	for name, want := range map[string][]string{
		"default":               {reserved},
		"kube-system":           {reserved},
		"kube-anything":         {reserved},
		"openshift-x":           {reserved},
		"olm":                   {reserved},
		"operators":             {reserved},
		"App":                   {noLabel},
		"-app":                  {noLabel},
		"app-":                  {noLabel},
		"app.y":                 {noLabel},
		"app_y":                 {noLabel},
		"app y":                 {noLabel},
		"äpp":                   {noLabel},
		"app\n":                 {noLabel},
		strings.Repeat("a", 64): {"Too long: may not be more than 63 bytes"},
		"":                      {"should be at least 1 chars long", noLabel},
	} {
		t.Run("refused "+name, func(t *testing.T) {
			got := schematest.Create(t, acmeNamespace("namespaceName: "+strconv.Quote(name)))
			schematest.WantRefused(t, got, "spec.namespaceName", want...)
		})
	}
}

func TestAdminUsername(t *testing.T) {
	for _, user := range []string{
		"s", "sam", "oidc:sam", "sam@acme.com", "CN=sam,OU=x", "Sam Smith", "https://idp.acme.com#a1", "sämi", "山田", `acme\sam`,
		"system:serviceaccount:ci:deployer", "systems", strings.Repeat("s", 256), strings.Repeat("山", 256), "00", "x7f", "*",
	} {
		t.Run("accepted "+user, func(t *testing.T) {
			schematest.WantCauses(t, schematest.Create(t, acmeNamespace("adminUsername: "+strconv.Quote(user))))
		})
	}
	for user, want := range map[string]string{
		"":                            "should be at least 1 chars long",
		strings.Repeat("s", 257):      "Too long: may not be more than 256 bytes",
		strings.Repeat("山", 257):      "Too long: may not be more than 256 bytes",
		" sam":                        noSpace,
		"sam ":                        noSpace,
		"sam\t":                       noSpace,
		" ":                           noSpace,
		"sa\nm":                       noSpace,
		"sa\x00m":                     noSpace,
		"sa\x1fm":                     noSpace,
		"sa\x7fm":                     noSpace,
		"sa\u009bm":                   noSpace, // a terminal reads it as the beginning of a command
		"sa\u0085m":                   noSpace,
		"sa\u2028m":                   noSpace,
		"sa\u202em":                   noSpace,
		"sa\u2066m":                   noSpace,
		"\ufeffsam":                   noSpace,
		"system:admin":                systemUser,
		"system:anonymous":            systemUser,
		"system:node:n1":              systemUser,
		"system:serviceaccount:a":     systemUser,
		"system:serviceaccount:a:b:c": systemUser,
		"system:":                     systemUser,
	} {
		t.Run("refused "+user, func(t *testing.T) {
			schematest.WantRefused(t, schematest.Create(t, acmeNamespace("adminUsername: "+strconv.Quote(user))), "spec.adminUsername", want)
		})
	}
}

func TestAdminGroups(t *testing.T) {
	schematest.WantCauses(t, schematest.Create(t, acmeNamespace(`adminGroups: ["oidc:team", "CN=ops,OU=x", "system:serviceaccounts:ci"]`)))
	for _, tc := range []struct{ reason, give, field, want string }{
		{"everybody", `["system:authenticated"]`, "spec.adminGroups", systemTeam},
		{"the masters", `["a", "system:masters"]`, "spec.adminGroups", systemTeam},
		{"all service accounts", `["system:serviceaccounts"]`, "spec.adminGroups", systemTeam},
		{"service accounts of nowhere", `["system:serviceaccounts:"]`, "spec.adminGroups", systemTeam},
		{"an empty name", `[""]`, "spec.adminGroups[0]", "should be at least 1 chars long"},
		{"a name of 257 characters", `["` + strings.Repeat("g", 257) + `"]`, "spec.adminGroups[0]", "Too long: may not be more than 256 bytes"},
		{"one twice", `["a", "a"]`, "spec.adminGroups[1]", `Duplicate value: "a"`},
		{"33 of them", "[" + list("v%d", 33) + "]", "spec.adminGroups", "must have at most 32 items"},
		{"a control character", `["te\u0000am"]`, "spec.adminGroups", noSpace},
		{"a control character of C1", `["te\u009bam"]`, "spec.adminGroups", noSpace},
		{"another direction", `["te\u202eam"]`, "spec.adminGroups", noSpace},
		{"white space around it", `[" team"]`, "spec.adminGroups", noSpace},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			schematest.WantRefused(t, schematest.Create(t, acmeNamespace("adminGroups: "+tc.give)), tc.field, tc.want)
		})
	}
}

func TestAcmeNamespaceEnumsAndTypes(t *testing.T) {
	for _, tc := range []struct{ reason, give, field, want string }{
		{"an unknown tier", "deploymentTier: qa", "spec.deploymentTier", `Unsupported value: "qa": supported values: "dev", "stg", "prod"`},
		{"a tier in upper case", "deploymentTier: DEV", "spec.deploymentTier", `Unsupported value: "DEV": supported values: "dev", "stg", "prod"`},
		{"an unknown policy", "deletionPolicy: Orphan", "spec.deletionPolicy", `Unsupported value: "Orphan": supported values: "Delete", "Retain"`},
		{"adopt that is no boolean", `adopt: "yes"`, "spec.adopt", "must be of type boolean"},
		{"a quota that is no quantity", `quota: {cpu: lots}`, "spec.quota.cpu", "should match"},
		{"an exponent that takes minutes", `quota: {cpu: "1e-100000000"}`, "spec.quota.cpu", "should match"},
		{"an exponent that is a fraction", `quota: {cpu: "1e1.5"}`, "spec.quota.cpu", "should match"},
		{"huge pages without a size", `quota: {hugepages-: 1}`, "spec.quota", noResource},
		{"huge pages of a wrong size", `quota: {requests.hugepages-1e9: 1}`, "spec.quota", noResource},
		{"a resource with a control character", `quota: {"count/a\u009b": 1}`, "spec.quota", noResource},
		{"a quota that is no map", `quota: [5]`, "spec.quota", "must be of type object"},
		{"65 amounts", "quota: {" + list("v%d: 1", 65) + "}", "spec.quota", "must have at most 64 items"},
		{"65 labels", "labels: {" + list(`v%d: "1"`, 65) + "}", "spec.labels", "must have at most 64 items"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			schematest.WantRefused(t, schematest.Create(t, acmeNamespace(tc.give)), tc.field, tc.want)
		})
	}
	t.Run("what is required", func(t *testing.T) {
		schematest.WantCauses(t, schematest.Create(t, "apiVersion: tenancy.acme.com/v1alpha1\nkind: AcmeNamespace\nmetadata: {name: x}\nspec: {}"),
			"spec.adminUsername: Required value", "spec.namespaceName: Required value")
		schematest.WantCauses(t, schematest.Create(t, "apiVersion: tenancy.acme.com/v1alpha1\nkind: AcmeNamespace\nmetadata: {name: x}"), "spec: Required value")
	})
	t.Run("an unknown field", func(t *testing.T) {
		got := schematest.Create(t, acmeNamespace("adminUser: sam"))
		if len(got) != 1 || !strings.Contains(got[0], `unknown field "spec.adminUser"`) {
			t.Errorf("refused with %q", got)
		}
	})
}

func TestAcmeNamespaceQuota(t *testing.T) {
	schematest.WantCauses(t, schematest.Create(t, acmeNamespace(`quota: {cpu: 8, memory: 1.5Gi, pods: "20", "count/deployments.apps": 5, requests.storage: 100Gi, hugepages-2Mi: 1Gi, requests.hugepages-1Gi: 1Gi}`)))
}

func TestAcmeNamespaceLabels(t *testing.T) {
	for _, tc := range []struct {
		key, value string
		want       []string
	}{
		{"team", "a", nil},
		{"example.org/team", "A_1.b-c", nil},
		{"empty", "", nil},
		{"Team", "a", nil},
		{"administrator", "x", nil},
		{"example.org/admin", "x", nil},
		{"notkubernetes.io/x", "a", nil},
		{"acme.community/x", "a", nil},
		{strings.Repeat("k", 63), strings.Repeat("v", 63), nil},
		{"kubernetes.io/metadata.name", "a", []string{ourKey}},
		{"pod-security.kubernetes.io/enforce", "privileged", []string{ourKey}},
		{"app.kubernetes.io/managed-by", "me", []string{ourKey}},
		{"x.kubernetes.io/y", "a", []string{ourKey}},
		{"a.b.kubernetes.io/y", "a", []string{ourKey}},
		{"k8s.io/y", "a", []string{ourKey}},
		{"x.k8s.io/y", "a", []string{ourKey}},
		{"acme.com/y", "a", []string{ourKey}},
		{"platform.acme.com/owner-uid", "a", []string{ourKey}},
		{"tenancy.acme.com/reaches-tenants", "true", []string{ourKey}},
		{"admin", "sam", []string{ourKey}},
		{"Kubernetes.io/y", "a", []string{noKey}},
		{"", "a", []string{noKey}},
		{"/x", "a", []string{noKey}},
		{"x/", "a", []string{noKey}},
		{"a/b/c", "a", []string{noKey}},
		{"-x", "a", []string{noKey}},
		{"x y", "a", []string{noKey}},
		{strings.Repeat("k", 64), "a", []string{noKey}},
		{strings.Repeat("p", 254) + "/k", "a", []string{noKey}},
		{"a..b/k", "a", []string{noKey}},
		{"team", "-a", []string{noValue}},
		{"team", "a b", []string{noValue}},
		{"team", "ä", []string{noValue}},
		{"team", "a\n", []string{noValue}},
	} {
		t.Run(tc.key+"="+tc.value, func(t *testing.T) {
			got := schematest.Create(t, acmeNamespace("labels: {"+strconv.Quote(tc.key)+": "+strconv.Quote(tc.value)+"}"))
			schematest.WantRefused(t, got, "spec.labels", tc.want...)
		})
	}
	t.Run("a value of 64 characters", func(t *testing.T) {
		schematest.WantRefused(t, schematest.Create(t, acmeNamespace("labels: {team: "+strings.Repeat("v", 64)+"}")), "spec.labels.team", "Too long: may not be more than 63 bytes")
	})
}

func TestAcmeNamespaceDefaults(t *testing.T) {
	u := defaulted(t, acmeNamespace())
	spec, _, _ := unstructured.NestedMap(u.Object, "spec")
	if spec["deploymentTier"] != "dev" || len(spec) != 3 {
		t.Errorf("spec after defaulting: %v", spec)
	}
}

func TestAcmeNamespaceWhatMayChange(t *testing.T) {
	u := schematest.Parse(t, acmeNamespace())
	u.SetName("changing")
	store(t, u)
	schematest.WantCauses(t, changed(t, u, "namespaceName", "other"), `spec.namespaceName: Invalid value: "other": `+
		"cannot be changed; create another AcmeNamespace and move the workloads")
	schematest.WantCauses(t, changed(t, u, "adminUsername", "kim"))
	schematest.WantCauses(t, changed(t, u, "deploymentTier", "prod"))
	schematest.WantCauses(t, changed(t, u, "deletionPolicy", "Retain"))
	schematest.WantCauses(t, changed(t, u, "adopt", true))
}
