// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/acme/platform-operator/internal/testenv/schematest"
)

// webAppNamed is a WebApp of a name with further lines in its spec, which replace those that every WebApp has.
func webAppNamed(name string, lines ...string) string {
	text := "apiVersion: workloads.apps.acme.com/v1alpha1\nkind: WebApp\nmetadata: {name: " + name + ", namespace: default}\nspec:\n"
	for _, required := range []string{"webAppImage: registry.acme.com/app/app:v1.4", "webAppHostname: app.acme.com", "deploymentTier: dev"} {
		field, _, _ := strings.Cut(required, ":")
		if !strings.HasPrefix(strings.Join(lines, "\n"), field+":") {
			lines = append(lines, required)
		}
	}
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	return text
}

func webApp(lines ...string) string { return webAppNamed("shop", lines...) }

func TestWebAppSample(t *testing.T) {
	u := sample(t, "workloads_v1alpha1_webapp")
	schematest.WantCauses(t, create(t, u))
	unstructured.RemoveNestedField(u.Object, "spec", "webAppReplicas")
	schematest.WantCauses(t, create(t, u))
}

func TestWebAppAccepted(t *testing.T) {
	for _, line := range []string{
		"webAppImage: nginx", "webAppImage: nginx:1", "webAppImage: localhost:5000/a/b_c:v1", "webAppImage: a.b/c__d/e--f:V_1.2-x",
		"webAppImage: registry.acme.com/app@sha256:" + strings.Repeat("a", 64), "webAppImage: a:1@sha256:" + strings.Repeat("0", 64),
		"webAppHostname: xn--bcher-kva.example", "webAppHostname: a.b", "webAppHostname: localhost", "webAppHostname: 1.a", "webAppHostname: " + strings.Repeat("a", 63) + ".acme.com",
		"webAppReplicas: 0", "webAppReplicas: 100", "port: 1", "port: 65535",
		"ports: [{name: metrics, port: 9090}, {name: dns, port: 53, protocol: UDP}]",
		"autoscaling: {max: 2}", "autoscaling: {min: 3, max: 3, targetCPU: 50}",
		"probes: {readiness: {path: /healthz}, liveness: {command: [x]}, startup: {failureThreshold: 30}}",
		"probes: {readiness: {port: 8080, path: /}}", "config: {app.ini: a=b, .env: x}",
		"ingress: {path: /shop}", "ingress: {path: /shop/v1.2/, className: nginx, tlsSecretName: shop-tls, annotations: {cert-manager.io/cluster-issuer: acme}, waitForAddress: false}",
		"strategy: {type: Recreate}", "strategy: {maxSurge: 25%, maxUnavailable: 0}", "strategy: {maxSurge: 0, maxUnavailable: 1}", "strategy: {maxUnavailable: 50%}",
		"rolloutDeadline: 10s", "rolloutDeadline: 24h", "autoRollback: true", "rollbackTo: 1", "rolloutDeadline: 1m30s",
		"migration: {command: [shop, migrate]}", "maxUnavailable: 1", "maxUnavailable: 50%", "isolation: None", "drainSeconds: 0",
		"resources: {requests: {cpu: 100m, memory: 1Gi}, limits: {cpu: 1}}",
		"volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]",
		"initContainers: [{name: wait, image: busybox}]", "sidecars: [{name: proxy, image: envoy, env: [{name: A, value: b}]}]",
		"restartOnChange: true", "databaseSecretRef: {name: db}", "databaseSecretRef: {name: my.db, uriKey: '', databaseKey: db.name}",
		"publish: {externalName: www.acme.com}", "publish: {externalName: xn--bcher-kva.example}", "publish: {}",
		"ingress: {annotations: {external-dns.alpha.kubernetes.io/ttl: '60'}}",
		"serviceAccountName: robot", "schedulerName: own", "nodeSelector: {disk: ssd}", "tolerations: [{key: a, operator: Exists}]",
		"topologySpreadConstraints: [{topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]",
		"securityContext: {runAsUser: 1000, runAsNonRoot: false}",
	} {
		t.Run(line, func(t *testing.T) { schematest.WantCauses(t, schematest.Create(t, webApp(line))) })
	}
}

func TestWebAppRefused(t *testing.T) {
	const (
		image    = "must be the reference of an image, such as registry.acme.com/app/app:v1.4"
		host     = "must be a DNS name such as app.acme.com"
		external = "must be a DNS name such as www.acme.com"
		key      = "must be a key of a Secret"
		never    = "a probe of another port can never pass"
		further  = "must have no annotation that takes further host names"
	)
	for _, tc := range []struct{ reason, give, field, want string }{
		{"an image with a space", "webAppImage: a b", "spec.webAppImage", image},
		{"an image in upper case", "webAppImage: Nginx", "spec.webAppImage", image},
		{"an image without a name", "webAppImage: ':v1'", "spec.webAppImage", image},
		{"a tag that is none", "webAppImage: 'a:-b'", "spec.webAppImage", image},
		{"a URL", "webAppImage: https://registry.acme.com/app", "spec.webAppImage", image},
		{"a digest that is too short", "webAppImage: a@sha256:abc", "spec.webAppImage", image},
		{"no image", "webAppImage: ''", "spec.webAppImage", "should be at least 1 && " + image},
		{"a wildcard", "webAppHostname: '*.acme.com'", "spec.webAppHostname", host},
		{"upper case", "webAppHostname: App.acme.com", "spec.webAppHostname", host},
		{"another script", "webAppHostname: bücher.example", "spec.webAppHostname", host},
		{"an address", "webAppHostname: 10.0.0.1", "spec.webAppHostname", host},
		{"a label of 64 letters", "webAppHostname: " + strings.Repeat("a", 64) + ".com", "spec.webAppHostname", host},
		{"a port in the host", "webAppHostname: a.b:80", "spec.webAppHostname", host},
		{"a dot at the end", "webAppHostname: a.b.", "spec.webAppHostname", host},
		{"a tier that there is not", "deploymentTier: qa", "spec.deploymentTier", "supported values"},
		{"101 replicas", "webAppReplicas: 101", "spec.webAppReplicas", "less than or equal to 100"},
		{"port 0", "port: 0", "spec.port", "greater than or equal to 1"},
		{"port 65536", "port: 65536", "spec.port", "less than or equal to 65535"},
		{"two ports of one name", "ports: [{name: a, port: 1}, {name: a, port: 2}]", "spec.ports[1]", "Duplicate value"},
		{"two ports of one number", "ports: [{name: a, port: 1}, {name: b, port: 1}]", "spec.ports", "every port must be a number of its own"},
		{"the port once more", "ports: [{name: a, port: 8080}]", "spec.ports", "must not name the port that spec.port is"},
		{"the port of the Service", "ports: [{name: a, port: 80}]", "spec.ports", "and not 80"},
		{"a second http", "ports: [{name: http, port: 81}]", "spec.ports[0].name", "http is taken"},
		{"a port name of upper case", "ports: [{name: A, port: 81}]", "spec.ports[0].name", "must be a name such as metrics"},
		{"a port name of digits", "ports: [{name: '1', port: 81}]", "spec.ports[0].name", "must be a name such as metrics"},
		{"min above max", "autoscaling: {min: 3, max: 2}", "spec.autoscaling.min", "must not be more than max"},
		{"max below the default of min", "autoscaling: {max: 1}", "spec.autoscaling.min", "must not be more than max"},
		{"a probe that can never pass", "probes: {readiness: {port: 81}}", "spec.probes.readiness.port", never},
		{"the same for liveness", "probes: {liveness: {port: 81}}", "spec.probes.liveness.port", never},
		{"the same for startup", "probes: {startup: {port: 81}}", "spec.probes.startup.port", never},
		{"a path that is none", "probes: {readiness: {path: healthz}}", "spec.probes.readiness.path", "must be a path such as /healthz"},
		{"both a path and a command", "probes: {readiness: {path: /, command: [x]}}", "spec.probes.readiness", "either path or command"},
		{"a timeout beyond the period", "probes: {readiness: {timeoutSeconds: 9, periodSeconds: 8}}", "spec.probes.readiness", "must not be more than periodSeconds"},
		{"a file name that is none", "config: {a/b: x}", "spec.config", "every key must be the name of a file"},
		{"a file that leads away", "config: {..: x}", "spec.config", "every key must be the name of a file"},
		{"config above 1 MiB", "config: {a: " + strings.Repeat("x", 524288) + ", b: " + strings.Repeat("y", 524288) + "}", "spec.config", "must not be larger than 1 MiB"},
		{"config above 1 MiB in letters of several bytes", "config: {a: " + strings.Repeat("ü", 524288) + "}", "spec.config", "must not be larger than 1 MiB"},
		{"a class that is none", "ingress: {className: A}", "spec.ingress.className", "must be the name of an IngressClass"},
		{"a path without a slash", "ingress: {path: shop}", "spec.ingress.path", "must be a path such as / or /shop"},
		{"a path that leads up", "ingress: {path: /a/../b}", "spec.ingress.path", "must be a path such as / or /shop"},
		{"a path with an empty part", "ingress: {path: /a//b}", "spec.ingress.path", "must be a path such as / or /shop"},
		{"an encoded path", "ingress: {path: /a%2fb}", "spec.ingress.path", "must be a path such as / or /shop"},
		{"an annotation of ours", "ingress: {annotations: {platform.acme.com/owner: x}}", "spec.ingress.annotations", "are reserved"},
		{"an alias of the host name", "ingress: {annotations: {nginx.ingress.kubernetes.io/server-alias: b.com}}", "spec.ingress.annotations", "make a WebApp for each host name"},
		{"another controller's", "ingress: {annotations: {haproxy-ingress.github.io/server-alias-regex: b}}", "spec.ingress.annotations", further},
		{"a snippet of configuration", "ingress: {annotations: {nginx.ingress.kubernetes.io/server-snippet: x}}", "spec.ingress.annotations", further},
		{"several of them", "ingress: {annotations: {nginx.org/location-snippets: x}}", "spec.ingress.annotations", further},
		{"Kong's aliases", "ingress: {annotations: {konghq.com/host-aliases: b.com}}", "spec.ingress.annotations", further},
		{"another name for the certificate", "ingress: {annotations: {cert-manager.io/common-name: b.com}}", "spec.ingress.annotations", further},
		{"another rule, in upper case", "ingress: {annotations: {traefik.ingress.kubernetes.io/router.PathMatcher: Path}}", "spec.ingress.annotations", further},
		{"the old annotation of the class", "ingress: {annotations: {kubernetes.io/ingress.class: x}}", "spec.ingress.annotations", "className replaces"},
		{"the host name for external-dns", "ingress: {annotations: {external-dns.alpha.kubernetes.io/hostname: x.acme.com}}", "spec.ingress.annotations", "or use spec.publish.externalName"},
		{"its later name", "ingress: {annotations: {external-dns.kubernetes.io/hostname: x.acme.com}}", "spec.ingress.annotations", "or use spec.publish.externalName"},
		{"an external name with a wildcard", "publish: {externalName: '*.acme.com'}", "spec.publish.externalName", external},
		{"an external name in upper case", "publish: {externalName: Www.acme.com}", "spec.publish.externalName", external},
		{"an external name in another script", "publish: {externalName: bücher.example}", "spec.publish.externalName", external},
		{"an external name that is an address", "publish: {externalName: 10.0.0.1}", "spec.publish.externalName", external},
		{"an external name of one label", "publish: {externalName: www}", "spec.publish.externalName", external},
		{"an external name with a label of 64 letters", "publish: {externalName: " + strings.Repeat("a", 64) + ".com}", "spec.publish.externalName", external},
		{"an empty external name", "publish: {externalName: ''}", "spec.publish.externalName", "should be at least 1 && " + external},
		{"the host name once more", "{webAppHostname: a.b\npublish: {externalName: a.b}}", "spec.publish.externalName", "must not be webAppHostname"},
		{"a database without a Secret", "databaseSecretRef: {}", "spec.databaseSecretRef.name", "Required value"},
		{"a Secret of another namespace", "databaseSecretRef: {name: other/db}", "spec.databaseSecretRef.name", "must be the name of a Secret"},
		{"a key that is none", "databaseSecretRef: {name: db, passwordKey: a/b}", "spec.databaseSecretRef.passwordKey", key},
		{"a key that leads away", "databaseSecretRef: {name: db, hostKey: ..}", "spec.databaseSecretRef.hostKey", key},
		{"a key of 254 letters", "databaseSecretRef: {name: db, uriKey: " + strings.Repeat("k", 254) + "}", "spec.databaseSecretRef.uriKey", "may not be more than 253"},
		{"the same for hostKey", "databaseSecretRef: {name: db, hostKey: a b}", "spec.databaseSecretRef.hostKey", key},
		{"the same for portKey", "databaseSecretRef: {name: db, portKey: a b}", "spec.databaseSecretRef.portKey", key},
		{"the same for usernameKey", "databaseSecretRef: {name: db, usernameKey: a b}", "spec.databaseSecretRef.usernameKey", key},
		{"the same for databaseKey", "databaseSecretRef: {name: db, databaseKey: a b}", "spec.databaseSecretRef.databaseKey", key},
		{"the same for uriKey", "databaseSecretRef: {name: db, uriKey: a b}", "spec.databaseSecretRef.uriKey", key},
		{"restartOnChange that is neither", "restartOnChange: 1", "spec.restartOnChange", "must be of type boolean"},
		{"Recreate with a surge", "strategy: {type: Recreate, maxSurge: 1}", "spec.strategy", "with the type RollingUpdate only"},
		{"a strategy that replaces nothing", "strategy: {maxSurge: 0}", "spec.strategy", "must not both be 0"},
		{"the same in percent", "strategy: {maxSurge: 0%, maxUnavailable: 0}", "spec.strategy", "must not both be 0"},
		{"the same with another zero", "strategy: {maxSurge: 00%}", "spec.strategy.maxSurge", "or from 0% to 100%"},
		{"a surge that is none", "strategy: {maxSurge: x}", "spec.strategy.maxSurge", "must be a number from 0 to 100"},
		{"a budget of 0", "maxUnavailable: 0", "spec.maxUnavailable", "no node could ever be drained"},
		{"a budget of 101%", "maxUnavailable: 101%", "spec.maxUnavailable", "no node could ever be drained"},
		{"a request that takes minutes", "resources: {requests: {cpu: '1e-100000000'}, limits: {cpu: 1}}", "spec.resources.requests.cpu", "should match"},
		{"a limit that takes minutes", "resources: {requests: {cpu: 1}, limits: {cpu: '1e-100000000'}}", "spec.resources.limits.cpu", "should match"},
		{"limits below requests", "resources: {requests: {cpu: 2}, limits: {cpu: 500m}}", "spec.resources.limits", "must not be less than the request"},
		{"a mount of no volume", "volumeMounts: [{name: a, mountPath: /a}]", "spec.volumeMounts", "must be that of a volume"},
		{"a volume without a source", "volumes: [{name: a}]", "spec.volumes[0]", "must have exactly one of"},
		{"the volume of config", "volumes: [{name: webapp-config, emptyDir: {}}]", "spec.volumes[0].name", "is taken by spec.config"},
		{"a container called app", "sidecars: [{name: app, image: a}]", "spec.sidecars[0].name", "app is the application's own container"},
		{"a mount of no volume in a sidecar", "{volumes: [{name: b%emptyDir: {}}], sidecars: [{name: s%image: i%volumeMounts: [{name: a%mountPath: /a}]}]}", "spec.sidecars", "must be that of a volume"},
		{"a mount of no volume in an init container", "initContainers: [{name: s, image: i, volumeMounts: [{name: a, mountPath: /a}]}]", "spec.initContainers", "must be that of a volume"},
		{"a mount over the configuration", "{config: {a: b}, volumes: [{name: a%emptyDir: {}}], volumeMounts: [{name: a%mountPath: /etc/webapp}]}", "spec.volumeMounts", "where spec.config is"},
		{"two containers of one name", "{initContainers: [{name: a%image: a}], sidecars: [{name: a%image: a}]}", "spec.sidecars", "must not have the name of one of"},
		{"a migration of an image that has always the same name", "{webAppImage: 'a:latest', migration: {command: [x]}}", "spec.migration", "a tag other than latest"},
		{"a migration of an image without a tag", "{webAppImage: 'a.b:5000/c', migration: {command: [x]}}", "spec.migration", "a tag other than latest"},
		{"the revision 0", "rollbackTo: 0", "spec.rollbackTo", "greater than or equal to 1"},
		{"a revision below 0", "rollbackTo: -1", "spec.rollbackTo", "greater than or equal to 1"},
		{"a revision that is no number", "rollbackTo: v1", "spec.rollbackTo", "must be of type integer"},
		{"a deadline that is too short", "rolloutDeadline: 9s", "spec.rolloutDeadline", "must be from 10s to 24h"},
		{"a deadline that is too long", "rolloutDeadline: 25h", "spec.rolloutDeadline", "must be from 10s to 24h"},
		{"a deadline below 0", "rolloutDeadline: -10s", "spec.rolloutDeadline", "must be from 10s to 24h && should match"},
		{"a deadline without a unit", "rolloutDeadline: '10'", "spec.rolloutDeadline", "should match && type conversion error"},
		{"an isolation that there is not", "isolation: Egress", "spec.isolation", "supported values"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			lines := []string{tc.give}
			if inner, isMap := strings.CutPrefix(tc.give, "{"); isMap {
				lines = strings.Split(strings.ReplaceAll(strings.ReplaceAll(strings.TrimSuffix(inner, "}"), ", ", "\n"), "%", ", "), "\n")
			}
			schematest.WantRefused(t, schematest.Create(t, webApp(lines...)), tc.field, strings.Split(tc.want, " && ")...)
		})
	}
}

func TestWebAppUnknownFieldsAreRefused(t *testing.T) {
	for _, give := range []string{
		"hostNetwork: true", "volumes: [{name: a, hostPath: {path: /}}]", "sidecars: [{name: a, image: a, securityContext: {privileged: true}}]", "database: {type: postgres}",
	} {
		if got := schematest.Create(t, webApp(give)); len(got) == 0 {
			t.Errorf("%s is accepted", give)
		}
	}
}

func TestWebAppNegativeReplicas(t *testing.T) {
	got := strings.Join(schematest.Create(t, webApp("webAppReplicas: -1")), "\n")
	if !strings.Contains(got, "spec.webAppReplicas in body should be greater than or equal to 0") {
		t.Errorf("refused with %q", got)
	}
}

func TestWebAppNames(t *testing.T) {
	longest := strings.Repeat("a", 61) + strings.Repeat("."+strings.Repeat("b", 63), 3)
	if len(longest) != 253 {
		t.Fatal(len(longest))
	}
	schematest.WantCauses(t, schematest.Create(t, webAppNamed(longest)))
	schematest.WantCauses(t, schematest.Create(t, webAppNamed("1st"))) // which no Service may be called
}
