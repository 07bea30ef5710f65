// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/acme/platform-operator/internal/tenancy"
)

func TestWhichAnnotationsTakeHosts(t *testing.T) {
	for key, want := range map[string]bool{
		"nginx.ingress.kubernetes.io/server-alias":                true,
		"nginx.ingress.kubernetes.io/from-to-www-redirect":        true,
		"nginx.ingress.kubernetes.io/server-snippet":              true,
		"nginx.ingress.kubernetes.io/configuration-snippet":       true,
		"nginx.org/location-snippets":                             true,
		"haproxy.org/backend-config-snippet":                      true,
		"haproxy-ingress.github.io/server-alias":                  true,
		"ingress.kubernetes.io/server-alias-regex":                true,
		"haproxy-ingress.github.io/redirect-from":                 true,
		"haproxy-ingress.github.io/redirect-from-regex":           true,
		"haproxy-ingress.github.io/config-backend":                true,
		"konghq.com/host-aliases":                                 true,
		"appgw.ingress.kubernetes.io/hostname-extension":          true,
		"alb.ingress.kubernetes.io/conditions.shop":               true,
		"traefik.ingress.kubernetes.io/router.pathmatcher":        true,
		"traefik.ingress.kubernetes.io/Router.PathMatcher":        true, // Traefik reads it whatever the case
		"traefik.ingress.kubernetes.io/router.tls.domains.0.main": true,
		"traefik.ingress.kubernetes.io/router.tls.domains.1.sans": true,
		"traefik.ingress.kubernetes.io/rule-type":                 true,
		"cert-manager.io/common-name":                             true,
		"cert-manager.io/alt-names":                               true,
		"cert.gardener.cloud/commonname":                          true,
		"cert.gardener.cloud/dnsnames":                            true,
		"dns.gardener.cloud/dnsnames":                             true,
		"external-dns.alpha.kubernetes.io/hostname":               true,
		"external-dns.kubernetes.io/hostname":                     true,
		"external-dns.alpha.kubernetes.io/internal-hostname":      true,
		"getambassador.io/config":                                 true,
		"server-alias":                                            true,
		"cert-manager.io/cluster-issuer":                          false,
		"cert-manager.io/email-sans":                              false,
		"external-dns.alpha.kubernetes.io/ttl":                    false,
		"haproxy-ingress.github.io/redirect-from-code":            false,
		"appgw.ingress.kubernetes.io/backend-hostname":            false,
		"nginx.ingress.kubernetes.io/rewrite-target":              false,
		"nginx.ingress.kubernetes.io/proxy-body-size":             false,
		"traefik.ingress.kubernetes.io/router.tls":                false,
		"traefik.ingress.kubernetes.io/router.middlewares":        false,
		"kubectl.kubernetes.io/last-applied-configuration":        false,
		"alb.ingress.kubernetes.io/scheme":                        false,
		"konghq.com/strip-path":                                   false,
	} {
		if got := tenancy.TakesHosts(key); got != want {
			t.Errorf("%s: got %v", key, got)
		}
	}
}

// TestTheListOfAnnotationsIsOne wants the schema of WebApps and the guardrail policy to have the list as it is in Go.
func TestTheListOfAnnotationsIsOne(t *testing.T) {
	for _, file := range []string{"policy/guard_rails.yaml", "crd/bases/workloads.apps.acme.com_webapps.yaml"} {
		text, err := os.Open(filepath.Join("..", "..", "config", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = text.Close() })
		var first any
		if err := yaml.NewYAMLOrJSONDecoder(text, 4096).Decode(&first); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(fmt.Sprint(first), ".matches('"+tenancy.HostAnnotations+"')") {
			t.Errorf("config/%s has another list of annotations than tenancy.HostAnnotations, which is\n%s", file, tenancy.HostAnnotations)
		}
	}
}

func TestWhichAnnotationsATierAllows(t *testing.T) {
	for _, tc := range []struct {
		patterns []string
		key      string
		want     bool
	}{
		{nil, "nginx.ingress.kubernetes.io/proxy-body-size", true},
		{[]string{}, "nginx.ingress.kubernetes.io/proxy-body-size", false},
		{[]string{"nginx.ingress.kubernetes.io/proxy-body-size"}, "nginx.ingress.kubernetes.io/proxy-body-size", true},
		{[]string{"nginx.ingress.kubernetes.io/proxy-body-size"}, "nginx.ingress.kubernetes.io/proxy-body-size2", false},
		{[]string{"other", "cert-manager.io/*"}, "cert-manager.io/cluster-issuer", true},
		{[]string{"cert-manager.io/*"}, "acme.cert-manager.io/http01-edit-in-place", false},
		{[]string{"cert-manager.io/*"}, "cert-manager.io.example.com/x", false},
	} {
		if got := (tenancy.Tier{IngressAnnotations: tc.patterns}).AllowsAnnotation(tc.key); got != tc.want {
			t.Errorf("%q allow %s: got %v", tc.patterns, tc.key, got)
		}
	}
}
