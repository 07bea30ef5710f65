// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/acme/platform-operator/internal/certificate"
)

var ours = Names{Namespace: "ops", Service: "platform-operator-views"}

const day = 24 * time.Hour

// issued is a pair that was made some time ago.
func issued(t *testing.T, age time.Duration, hosts ...string) *pair {
	t.Helper()
	if len(hosts) == 0 {
		hosts = ours.hosts()
	}
	p, err := newPair(hosts, ago(age))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// held is a Secret that holds what a keyring does, after a change.
func held(k keyring, change ...func(map[string][]byte)) *corev1.Secret {
	s := &corev1.Secret{}
	k.writeInto(s)
	for _, c := range change {
		c(s.Data)
	}
	return s
}

func all(*x509.Certificate) bool  { return true }
func none(*x509.Certificate) bool { return false }

// summary names the certificates of a keyring: a new one is "new".
func summary(k keyring, known map[string]*pair) string {
	name := func(c *x509.Certificate) string {
		for n, p := range known {
			if p.Equal(c) {
				return n
			}
		}
		return "new"
	}
	of := func(p *pair) string {
		if p == nil {
			return "-"
		}
		return name(p.Certificate)
	}
	var trusted []string
	for _, c := range k.trusted {
		trusted = append(trusted, name(c))
	}
	slices.Sort(trusted)
	out := fmt.Sprintf("serves %s, next %s, trusted %s", of(k.serving), of(k.next), strings.Join(trusted, " "))
	if !k.trustedSince.IsZero() {
		out += fmt.Sprintf(", for %s", noon.Sub(k.trustedSince))
	}
	return out
}

func TestAdvance(t *testing.T) {
	known := map[string]*pair{
		"young": issued(t, 10*day), "old": issued(t, 250*day), "expired": issued(t, 366*day), "future": issued(t, -3*day), "foreign": issued(t, 0, "elsewhere.svc"),
	}
	young, old, expired, future, foreign := known["young"], known["old"], known["expired"], known["future"], known["foreign"]
	trust := func(pairs ...*pair) (out []*x509.Certificate) {
		for _, p := range pairs {
			out = append(out, p.Certificate)
		}
		return out
	}
	garbage := func(key string) func(map[string][]byte) {
		return func(d map[string][]byte) { d[key] = []byte("garbage") }
	}
	for _, tc := range []struct {
		reason  string
		secret  *corev1.Secret
		trusts  func(*x509.Certificate) bool
		want    string
		recheck time.Duration
	}{
		{"there is none", &corev1.Secret{}, none, "serves new, next -, trusted new", rotationAt(0)},
		{"a young one", held(keyring{serving: young, trusted: trust(young)}), all, "serves young, next -, trusted young", rotationAt(10 * day)},
		{"ca.crt is gone", held(keyring{serving: young}), all, "serves young, next -, trusted young", rotationAt(10 * day)},
		{"ca.crt is garbage", held(keyring{serving: young}, garbage("ca.crt")), all, "serves young, next -, trusted young", rotationAt(10 * day)},
		{"an old one: make the next", held(keyring{serving: old, trusted: trust(old)}), all, "serves old, next new, trusted new old", 0},
		{"the next is not trusted yet", held(keyring{serving: old, next: young, trusted: trust(old, young)}), none, "serves old, next young, trusted old young", 0},
		{"the next is not in ca.crt", held(keyring{serving: old, next: young, trusted: trust(old)}), none, "serves old, next young, trusted old young", 0},
		{"the next gets trusted", held(keyring{serving: old, next: young, trusted: trust(old, young)}), all, "serves old, next young, trusted old young, for 0s", overlap},
		{
			"the next is trusted, and not for long", held(keyring{serving: old, next: young, trusted: trust(old, young), trustedSince: ago(overlap - time.Second)}), all,
			"serves old, next young, trusted old young, for 9m59s", time.Second,
		},
		{
			"the next is trusted for long: serve it", held(keyring{serving: old, next: young, trusted: trust(old, young), trustedSince: ago(overlap)}), all,
			"serves young, next -, trusted old young", rotationAt(10 * day),
		},
		{
			"the next was trusted, and is no longer", held(keyring{serving: old, next: young, trusted: trust(old, young), trustedSince: ago(overlap)}), none,
			"serves old, next young, trusted old young, for 10m0s", time.Millisecond,
		},
		{
			"the clock was set back: trusted from now on", held(keyring{serving: old, next: young, trusted: trust(old, young), trustedSince: noon.Add(day)}), all,
			"serves old, next young, trusted old young, for 0s", overlap,
		},
		{"what was served before stays trusted", held(keyring{serving: young, trusted: trust(young, old)}), all, "serves young, next -, trusted old young", rotationAt(10 * day)},
		{"until it expires", held(keyring{serving: young, trusted: trust(young, expired)}), all, "serves young, next -, trusted young", rotationAt(10 * day)},
		{"expired", held(keyring{serving: expired, trusted: trust(expired)}), all, "serves new, next -, trusted new", rotationAt(0)},
		{"not valid yet", held(keyring{serving: future, trusted: trust(future)}), all, "serves new, next -, trusted future new", rotationAt(0)},
		{"for other hosts", held(keyring{serving: foreign, trusted: trust(foreign)}), all, "serves new, next -, trusted new", rotationAt(0)},
		{"garbage", held(keyring{serving: young, trusted: trust(young)}, garbage("tls.crt")), all, "serves new, next -, trusted new young", rotationAt(0)},
		{
			"of another key", held(keyring{serving: young, trusted: trust(young)}, func(d map[string][]byte) { d["tls.key"] = old.Key }), all,
			"serves new, next -, trusted new young", rotationAt(0),
		},
		{"unusable, with a next: serve that at once", held(keyring{serving: expired, next: young, trusted: trust(young)}), none, "serves young, next -, trusted young", rotationAt(10 * day)},
		{"the next is garbage", held(keyring{serving: old, next: young, trusted: trust(old)}, garbage("next.key")), all, "serves old, next new, trusted new old", 0},
		{"the next has expired", held(keyring{serving: old, next: expired, trusted: trust(old), trustedSince: ago(day)}), all, "serves old, next new, trusted new old", 0},
		{
			"ca.crt has an authority", held(keyring{serving: young, trusted: append(trust(young), authority(t))}), all,
			"serves young, next -, trusted young", rotationAt(10 * day),
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			k, recheck, err := readKeyring(tc.secret, ours.hosts()).advance(tc.trusts, noon, func() (*pair, error) { return newPair(ours.hosts(), noon) })
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(k, known); got != tc.want || recheck != tc.recheck {
				t.Errorf("%s, again after %s; want %s, after %s", got, recheck, tc.want, tc.recheck)
			}
			again := readKeyring(held(k), ours.hosts())
			if got := summary(again, known); got != tc.want {
				t.Errorf("the Secret says: %s, want %s", got, tc.want)
			}
		})
	}
}

// rotationAt is how long it takes until a certificate of an age is rotated.
func rotationAt(age time.Duration) time.Duration {
	return (validity+certificate.Backdate)/3*2 - certificate.Backdate - age
}

// authority is a certificate for the hosts that may sign others.
func authority(t *testing.T) *x509.Certificate {
	t.Helper()
	p := issued(t, 0)
	c := *p.Certificate
	c.IsCA = true
	der, err := x509.CreateCertificate(rand.Reader, &c, &c, p.PublicKey, must(tls.X509KeyPair(p.Cert, p.Key)).PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return must(x509.ParseCertificate(der))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestASpoiledSecretDoesNotGrow(t *testing.T) {
	secret := &corev1.Secret{}
	for range 20 {
		k, _, err := readKeyring(secret, ours.hosts()).advance(all, noon, func() (*pair, error) { return newPair(ours.hosts(), noon) })
		if err != nil {
			t.Fatal(err)
		}
		k.writeInto(secret)
		if n := len(certificate.ParseBundle(secret.Data["ca.crt"])); n > maxTrusted {
			t.Fatalf("ca.crt has %d certificates", n)
		}
		secret.Data["tls.crt"] = nil
	}
}

func TestTheSecretHasNoOtherKeys(t *testing.T) {
	secret := held(keyring{serving: issued(t, 0)}, func(d map[string][]byte) { d["extra"], d["next.crt"] = []byte("x"), []byte("y") })
	readKeyring(secret, ours.hosts()).writeInto(secret)
	if got := slices.Sorted(maps.Keys(secret.Data)); !slices.Equal(got, []string{"ca.crt", "tls.crt", "tls.key"}) {
		t.Errorf("keys %v", got)
	}
}

func TestTheCertificateSignsNoOthers(t *testing.T) {
	c := issued(t, 0)
	if c.IsCA || !c.BasicConstraintsValid || c.KeyUsage != x509.KeyUsageDigitalSignature {
		t.Errorf("authority %v, constraints %v, usage %v", c.IsCA, c.BasicConstraintsValid, c.KeyUsage)
	}
	if bytes.Contains(c.Cert, []byte("PRIVATE")) || !bytes.Contains(c.Key, []byte("PRIVATE KEY")) {
		t.Error("the key is in the wrong place")
	}
}

// verify is what an API server does with what the reader shows.
func verify(shown *pair, bundle []byte, at time.Time) error {
	roots := x509.NewCertPool()
	for _, c := range certificate.ParseBundle(bundle) {
		roots.AddCert(c)
	}
	_, err := shown.Verify(x509.VerifyOptions{Roots: roots, DNSName: ours.hosts()[0], CurrentTime: at})
	return err
}

// Three years of one leader, minute by minute while it rotates: no handshake fails, with readers that read a certificate late.
func TestThreeYears(t *testing.T) {
	secret := &corev1.Secret{}
	var bundle []byte // of the APIService
	type taken struct {
		at   time.Time
		pair *pair
	}
	var readers []taken // what was in the Secret, by time; a reader shows one of the last three minutes
	rotations := 0
	for now := noon; now.Before(noon.Add(3 * validity)); {
		trusts := trustedBy(world{apiService: desired(ours, owner("uid"), 443, bundle, "")})
		k, _, err := readKeyring(secret, ours.hosts()).advance(trusts, now, func() (*pair, error) { return newPair(ours.hosts(), now) })
		if err != nil {
			t.Fatal(err)
		}
		k.writeInto(secret)
		bundle = k.bundle()
		if len(readers) == 0 || !readers[len(readers)-1].pair.Equal(k.serving.Certificate) {
			readers, rotations = append(readers, taken{now, k.serving}), rotations+1
		}
		for i, r := range readers {
			if i == len(readers)-1 || now.Sub(readers[i+1].at) <= 3*time.Minute {
				if err := verify(r.pair, bundle, now); err != nil {
					t.Fatalf("%s: %v", now, err)
				}
			}
		}
		step := 6 * time.Hour
		if k.next != nil || now.Sub(readers[len(readers)-1].at) < time.Hour {
			step = time.Minute
		}
		now = now.Add(step)
	}
	if rotations != 5 { // one at the beginning, and one in each eight months
		t.Errorf("%d certificates in three years", rotations)
	}
}
