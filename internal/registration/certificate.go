// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/acme/platform-operator/internal/certificate"
)

// The keys of the Secret. The reader serves the pair tls and reads nothing else.
const (
	servingCert = corev1.TLSCertKey
	servingKey  = corev1.TLSPrivateKeyKey
	nextCert    = "next.crt"
	nextKey     = "next.key"
	bundleKey   = "ca.crt"
)

// annotationTrusted on the Secret is since when API servers have trusted the next certificate.
const annotationTrusted = "views.acme.com/next-trusted-since"

const (
	// validity is how long a certificate is valid.
	validity = 365 * 24 * time.Hour
	// overlap is how long API servers have trusted the next certificate before the reader serves it: all of them have seen it by then.
	overlap = 10 * time.Minute
	// maxTrusted bounds ca.crt where somebody spoils the Secret again and again.
	maxTrusted = 5
)

// pair is a certificate with its key.
type pair = certificate.Pair

// keyring is what the Secret holds.
type keyring struct {
	// serving is what the reader serves, and next what it will serve; nil while there is none that can be used.
	serving, next *pair
	// trusted are the certificates by which it was known so far.
	trusted []*x509.Certificate
	// trustedSince is the annotation; zero while it is not there.
	trustedSince time.Time
}

// readKeyring reads a Secret. What cannot be used for the hosts is left out.
func readKeyring(secret *corev1.Secret, hosts []string) keyring {
	k := keyring{serving: readPair(secret, servingCert, servingKey, hosts), next: readPair(secret, nextCert, nextKey, hosts)}
	for _, c := range certificate.ParseBundle(secret.Data[bundleKey]) {
		if !c.IsCA && certificate.Covers(c, hosts) { // one that signs others is none of ours
			k.trusted = append(k.trusted, c)
		}
	}
	k.trustedSince, _ = time.Parse(time.RFC3339, secret.Annotations[annotationTrusted]) // zero if it is no time
	return k
}

func readPair(secret *corev1.Secret, cert, key string, hosts []string) *pair {
	p, err := certificate.Parse(secret.Data[cert], secret.Data[key])
	if err != nil || !certificate.Covers(p.Certificate, hosts) {
		return nil
	}
	return p
}

// writeInto writes the keyring into a Secret. What else is in its data goes.
func (k keyring) writeInto(secret *corev1.Secret) {
	secret.Data = map[string][]byte{bundleKey: k.bundle()}
	for _, p := range []struct {
		*pair
		cert, key string
	}{{k.serving, servingCert, servingKey}, {k.next, nextCert, nextKey}} {
		if p.pair != nil {
			secret.Data[p.cert], secret.Data[p.key] = p.Cert, p.Key
		}
	}
	delete(secret.Annotations, annotationTrusted)
	if !k.trustedSince.IsZero() {
		if secret.Annotations == nil {
			secret.Annotations = map[string]string{}
		}
		secret.Annotations[annotationTrusted] = k.trustedSince.UTC().Format(time.RFC3339)
	}
}

// bundle returns the certificates that API servers shall trust, in PEM.
func (k keyring) bundle() []byte { return certificate.Bundle(k.trusted) }

// advance does the step of the rotation that is due: make the first certificate; after two thirds of its life make the next one, which
// API servers get to trust; record that they do; some time later let the reader serve it. Each step is one write of the Secret, in
// which everything can be read again, so that another leader continues anywhere. What was served before stays trusted until it expires,
// because readers read a new certificate at different times.
//
// trusts reports whether API servers trust a certificate now. The time that is returned is when the next step is due; zero if it waits for
// them.
func (k keyring) advance(trusts func(*x509.Certificate) bool, now time.Time, issue func() (*pair, error)) (keyring, time.Duration, error) {
	k = k.valid(now)
	var err error
	switch {
	case k.serving == nil && k.next == nil:
		k.serving, err = issue()
	case k.serving == nil, k.overlapped(now) && trusts(k.next.Certificate):
		k.serving, k.next, k.trustedSince = k.next, nil, time.Time{}
	case k.lacksNext(now):
		k.next, err = issue()
	case k.next != nil && k.trustedSince.IsZero() && trusts(k.next.Certificate):
		k.trustedSince = now.Truncate(time.Second)
	}
	if err != nil {
		return k, 0, fmt.Errorf("making a certificate: %w", err)
	}
	k.trusted = k.trustable(now)
	return k, k.recheck(now), nil
}

// valid returns the keyring without what is not valid now.
func (k keyring) valid(now time.Time) keyring {
	k.serving, k.next = usable(k.serving, now), usable(k.next, now)
	if k.next == nil || k.trustedSince.After(now) { // or the clock was set back
		k.trustedSince = time.Time{}
	}
	return k
}

// usable returns the pair if it is valid now.
func usable(p *pair, now time.Time) *pair {
	if p == nil || !certificate.ValidAt(p.Certificate, now) {
		return nil
	}
	return p
}

// lacksNext reports whether it is time for a next certificate, and there is none.
func (k keyring) lacksNext(now time.Time) bool {
	return k.next == nil && !now.Before(certificate.RenewAt(k.serving.Certificate))
}

// overlapped reports whether there is a next certificate that has been trusted for long enough.
func (k keyring) overlapped(now time.Time) bool {
	return !k.trustedSince.IsZero() && now.Sub(k.trustedSince) >= overlap
}

func (k keyring) recheck(now time.Time) time.Duration {
	switch {
	case k.next == nil:
		return until(certificate.RenewAt(k.serving.Certificate), 0, now)
	case k.trustedSince.IsZero():
		return 0
	}
	return until(k.trustedSince, overlap, now)
}

// trustable returns what is served, will be and was, as long as it has not expired.
func (k keyring) trustable(now time.Time) (all []*x509.Certificate) {
	add := func(c *x509.Certificate) {
		if now.Before(c.NotAfter) && len(all) < maxTrusted && !slices.ContainsFunc(all, c.Equal) {
			all = append(all, c)
		}
	}
	for _, p := range []*pair{k.serving, k.next} {
		if p != nil {
			add(p.Certificate)
		}
	}
	for _, c := range k.trusted {
		add(c)
	}
	return all
}

// newPair makes a certificate that signs itself, and no others.
func newPair(hosts []string, now time.Time) (*pair, error) {
	return certificate.Issue(certificate.Wish{Name: hosts[0], Hosts: hosts, Now: now, Validity: validity})
}
