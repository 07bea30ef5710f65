// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func seconds(n int) *Duration { return &Duration{time.Duration(n) * time.Second} }

func pointer[T any](v T) *T { return &v }

func TestDefault(t *testing.T) {
	got := &PlatformOperatorConfig{}
	Default(got)

	want := &PlatformOperatorConfig{
		TypeMeta: metav1.TypeMeta{APIVersion: "config.acme.com/v1alpha1", Kind: "PlatformOperatorConfig"},
		Manager: ManagerConfig{
			LeaderElection:          LeaderElectionConfig{LeaseDuration: seconds(15), RenewDeadline: seconds(10), RetryPeriod: seconds(2)},
			CacheSyncTimeout:        seconds(120),
			GracefulShutdownTimeout: seconds(30),
		},
		AcmeNamespace: AcmeNamespaceConfig{
			MaxConcurrentReconciles: pointer[int32](10),
			PolicyInterval:          seconds(30),
			ProtectedNames: []string{
				"kube", "openshift", "argocd", "cert-manager", "flux-system", "gatekeeper-system", "ingress-nginx", "istio-system",
				"kyverno", "monitoring",
			},
			ReservedLabels: []string{
				"openshift.io", "gatekeeper.sh", "argoproj.io", "fluxcd.io", "kyverno.io", "cattle.io", "x-k8s.io", "clastix.io",
				"operatorframework.io", "cilium.io", "projectcalico.org", "cert-manager.io",
				"istio-injection", "istio.io", "linkerd.io", "kuma.io", "hashicorp.com", "openservicemesh.io", "k8s.aws",
				"sigstore.dev", "openpolicyagent.org", "securesystemsengineering.connaisseur",
			},
			DNS: DNSConfig{
				Pods: []DNSPods{
					{Namespace: "kube-system", Labels: map[string]string{"k8s-app": "kube-dns"}, Port: pointer[int32](53)},
					{
						Namespace: "openshift-dns", Labels: map[string]string{"dns.operator.openshift.io/daemonset-dns": "default"},
						Port: pointer[int32](5353),
					},
				},
				CIDRs: []string{"169.254.20.10/32"},
			},
			Identity: IdentityConfig{
				Type: IdentityNone, Timeout: seconds(3), KnownFor: seconds(600), UnknownFor: seconds(30), CacheSize: pointer[int32](10000),
			},
			Billing: BillingConfig{Type: BillingNone, RetryMax: seconds(300)},
		},
		ConfigWatcher: ConfigWatcherConfig{MaxConcurrentReconciles: pointer[int32](30), RetryMax: seconds(300), Annotations: Enabled},
		RebootPolicy:  RebootPolicyConfig{MaxConcurrentReconciles: pointer[int32](10), RetryMax: seconds(300)},
		CronTab:       CronTabConfig{MaxConcurrentReconciles: pointer[int32](20), RetryMax: seconds(60)},
		WebApp: WebAppConfig{
			MaxConcurrentReconciles: pointer[int32](20), RetryMax: seconds(300),
			IngressControllers: []NamespaceLabels{{"tenancy.acme.com/reaches-tenants": "true"}},
		},
	}
	// A section that is not in this list has a test of its own.
	for _, section := range []struct{ want, got any }{
		{want.TypeMeta, got.TypeMeta},
		{want.Manager, got.Manager},
		{want.AcmeNamespace, got.AcmeNamespace},
		{want.ConfigWatcher, got.ConfigWatcher},
		{want.RebootPolicy, got.RebootPolicy},
		{want.CronTab, got.CronTab},
	} {
		if diff := cmp.Diff(section.want, section.got); diff != "" {
			t.Errorf("defaults of an empty configuration (-want +got):\n%s", diff)
		}
	}
	if errs := Validate(got); len(errs) > 0 {
		t.Errorf("the defaults are invalid: %v", errs)
	}
}

// TestSections expects each field to be a section, so that none is left without defaults or unchecked.
func TestSections(t *testing.T) {
	c := &PlatformOperatorConfig{}
	var names []string
	for _, s := range c.sections() {
		names = append(names, s.name)
	}
	known := []string{"manager", "tracing", "acmeNamespace", "configWatcher", "rebootPolicy", "cronTab"} // in the order of the file
	if diff := cmp.Diff(known, names[:len(known)]); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
	if fields := reflect.TypeFor[PlatformOperatorConfig]().NumField() - 1; len(names) != fields { // but for TypeMeta
		t.Errorf("of %d fields %d are sections: %v", fields, len(names), names)
	}
}

func TestDefaultBlocks(t *testing.T) {
	ca := func(key string) *ConfigMapKeyReference { return &ConfigMapKeyReference{Name: "ca", Key: key} }
	token := func(key string) *SecretKeyReference { return &SecretKeyReference{Name: "t", Key: key} }
	got := &PlatformOperatorConfig{}
	got.AcmeNamespace.Identity.LDAP = &LDAPConfig{CAConfigMap: ca("")}
	got.AcmeNamespace.Identity.SCIM = &SCIMConfig{TokenSecret: token(""), CAConfigMap: ca("own")}
	got.AcmeNamespace.Billing.CloudEvents = &CloudEventsConfig{TokenSecret: token("own"), CAConfigMap: ca("")}
	Default(got)

	for _, block := range []struct{ want, got any }{
		{
			&LDAPConfig{
				UserFilter:   "(|(sAMAccountName={username})(userPrincipalName={username})(uid={username})(mail={username}))",
				ObjectFilter: "(|(objectClass=person)(objectClass=account)(objectClass=posixAccount))",
				CAConfigMap:  ca("ca.crt"),
			},
			got.AcmeNamespace.Identity.LDAP,
		},
		{&SCIMConfig{Attribute: "userName", TokenSecret: token("token"), CAConfigMap: ca("own")}, got.AcmeNamespace.Identity.SCIM},
		{
			&CloudEventsConfig{
				Source: "urn:acme:platform-operator", Timeout: seconds(10), TokenSecret: token("own"), CAConfigMap: ca("ca.crt"),
			},
			got.AcmeNamespace.Billing.CloudEvents,
		},
	} {
		if diff := cmp.Diff(block.want, block.got); diff != "" {
			t.Errorf("defaults of a block (-want +got):\n%s", diff)
		}
	}
}

func TestDefaultChangesNothingThatIsSet(t *testing.T) {
	got := &PlatformOperatorConfig{TypeMeta: metav1.TypeMeta{APIVersion: "other/v1", Kind: "Other"}}
	got.Manager.CacheSyncTimeout = seconds(0)
	got.AcmeNamespace.MaxConcurrentReconciles = pointer[int32](0)
	got.AcmeNamespace.Identity.Type = IdentityLDAP
	want := got.DeepCopy()
	Default(got)

	if got.TypeMeta != want.TypeMeta || *got.Manager.CacheSyncTimeout != *want.Manager.CacheSyncTimeout ||
		*got.AcmeNamespace.MaxConcurrentReconciles != 0 || got.AcmeNamespace.Identity.Type != IdentityLDAP {
		t.Errorf("Default changed what was set: %+v", got)
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{`"1h30m"`: 90 * time.Minute, `"300ms"`: 300 * time.Millisecond, `"-1s"`: -time.Second} {
		var got Duration
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Duration != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
		written, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var again Duration
		if err := json.Unmarshal(written, &again); err != nil || again != got {
			t.Errorf("%s: written as %s, read as %v, %v", text, written, again, err)
		}
	}
	for _, text := range []string{`3`, `"3"`, `"3 minutes"`, `""`, `{}`, `true`} {
		err := json.Unmarshal([]byte(text), &Duration{})
		var wrongType *json.UnmarshalTypeError
		if !errors.As(err, &wrongType) || wrongType.Value != text {
			t.Errorf("%s: got %v, want an UnmarshalTypeError with that value", text, err)
		}
	}
}
