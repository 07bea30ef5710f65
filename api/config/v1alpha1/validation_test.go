// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rule is a row of a validation table: what set makes of a default configuration gives the errors want.
type rule struct {
	reason string
	set    func(*PlatformOperatorConfig)
	want   []string
}

func checkRules(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.reason, func(t *testing.T) {
			config := &PlatformOperatorConfig{}
			r.set(config)
			Default(config)
			if diff := cmp.Diff(r.want, texts(Validate(config)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func texts(errs field.ErrorList) []string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

func TestValidateType(t *testing.T) {
	checkRules(t, []rule{
		{"another version", func(c *PlatformOperatorConfig) { c.APIVersion = "config.acme.com/v2" }, []string{
			`apiVersion: Unsupported value: "config.acme.com/v2": supported values: "config.acme.com/v1alpha1"`,
		}},
		{"another kind", func(c *PlatformOperatorConfig) { c.Kind = "AcmeNamespace" }, []string{
			`kind: Unsupported value: "AcmeNamespace": supported values: "PlatformOperatorConfig"`,
		}},
	})
}

func TestValidateManager(t *testing.T) {
	leader := func(lease, renew, retry int) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) {
			c.Manager.LeaderElection = LeaderElectionConfig{seconds(lease), seconds(renew), seconds(retry)}
		}
	}
	client := func(qps, burst int32) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { c.Manager.Client = ClientConfig{qps, burst} }
	}
	checkRules(t, []rule{
		{"slower leader election", leader(60, 40, 5), nil},
		{"negative and zero durations", leader(-1, 0, 2), []string{
			`manager.leaderElection.leaseDuration: Invalid value: "-1s": must be more than 0s`,
			`manager.leaderElection.renewDeadline: Invalid value: "0s": must be more than 0s`,
		}},
		{"lease as short as the deadline", leader(10, 10, 2), []string{
			`manager.leaderElection.leaseDuration: Invalid value: "10s": must be more than renewDeadline (10s)`,
		}},
		{"deadline too near to the period, retries being jittered", leader(15, 6, 5), []string{
			`manager.leaderElection.renewDeadline: Invalid value: "6s": must be more than 1.2 times retryPeriod (5s)`,
		}},
		{"a lease that its object cannot hold", func(c *PlatformOperatorConfig) {
			c.Manager.LeaderElection.LeaseDuration = &Duration{15_500_000_000}
		}, []string{`manager.leaderElection.leaseDuration: Invalid value: "15.5s": must be whole seconds`}},
		{"timeouts of zero and below", func(c *PlatformOperatorConfig) {
			c.Manager.CacheSyncTimeout, c.Manager.GracefulShutdownTimeout = seconds(0), seconds(-30)
		}, []string{
			`manager.cacheSyncTimeout: Invalid value: "0s": must be more than 0s`,
			`manager.gracefulShutdownTimeout: Invalid value: "-30s": must be more than 0s`,
		}},
		{"a limited client", client(50, 100), nil},
		{"negative rate", client(-1, 0), []string{`manager.client.qps: Invalid value: -1: must be 0 (no limit) or more`}},
		{"burst below the rate", client(50, 49), []string{`manager.client.burst: Invalid value: 49: must be at least qps`}},
		{"burst without a rate", client(0, 5), []string{`manager.client.burst: Invalid value: 5: must be 0 when qps sets no limit`}},
	})
}

func TestValidateCronTab(t *testing.T) {
	reconciles := func(n int32) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { c.CronTab.MaxConcurrentReconciles = &n }
	}
	retries := func(d *Duration) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { c.CronTab.RetryMax = d }
	}
	checkRules(t, []rule{
		{"most reconciles", reconciles(100), nil},
		{"no reconciles", reconciles(0), []string{`cronTab.maxConcurrentReconciles: Invalid value: 0: must be between 1 and 100`}},
		{"too many reconciles", reconciles(101), []string{`cronTab.maxConcurrentReconciles: Invalid value: 101: must be between 1 and 100`}},
		{"every second", retries(seconds(1)), nil},
		{"all the time", retries(seconds(0)), []string{`cronTab.retryMax: Invalid value: "0s": must be more than 0s`}},
	})
}

func TestValidateLeaderElection(t *testing.T) {
	reconciles := func(n int32) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { c.LeaderElection.MaxConcurrentReconciles = &n }
	}
	retries := func(d *Duration) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { c.LeaderElection.RetryMax = d }
	}
	checkRules(t, []rule{
		{"most reconciles", reconciles(100), nil},
		{"no reconciles", reconciles(0), []string{`leaderElection.maxConcurrentReconciles: Invalid value: 0: must be between 1 and 100`}},
		{"too many reconciles", reconciles(101), []string{`leaderElection.maxConcurrentReconciles: Invalid value: 101: must be between 1 and 100`}},
		{"every second", retries(seconds(1)), nil},
		{"all the time", retries(seconds(0)), []string{`leaderElection.retryMax: Invalid value: "0s": must be more than 0s`}},
	})
}

func TestValidateDatabase(t *testing.T) {
	user := func(n int64) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { c.Database.RunAsUser = &n }
	}
	const wrong = "must be 0, or the number of a user up to 2147483647, such as 999"
	checkRules(t, []rule{
		{"the platform chooses the user", user(0), nil},
		{"the largest user", user(2147483647), nil},
		{"a user below", user(-1), []string{"database.runAsUser: Invalid value: -1: " + wrong}},
		{"a user that no pod can have", user(2147483648), []string{"database.runAsUser: Invalid value: 2147483648: " + wrong}},
	})
}

func TestValidateWebApp(t *testing.T) {
	set := func(do func(*WebAppConfig)) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { do(&c.WebApp) }
	}
	controllers := func(l ...NamespaceLabels) func(*PlatformOperatorConfig) {
		return set(func(c *WebAppConfig) { c.IngressControllers = l })
	}
	const hint = "must be labels of namespaces such as kubernetes.io/metadata.name: ingress-nginx"
	checkRules(t, []rule{
		{"no reconciles", set(func(c *WebAppConfig) { c.MaxConcurrentReconciles = pointer[int32](0) }), []string{
			`webApp.maxConcurrentReconciles: Invalid value: 0: must be between 1 and 100`,
		}},
		{"all the time", set(func(c *WebAppConfig) { c.RetryMax = seconds(0) }), []string{`webApp.retryMax: Invalid value: "0s": must be more than 0s`}},
		{"a controller", controllers(NamespaceLabels{"kubernetes.io/metadata.name": "ingress-nginx"}), nil},
		{"no labels", controllers(NamespaceLabels{}), []string{"webApp.ingressControllers[0]: Invalid value: {}: " + hint}},
		{"a label that is none", controllers(NamespaceLabels{"a b": "c"}), []string{`webApp.ingressControllers[0]: Invalid value: {"a b":"c"}: ` + hint}},
	})
}

func TestValidateAcmeNamespace(t *testing.T) {
	const patternHint = "must be a namespace name such as team-a, or the beginning of one with a * at the end such as team-*"
	reconciles := func(n int32) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { c.AcmeNamespace.MaxConcurrentReconciles = &n }
	}
	protected := func(names ...string) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { c.AcmeNamespace.ProtectedNames = names }
	}
	const labelHint = "must be the key of a label such as admission.gatekeeper.sh/ignore, or a domain such as openshift.io"
	reserved := func(keys ...string) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { c.AcmeNamespace.ReservedLabels = append([]string{}, keys...) }
	}
	dns := func(d DNSConfig) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { c.AcmeNamespace.DNS = *d.DeepCopy() }
	}
	refused := func(name string) []string {
		return []string{`acmeNamespace.protectedNames[0]: Invalid value: "` + name + `": ` + patternHint}
	}
	checkRules(t, []rule{
		{"least reconciles", reconciles(1), nil},
		{"most reconciles", reconciles(100), nil},
		{"no reconciles", reconciles(0), []string{`acmeNamespace.maxConcurrentReconciles: Invalid value: 0: must be between 1 and 100`}},
		{"too many reconciles", reconciles(101), []string{`acmeNamespace.maxConcurrentReconciles: Invalid value: 101: must be between 1 and 100`}},
		{"names and beginnings", protected("monitoring", "team-*", "a*", strings.Repeat("a", 63)+"*"), nil},
		{"star in the middle", protected("team-*-x"), refused("team-*-x")},
		{"star at the beginning", protected("*-system"), refused("*-system")},
		{"two stars", protected("team**"), refused("team**")},
		{"star alone would reject every name", protected("*"), refused("*")},
		{"upper case", protected("Team"), refused("Team")},
		{"ends with a hyphen", protected("team-"), refused("team-")},
		{"beginning of no name", protected("-team*"), refused("-team*")},
		{"empty", protected(""), refused("")},
		{"too long", protected(strings.Repeat("a", 64) + "*"), refused(strings.Repeat("a", 64) + "*")},
		{"twice", protected("a", "b", "a"), []string{`acmeNamespace.protectedNames[2]: Duplicate value: "a"`}},
		{"labels and domains", reserved("istio-injection", "openshift.io", "admission.gatekeeper.sh/ignore"), nil},
		{"no labels", reserved(), nil},
		{"no label", reserved("a b"), []string{`acmeNamespace.reservedLabels[0]: Invalid value: "a b": ` + labelHint}},
		{"a wildcard", reserved("*.openshift.io"), []string{`acmeNamespace.reservedLabels[0]: Invalid value: "*.openshift.io": ` + labelHint}},
		{"a label twice", reserved("a", "a"), []string{`acmeNamespace.reservedLabels[1]: Duplicate value: "a"`}},
		{"the policy never looked after", func(c *PlatformOperatorConfig) { c.AcmeNamespace.PolicyInterval = seconds(0) }, []string{
			`acmeNamespace.policyInterval: Invalid value: "0s": must be more than 0s`,
		}},
		{"DNS pods, with the default port", dns(DNSConfig{Pods: []DNSPods{{Namespace: "dns"}}}), nil},
		{"DNS addresses", dns(DNSConfig{CIDRs: []string{"10.96.0.10/32", "fd00::a/128"}}), nil},
		{"no DNS", dns(DNSConfig{Pods: []DNSPods{}, CIDRs: []string{}}), nil},
		{"DNS pods that cannot be", dns(DNSConfig{Pods: []DNSPods{
			{Namespace: "Dns", Port: pointer[int32](0)}, {Namespace: "a", Labels: map[string]string{"a b": "c"}, Port: pointer[int32](65536)},
		}}), []string{
			`acmeNamespace.dns.pods[0].namespace: Invalid value: "Dns": must be the name of a namespace such as kube-system`,
			`acmeNamespace.dns.pods[0].port: Invalid value: 0: must be between 1 and 65535`,
			`acmeNamespace.dns.pods[1].labels: Invalid value: {"a b":"c"}: must be labels of pods such as k8s-app: kube-dns`,
			`acmeNamespace.dns.pods[1].port: Invalid value: 65536: must be between 1 and 65535`,
		}},
		{"DNS addresses that are no range", dns(DNSConfig{CIDRs: []string{"10.96.0.10", "10.96.0.10/24"}}), []string{
			`acmeNamespace.dns.cidrs[0]: Invalid value: "10.96.0.10": must be an address range such as 169.254.20.10/32`,
			`acmeNamespace.dns.cidrs[1]: Invalid value: "10.96.0.10/24": must be an address range such as 169.254.20.10/32`,
		}},
	})
}

func TestValidateIdentity(t *testing.T) {
	identity := func(set func(*IdentityConfig)) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { set(&c.AcmeNamespace.Identity) }
	}
	checkRules(t, []rule{
		{"shorter timeout", identity(func(i *IdentityConfig) { i.Timeout = seconds(1) }), nil},
		{"timeout above 3s", identity(func(i *IdentityConfig) { i.Timeout = seconds(4) }), []string{
			`acmeNamespace.identity.timeout: Invalid value: "4s": must be at most 3s, because the webhook has to answer the API server in time`,
		}},
		{"negative durations", identity(func(i *IdentityConfig) {
			i.Timeout, i.KnownFor, i.UnknownFor = seconds(-1), seconds(-2), seconds(-3)
		}), []string{
			`acmeNamespace.identity.timeout: Invalid value: "-1s": must be more than 0s`,
			`acmeNamespace.identity.knownFor: Invalid value: "-2s": must be more than 0s`,
			`acmeNamespace.identity.unknownFor: Invalid value: "-3s": must be more than 0s`,
		}},
		{"no cache", identity(func(i *IdentityConfig) { i.CacheSize = pointer[int32](0) }), []string{
			`acmeNamespace.identity.cacheSize: Invalid value: 0: must be between 1 and 1000000`,
		}},
		{"unknown type, with a block that might be meant", identity(func(i *IdentityConfig) {
			i.Type, i.LDAP = "ldap", &LDAPConfig{}
		}), []string{`acmeNamespace.identity.type: Unsupported value: "ldap": supported values: "None", "LDAP", "SCIM"`}},
		{"type without its block", identity(func(i *IdentityConfig) { i.Type = IdentitySCIM }), []string{
			`acmeNamespace.identity.scim: Required value: required when type is SCIM`,
		}},
		{"block without its type", identity(func(i *IdentityConfig) { i.LDAP = &LDAPConfig{} }), []string{
			`acmeNamespace.identity.ldap: Forbidden: allowed with type LDAP only, but type is None: change the type or remove the block`,
		}},
		{"both blocks", identity(func(i *IdentityConfig) {
			i.Type, i.LDAP, i.SCIM = IdentityLDAP, goodLDAP(), &SCIMConfig{}
		}), []string{
			`acmeNamespace.identity.scim: Forbidden: allowed with type SCIM only, but type is LDAP: change the type or remove the block`,
		}},
	})
}

func goodLDAP() *LDAPConfig {
	return &LDAPConfig{
		URL: "ldaps://dc.acme.com", BaseDN: "DC=acme,DC=com",
		CredentialsSecret: &SecretReference{"ldap-bind"}, CAConfigMap: &ConfigMapKeyReference{Name: "ca"},
	}
}

func TestValidateLDAP(t *testing.T) {
	const path = "acmeNamespace.identity.ldap."
	const filterHint = "must be an LDAP filter in parentheses that contains {username}, such as (uid={username})"
	ldap := func(set func(*LDAPConfig)) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) {
			c.AcmeNamespace.Identity.Type, c.AcmeNamespace.Identity.LDAP = IdentityLDAP, goodLDAP()
			set(c.AcmeNamespace.Identity.LDAP)
		}
	}
	address := func(url string, startTLS, plain bool) func(*PlatformOperatorConfig) {
		return ldap(func(l *LDAPConfig) { l.URL, l.StartTLS, l.AllowPlaintext = url, startTLS, plain })
	}
	filter := func(f string) func(*PlatformOperatorConfig) { return ldap(func(l *LDAPConfig) { l.UserFilter = f }) }
	checkRules(t, []rule{
		{"ldaps", ldap(func(*LDAPConfig) {}), nil},
		{"ldap with StartTLS and a port", address("ldap://dc.acme.com:1389/", true, false), nil},
		{"plain ldap, accepted", address("ldap://127.0.0.1", false, true), nil},
		{"anonymous bind", ldap(func(l *LDAPConfig) { l.CredentialsSecret = nil }), nil},
		{"nothing given", ldap(func(l *LDAPConfig) { *l = LDAPConfig{} }), []string{
			path + `url: Required value: such as ldaps://host`,
			path + `baseDN: Required value: the entry to search below, such as OU=people,DC=acme,DC=com`,
		}},
		{"plain ldap", address("ldap://dc.acme.com", false, false), []string{
			path + `url: Invalid value: "ldap://dc.acme.com": must be ldaps://, or startTLS must be true; allowPlaintext: true accepts an unencrypted connection`,
		}},
		{"StartTLS over ldaps", address("ldaps://dc.acme.com", true, false), []string{
			path + `startTLS: Invalid value: true: must be false: an ldaps connection is encrypted from its start`,
		}},
		{"encrypted and yet plain", address("ldap://dc.acme.com", true, true), []string{
			path + `allowPlaintext: Invalid value: true: must be false: the connection is encrypted`,
		}},
		{"another scheme", address("https://dc.acme.com", false, false), []string{
			path + `url: Invalid value: "https://dc.acme.com": must be a URL that begins with ldaps:// or ldap://, such as ldaps://host`,
		}},
		{"no scheme", address("dc.acme.com:636", false, false), []string{
			path + `url: Invalid value: "dc.acme.com:636": must be a URL that begins with ldaps:// or ldap://, such as ldaps://host`,
		}},
		{"base in the URL", address("ldaps://dc.acme.com/DC=acme", false, false), []string{
			path + `url: Invalid value: "ldaps://dc.acme.com/DC=acme": must end after the host and port; the entry to search below is baseDN`,
		}},
		{"password in the URL is not repeated", address("ldaps://cn:canary@dc.acme.com", false, false), []string{
			path + `url: Forbidden: must not contain a user, password, query or fragment`,
		}},
		{"own filter", filter("(&(objectClass=user)(mail={username}))"), nil},
		{"own filter of objects", ldap(func(l *LDAPConfig) { l.ObjectFilter = "(objectClass=user)" }), nil},
		{"filter of objects that is none", ldap(func(l *LDAPConfig) { l.ObjectFilter = "user" }), []string{
			path + `objectFilter: Invalid value: "user": must be an LDAP filter in parentheses, such as (objectClass=person)`,
		}},
		{"filter without the username", filter("(uid=*)"), []string{path + `userFilter: Invalid value: "(uid=*)": ` + filterHint}},
		{"filter without parentheses", filter("uid={username}"), []string{path + `userFilter: Invalid value: "uid={username}": ` + filterHint}},
		{"filter that does not close", filter("(&(uid={username})"), []string{path + `userFilter: Invalid value: "(&(uid={username})": ` + filterHint}},
		{"references without a name, and a key that cannot be", ldap(func(l *LDAPConfig) {
			l.CredentialsSecret, l.CAConfigMap = &SecretReference{}, &ConfigMapKeyReference{Name: "ca", Key: "a/b"}
		}), []string{
			path + `credentialsSecret.name: Required value: the name of an object in the operator's namespace`,
			path + `caConfigMap.key: Invalid value: "a/b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' ` +
				`(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
		}},
	})
}

func TestValidateSCIM(t *testing.T) {
	const path = "acmeNamespace.identity.scim."
	scim := func(set func(*SCIMConfig)) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) {
			c.AcmeNamespace.Identity.Type = IdentitySCIM
			c.AcmeNamespace.Identity.SCIM = &SCIMConfig{URL: "https://idp.acme.com/scim/v2", TokenSecret: &SecretKeyReference{Name: "scim"}}
			set(c.AcmeNamespace.Identity.SCIM)
		}
	}
	address := func(url string) func(*PlatformOperatorConfig) { return scim(func(s *SCIMConfig) { s.URL = url }) }
	checkRules(t, []rule{
		{"https", scim(func(*SCIMConfig) {}), nil},
		{"http to loopback by name", address("http://localhost:8080/scim"), nil},
		{"http to loopback by IPv6", address("http://[::1]:8080/scim"), nil},
		{"http to loopback by IPv4", address("http://127.0.0.2"), nil},
		{"http to elsewhere", address("http://idp.acme.com"), []string{
			path + `url: Invalid value: "http://idp.acme.com": must be https://, because a token is sent (http:// is accepted for a loopback host only)`,
		}},
		{"http to what only looks like loopback", address("http://localhost.acme.com"), []string{
			path + `url: Invalid value: "http://localhost.acme.com": must be https://, because a token is sent (http:// is accepted for a loopback host only)`,
		}},
		{"a token in the query is not repeated", address("https://idp.acme.com?token=canary"), []string{
			path + `url: Forbidden: must not contain a user, password, query or fragment`,
		}},
		{"no host", address("https:///scim"), []string{
			path + `url: Invalid value: "https:///scim": must be a URL that begins with https:// or http://, such as https://host`,
		}},
		{"no token", scim(func(s *SCIMConfig) { s.TokenSecret = nil }), []string{
			path + `tokenSecret: Required value: the Secret that holds the bearer token`,
		}},
		{"attribute of an extension", scim(func(s *SCIMConfig) { s.Attribute = "urn:ietf:params:scim:schemas:core:2.0:User:emails.value" }), nil},
		{"attribute that would change the query", scim(func(s *SCIMConfig) { s.Attribute = "userName pr or id" }), []string{
			path + `attribute: Invalid value: "userName pr or id": must be the name of a SCIM attribute, such as userName or emails.value`,
		}},
		{"secret's name in capitals", scim(func(s *SCIMConfig) { s.TokenSecret.Name = "SCIM" }), []string{
			path + `tokenSecret.name: Invalid value: "SCIM": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ` +
				`'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
		}},
	})
}

func TestValidateBilling(t *testing.T) {
	const path = "acmeNamespace.billing."
	billing := func(set func(*BillingConfig)) func(*PlatformOperatorConfig) {
		return func(c *PlatformOperatorConfig) { set(&c.AcmeNamespace.Billing) }
	}
	events := func(set func(*CloudEventsConfig)) func(*PlatformOperatorConfig) {
		return billing(func(b *BillingConfig) {
			b.Type, b.CloudEvents = BillingCloudEvents, &CloudEventsConfig{URL: "http://broker.eventing.svc/billing"}
			set(b.CloudEvents)
		})
	}
	token := &SecretKeyReference{Name: "billing"}
	checkRules(t, []rule{
		{"http without a token", events(func(*CloudEventsConfig) {}), nil},
		{"https with a token", events(func(c *CloudEventsConfig) { c.URL, c.TokenSecret = "https://billing.acme.com", token }), nil},
		{"http with a token", events(func(c *CloudEventsConfig) { c.TokenSecret = token }), []string{
			path + `cloudEvents.url: Invalid value: "http://broker.eventing.svc/billing": must be https://, because a token is sent (http:// is accepted for a loopback host only)`,
		}},
		{"no URL", events(func(c *CloudEventsConfig) { c.URL = "" }), []string{path + `cloudEvents.url: Required value: such as https://host`}},
		{"source that is no URI reference", events(func(c *CloudEventsConfig) { c.Source = "a b:%zz" }), []string{
			path + `cloudEvents.source: Invalid value: "a b:%zz": must be a URI reference, such as urn:acme:platform-operator`,
		}},
		{"timeout longer than a reconcile bears", events(func(c *CloudEventsConfig) { c.Timeout = seconds(31) }), []string{
			path + `cloudEvents.timeout: Invalid value: "31s": must be at most 30s, because a whole reconcile has one minute`,
		}},
		{"short retry", billing(func(b *BillingConfig) { b.RetryMax = &Duration{999_000_000} }), []string{
			path + `retryMax: Invalid value: "999ms": must be at least 1s`,
		}},
		{"unknown type", billing(func(b *BillingConfig) { b.Type = "HTTP" }), []string{
			path + `type: Unsupported value: "HTTP": supported values: "None", "CloudEvents"`,
		}},
		{"type without its block", billing(func(b *BillingConfig) { b.Type = BillingCloudEvents }), []string{
			path + `cloudEvents: Required value: required when type is CloudEvents`,
		}},
		{"block without its type", billing(func(b *BillingConfig) { b.CloudEvents = &CloudEventsConfig{} }), []string{
			path + `cloudEvents: Forbidden: allowed with type CloudEvents only, but type is None: change the type or remove the block`,
		}},
	})
}
