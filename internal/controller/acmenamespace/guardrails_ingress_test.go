// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// describeIngresses has what the guardrail policy does to Ingresses. The users are an administrator of a namespace, somebody with
// rights in all of them, and one who may change AcmeNamespaces.
func describeIngresses(
	users func() (tenant, helper, gitOps client.Client), patch func(client.Client, client.Object, string, ...client.PatchOption) error,
) {
	Context("of a tier with host names", Ordered, func() {
		const refused = "every host of an Ingress in this namespace"
		var (
			hosted                 *v1alpha1.AcmeNamespace
			tenant, helper, gitOps client.Client
		)
		ingress := func(in string, hosts ...string) *networkingv1.Ingress {
			i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: "plain"}}
			backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
			for _, h := range hosts {
				i.Spec.Rules = append(i.Spec.Rules, networkingv1.IngressRule{Host: h, IngressRuleValue: networkingv1.IngressRuleValue{
					HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
						Path: "/", PathType: new(networkingv1.PathTypePrefix), Backend: backend,
					}}},
				}})
			}
			return i
		}
		const there = "app-hosted"
		allowed := func(hosts ...string) {
			GinkgoHelper()
			Change(&v1alpha1.DeploymentTier{ObjectMeta: metav1.ObjectMeta{Name: "stg"}}, func(t *v1alpha1.DeploymentTier) { t.Spec.Hostnames = &hosts })
			Eventually(func() map[string]string { return namespaceOf(hosted).Annotations }).
				Should(HaveKeyWithValue("tenancy.acme.com/hostnames", strings.Join(hosts, " ")))
		}
		BeforeAll(func() {
			tenant, helper, gitOps = users()
			tier := Create(&v1alpha1.DeploymentTier{ObjectMeta: metav1.ObjectMeta{Name: "stg"}})
			DeferCleanup(func() { Remove(tier) })
			hosted = created(team("hosted", func(s *v1alpha1.AcmeNamespaceSpec) { s.AdminUsername, s.DeploymentTier = "pol", "stg" }))
			Eventually(func() error { return tenant.List(ctx, &networkingv1.IngressList{}, client.InNamespace(there)) }).Should(Succeed())
			Expect(tenant.Create(ctx, ingress(there, "any.example.com"), client.DryRunAll)).To(Succeed(), "any is allowed while the tier does not say which")
			allowed("*.apps.acme.com", "shop.acme.com")
			Eventually(func() error { return tenant.Create(ctx, ingress(there, "any.example.com"), client.DryRunAll) }).Should(forbidden(refused))
		})

		DescribeTable("holds Ingresses to them", func(change func(*networkingv1.Ingress), works bool) {
			i := ingress(there, "a.apps.acme.com")
			change(i)
			check := Succeed()
			if !works {
				check = forbidden(refused + ", also those of spec.tls")
			}
			Expect(tenant.Create(ctx, i.DeepCopy(), client.DryRunAll)).To(check)
			Expect(gitOps.Create(ctx, i.DeepCopy(), client.DryRunAll)).To(Succeed(), "users who may change AcmeNamespaces may do this, too")
			i.Namespace = "default"
			Expect(gitOps.Create(ctx, i, client.DryRunAll)).To(Succeed(), "namespaces of no AcmeNamespace are left alone")
		},
			Entry("a name below the domain", func(*networkingv1.Ingress) {}, true),
			Entry("one further below, and the name itself", func(i *networkingv1.Ingress) {
				i.Spec.Rules = ingress("", "a.b.apps.acme.com", "shop.acme.com").Spec.Rules
			}, true),
			Entry("all names below the domain", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "*.apps.acme.com" }, true),
			Entry("another name", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "acme.com" }, false),
			Entry("the domain itself", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "apps.acme.com" }, false),
			Entry("a name that ends alike", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "a.evilapps.acme.com" }, false),
			Entry("a name below one that is allowed alone", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "a.shop.acme.com" }, false),
			Entry("more names than are allowed", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "*.acme.com" }, false),
			Entry("one of two", func(i *networkingv1.Ingress) { i.Spec.Rules = ingress("", "a.apps.acme.com", "b.com").Spec.Rules }, false),
			Entry("every host", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "" }, false),
			Entry("every host that nobody else has", func(i *networkingv1.Ingress) {
				i.Spec.DefaultBackend = &i.Spec.Rules[0].HTTP.Paths[0].Backend
			}, false),
			Entry("a certificate of its own name", func(i *networkingv1.Ingress) {
				i.Spec.TLS = []networkingv1.IngressTLS{{SecretName: "own"}, {Hosts: []string{"a.apps.acme.com"}, SecretName: "own"}}
			}, true),
			Entry("another's certificate", func(i *networkingv1.Ingress) { i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"b.com"}}} }, false),
			Entry("an alias that is allowed", func(i *networkingv1.Ingress) {
				i.Annotations = map[string]string{"nginx.ingress.kubernetes.io/server-alias": "b.apps.acme.com, shop.acme.com"}
			}, true),
			Entry("an alias that is not", func(i *networkingv1.Ingress) {
				i.Annotations = map[string]string{"nginx.ingress.kubernetes.io/server-alias": "b.apps.acme.com,b.com"}
			}, false),
			Entry("an alias that is a pattern", func(i *networkingv1.Ingress) {
				i.Annotations = map[string]string{"nginx.ingress.kubernetes.io/server-alias": "~^b.com|x.apps.acme.com"}
			}, false),
			Entry("a record in DNS of another name", func(i *networkingv1.Ingress) {
				i.Annotations = map[string]string{"external-dns.alpha.kubernetes.io/hostname": "b.com"}
			}, false),
			Entry("the same by the later annotation", func(i *networkingv1.Ingress) {
				i.Annotations = map[string]string{"external-dns.kubernetes.io/hostname": "b.com"}
			}, false),
		)

		DescribeTable("holds the annotations by which controllers take hosts to them", func(key, mine, theirs string) {
			with := func(value string) error {
				i := ingress(there, "a.apps.acme.com")
				i.Annotations = map[string]string{key: value}
				return tenant.Create(ctx, i, client.DryRunAll)
			}
			if mine != "" {
				Expect(with(mine)).To(Succeed())
			}
			Expect(with(theirs)).To(forbidden(refused))
		},
			Entry(nil, "konghq.com/host-aliases", "b.apps.acme.com,shop.acme.com", "b.apps.acme.com,b.com"),
			Entry(nil, "appgw.ingress.kubernetes.io/hostname-extension", "b.apps.acme.com", "b.com"),
			Entry(nil, "cert-manager.io/common-name", "b.apps.acme.com", "b.com"),
			Entry(nil, "dns.gardener.cloud/dnsnames", "b.apps.acme.com", "*"),
			Entry(nil, "haproxy-ingress.github.io/redirect-from", "b.apps.acme.com", "b.com"),
			Entry(nil, "haproxy-ingress.github.io/redirect-from-regex", "", "b.apps.acme.com"), // it also is bXapps.acme.com.evil.com
			Entry(nil, "haproxy-ingress.github.io/server-alias-regex", "", "^b[.]com$"),
			Entry(nil, "nginx.ingress.kubernetes.io/from-to-www-redirect", "", "true"),
			Entry(nil, "nginx.ingress.kubernetes.io/server-snippet", "", "server_name b.com;"),
			Entry(nil, "traefik.ingress.kubernetes.io/Router.PathMatcher", "", "Host(`b.com`) || Path"),
			Entry(nil, "traefik.ingress.kubernetes.io/router.tls.domains.0.sans", "b.apps.acme.com", "b.com"),
			Entry(nil, "alb.ingress.kubernetes.io/conditions.web", "", `[{"field":"host-header","hostHeaderConfig":{"values":["b.com"]}}]`),
			Entry(nil, "getambassador.io/config", "", "kind: Mapping"),
		)

		It("holds Ingresses to the annotations that the tier allows", func() {
			const notAllowed = "every annotation of an Ingress in this namespace must be one that the tier of the namespace allows; allowed: "
			tier := &v1alpha1.DeploymentTier{ObjectMeta: metav1.ObjectMeta{Name: "stg"}}
			annotated := func(pairs ...string) *networkingv1.Ingress {
				i := ingress(there, "a.apps.acme.com")
				i.Annotations = map[string]string{}
				for n := 0; n < len(pairs); n += 2 {
					i.Annotations[pairs[n]] = pairs[n+1]
				}
				return i
			}
			try := func(pairs ...string) error { return tenant.Create(ctx, annotated(pairs...), client.DryRunAll) }
			Expect(try("example.com/any", "x")).To(Succeed(), "any is allowed while the tier does not say which")
			old := annotated("example.com/old", "x")
			old.Name = "old"
			Create(old)
			Change(tier, func(t *v1alpha1.DeploymentTier) {
				t.Spec.IngressAnnotations = &[]string{"cert-manager.io/*", "example.com/size"}
			})
			DeferCleanup(func() { Patch(tier, `{"spec":{"ingressAnnotations":null}}`) })
			Eventually(func() map[string]string { return namespaceOf(hosted).Annotations }).
				Should(HaveKeyWithValue("tenancy.acme.com/ingress-annotations", "cert-manager.io/* example.com/size"))
			Eventually(func() error { return try("example.com/any", "x") }).Should(forbidden(notAllowed + "cert-manager.io/* example.com/size"))
			Expect(try("cert-manager.io/cluster-issuer", "x", "example.com/size", "x", "kubectl.kubernetes.io/last-applied-configuration", "{}")).To(Succeed())
			for _, other := range []string{"example.com/size2", "acme.cert-manager.io/x", "cert-manager.io.example.com/x", "cert-manager.io", "plain"} {
				Expect(try(other, "x")).To(forbidden(notAllowed), other)
			}
			Expect(try("cert-manager.io/common-name", "b.com")).To(forbidden(refused), "the list allows no host names")
			Expect(patch(tenant, old, `{"metadata":{"labels":{"a":"b"}}}`)).To(Succeed(), "it keeps what it had")
			Expect(patch(tenant, old, `{"metadata":{"annotations":{"example.com/old":"y"}}}`)).To(forbidden(notAllowed))
			Expect(patch(tenant, old, `{"metadata":{"annotations":{"example.com/old":null}}}`)).To(Succeed())
			Expect(gitOps.Create(ctx, annotated("example.com/any", "x"), client.DryRunAll)).To(Succeed())
			Expect(tenant.Delete(ctx, old)).To(Succeed())

			By("allowing none")
			Change(tier, func(t *v1alpha1.DeploymentTier) { t.Spec.IngressAnnotations = &[]string{} })
			Eventually(func() error { return try("cert-manager.io/cluster-issuer", "x") }).Should(forbidden(notAllowed + "none"))
			Expect(try()).To(Succeed())
		})

		It("lets an Ingress keep what it had, and take nothing more", func() {
			i := ingress(there, "a.apps.acme.com", "old.com")
			Create(i)
			Expect(patch(tenant, i, `{"metadata":{"labels":{"a":"b"}}}`)).To(Succeed())
			Expect(patch(tenant, i, `{"metadata":{"annotations":{"external-dns.alpha.kubernetes.io/hostname":"new.com"}}}`)).To(forbidden(refused))
			Expect(Reload(i)).To(Succeed())
			more := ingress(there, "a.apps.acme.com", "old.com", "new.com")
			more.ResourceVersion = i.ResourceVersion
			Expect(tenant.Update(ctx, more, client.DryRunAll)).To(forbidden(refused))
			Expect(tenant.Delete(ctx, i)).To(Succeed())
		})

		It("is not opened by its tenants", func() {
			Expect(patch(tenant, namespaceOf(hosted), `{"metadata":{"annotations":{"tenancy.acme.com/hostnames":null}}}`)).To(forbidden())
			Expect(patch(helper, namespaceOf(hosted), `{"metadata":{"annotations":{"tenancy.acme.com/hostnames":null}}}`)).
				To(forbidden("is a guardrail of an AcmeNamespace"))
		})

		It("follows the tier, whatever it says", func() {
			allowed([]string{}...)
			Eventually(func() error { return tenant.Create(ctx, ingress(there, "a.apps.acme.com"), client.DryRunAll) }).Should(forbidden("allowed: none"))
			Patch(&v1alpha1.DeploymentTier{ObjectMeta: metav1.ObjectMeta{Name: "stg"}}, `{"spec":{"hostnames":null}}`)
			Eventually(func() map[string]string { return namespaceOf(hosted).Annotations }).ShouldNot(HaveKey("tenancy.acme.com/hostnames"))
			Eventually(func() error { return tenant.Create(ctx, ingress(there, "any.example.com"), client.DryRunAll) }).Should(Succeed())
		})
	})
}
