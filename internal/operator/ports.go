// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	"github.com/acme/platform-operator/internal/controller/rebootpolicy"
	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/external/billing/cloudevents"
	"github.com/acme/platform-operator/internal/external/dbagent"
	"github.com/acme/platform-operator/internal/external/identity"
	"github.com/acme/platform-operator/internal/external/identity/ldap"
	"github.com/acme/platform-operator/internal/external/identity/scim"
	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/external/sqldb/mysql"
	"github.com/acme/platform-operator/internal/external/sqldb/postgres"
)

// connect creates the ports to the outside that are configured, unless a test replaces them.
func (d *Deps) connect(live client.Reader, apiServer string) {
	own := ownNamespace{live, d.Namespace}
	c := d.Config.AcmeNamespace
	if d.Directory == nil {
		d.Directory = own.directory(c.Identity, d.Clock)
	}
	if d.Ledger == nil {
		d.Ledger = own.ledger(c.Billing)
	}
	if d.Agents == nil {
		d.Agents = dbagent.NewHTTP(nil)
	}
	if d.Values == nil {
		d.Values = databases(d.Config.RebootPolicy, live, apiServer)
	}
}

// ownNamespace reads the Secrets and ConfigMaps that the configuration names. It reads them when they are
// needed, so that a rotated password or a changed certificate authority takes effect.
type ownNamespace struct {
	live      client.Reader
	namespace string
}

func (n ownNamespace) secret(ctx context.Context, name, key string) (string, error) {
	s := &corev1.Secret{}
	if err := n.live.Get(ctx, client.ObjectKey{Namespace: n.namespace, Name: name}, s); err != nil {
		return "", fmt.Errorf("reading the Secret %s/%s: %w", n.namespace, name, err)
	}
	value, ok := s.Data[key]
	if !ok {
		return "", fmt.Errorf("the Secret %s/%s has no key %s", n.namespace, name, key)
	}
	return string(value), nil
}

// authorities returns the certificate authorities to trust; empty means those of the system.
func (n ownNamespace) authorities(ctx context.Context, ref *configv1alpha1.ConfigMapKeyReference) (string, error) {
	if ref == nil {
		return "", nil
	}
	cm := &corev1.ConfigMap{}
	if err := n.live.Get(ctx, client.ObjectKey{Namespace: n.namespace, Name: ref.Name}, cm); err != nil {
		return "", fmt.Errorf("reading the ConfigMap %s/%s: %w", n.namespace, ref.Name, err)
	}
	value, ok := cm.Data[ref.Key]
	if !ok {
		return "", fmt.Errorf("the ConfigMap %s/%s has no key %s", n.namespace, ref.Name, ref.Key)
	}
	return value, nil
}

func (n ownNamespace) token(ref *configv1alpha1.SecretKeyReference) func(context.Context) (string, error) {
	if ref == nil {
		return nil
	}
	return func(ctx context.Context) (string, error) { return n.secret(ctx, ref.Name, ref.Key) }
}

// adapter is created when it is first needed, and again when the certificate authorities have changed.
type adapter[P any] struct {
	own  ownNamespace
	ca   *configv1alpha1.ConfigMapKeyReference
	make func(authorities []byte) (P, error)

	mu   sync.Mutex
	port P
	made bool
	with string
}

func (a *adapter[P]) get(ctx context.Context) (P, error) {
	pem, err := a.own.authorities(ctx, a.ca)
	if err != nil {
		return *new(P), err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.made && a.with == pem {
		return a.port, nil
	}
	if a.port, err = a.make([]byte(pem)); err != nil {
		return *new(P), err
	}
	a.made, a.with = true, pem
	return a.port, nil
}

type lazyDirectory struct{ adapter[identity.Directory] }

// Lookup implements identity.Directory.
func (l *lazyDirectory) Lookup(ctx context.Context, user string) (bool, error) {
	d, err := l.get(ctx)
	if err != nil {
		return false, err
	}
	return d.Lookup(ctx, user)
}

type lazyLedger struct{ adapter[billing.Ledger] }

// Released implements billing.Ledger.
func (l *lazyLedger) Released(ctx context.Context, r billing.Release) error {
	ledger, err := l.get(ctx)
	if err != nil {
		return err
	}
	return ledger.Released(ctx, r)
}

// directory returns the configured identity provider, nil when there is none.
func (n ownNamespace) directory(c configv1alpha1.IdentityConfig, now clock.PassiveClock) identity.Directory {
	lazy := &lazyDirectory{adapter[identity.Directory]{own: n}}
	switch c.Type {
	case configv1alpha1.IdentityLDAP:
		lazy.ca = c.LDAP.CAConfigMap
		lazy.make = func(pem []byte) (identity.Directory, error) { return n.ldap(c, pem) }
	case configv1alpha1.IdentitySCIM:
		lazy.ca = c.SCIM.CAConfigMap
		lazy.make = func(pem []byte) (identity.Directory, error) {
			return scim.New(scim.Options{
				URL: c.SCIM.URL, Attribute: c.SCIM.Attribute, UsernamePrefix: c.UsernamePrefix,
				Token: n.token(c.SCIM.TokenSecret), RootCAs: pem, Timeout: c.Timeout.Duration,
				AllowPlaintext: true, // the configuration accepts http for a loopback host only
			})
		}
	default:
		return nil
	}
	return identity.Cached(lazy, identity.CacheOptions{
		Known: c.KnownFor.Duration, Unknown: c.UnknownFor.Duration, Size: int(*c.CacheSize),
		Clock: cmp.Or[clock.PassiveClock](now, clock.RealClock{}),
	})
}

func (n ownNamespace) ldap(c configv1alpha1.IdentityConfig, pem []byte) (identity.Directory, error) {
	o := ldap.Options{
		URL: c.LDAP.URL, StartTLS: c.LDAP.StartTLS, AllowPlaintext: c.LDAP.AllowPlaintext, RootCAs: pem,
		BaseDN: c.LDAP.BaseDN, UserFilter: c.LDAP.UserFilter, ObjectFilter: c.LDAP.ObjectFilter, UsernamePrefix: c.UsernamePrefix,
		Timeout: c.Timeout.Duration,
	}
	if ref := c.LDAP.CredentialsSecret; ref != nil {
		o.Credentials = func(ctx context.Context) (creds ldap.Credentials, err error) {
			if creds.BindDN, err = n.secret(ctx, ref.Name, corev1.BasicAuthUsernameKey); err != nil {
				return creds, err
			}
			creds.Password, err = n.secret(ctx, ref.Name, corev1.BasicAuthPasswordKey)
			return creds, err
		}
	}
	return ldap.New(o)
}

// ledger returns the configured billing, nil when there is none.
func (n ownNamespace) ledger(c configv1alpha1.BillingConfig) billing.Ledger {
	if c.Type != configv1alpha1.BillingCloudEvents {
		return nil
	}
	lazy := &lazyLedger{adapter[billing.Ledger]{own: n, ca: c.CloudEvents.CAConfigMap}}
	lazy.make = func(pem []byte) (billing.Ledger, error) {
		return cloudevents.New(cloudevents.Options{
			URL: c.CloudEvents.URL, Source: c.CloudEvents.Source, RootCAs: pem,
			Token: n.token(c.CloudEvents.TokenSecret), Timeout: c.CloudEvents.Timeout.Duration,
			AllowPlaintext: true, // the configuration accepts http with a token for a loopback host only
		})
	}
	return lazy
}

// databases returns a reader of values in databases. It cannot connect to the API server, to addresses that the
// configuration denies, or to those that the NetworkPolicies of a policy's namespace deny to its pods.
func databases(c configv1alpha1.RebootPolicyConfig, live client.Reader, apiServer string) sqldb.Reader {
	dialer := &sqldb.Dialer{Allow: c.Allowed(), Deny: c.Denied(), Reach: rebootpolicy.Reach{Live: live}.Allowed}
	if u, err := url.Parse(apiServer); err == nil {
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
			dialer.Deny = append(dialer.Deny, netip.PrefixFrom(ip, ip.BitLen()))
		}
	}
	return sqldb.New(sqldb.Options{
		Drivers: map[sqldb.Type]sqldb.Driver{sqldb.Postgres: postgres.Driver{}, sqldb.MySQL: mysql.Driver{}},
		Dialer:  dialer,
	})
}
