// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"regexp"
	"slices"
	"strings"
)

// HostAnnotations matches the keys of the annotations of an Ingress by which ingress controllers, cert-manager and controllers of
// DNS take host names that the rules of the Ingress do not have, or configuration that could name any. It is the one list of them:
// the schema of WebApps and the guardrail policy have it word for word. ADR 0034 says whose each of them is.
const HostAnnotations = `(?i)^([^/]*/)?(server-alias(-regex)?|redirect-from(-regex)?|from-to-www-redirect|host-aliases|hostname-extension|` +
	`(internal-)?hostname|dnsnames|common-?name|alt-names|conditions[.].+|rule-type|router[.](pathmatcher|tls[.]domains[.].+)|` +
	`config(-[-a-z]+)?|[-a-z0-9]*snippets?)$`

var hostAnnotations = regexp.MustCompile(HostAnnotations)

// TakesHosts reports whether an annotation of an Ingress may take further host names, whatever the tier.
func TakesHosts(key string) bool { return hostAnnotations.MatchString(key) }

// AllowsAnnotation reports whether the Ingresses of the tier may have an annotation that takes no host names.
func (t Tier) AllowsAnnotation(key string) bool {
	return t.IngressAnnotations == nil || slices.ContainsFunc(t.IngressAnnotations, func(pattern string) bool {
		prefix, isPrefix := strings.CutSuffix(pattern, "*")
		return key == pattern || isPrefix && strings.HasPrefix(key, prefix)
	})
}
