// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestIssue(t *testing.T) {
	pair := must[*Pair](t)
	authority := pair(Issue(Wish{Name: "authority", Authority: true, Now: noon, Validity: 24 * time.Hour}, nil))
	leaf := pair(Issue(Wish{Name: "db", Hosts: []string{"db.ns.svc", "127.0.0.1", "::1"}, Now: noon, Validity: 3 * time.Hour}, authority))
	if !authority.IsCA || leaf.IsCA || bytes.Contains(leaf.Cert, []byte("PRIVATE")) || leaf.Check() != nil || authority.Check() != nil {
		t.Errorf("authority %+v, leaf %+v", authority.Certificate, leaf.Certificate)
	}
	roots := x509.NewCertPool()
	for _, c := range ParseBundle(append([]byte("text\n"), Bundle([]*x509.Certificate{authority.Certificate})...)) {
		roots.AddCert(c)
	}
	for _, host := range []string{"db.ns.svc", "127.0.0.1", "::1"} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: noon}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := authority.Verify(x509.VerifyOptions{Roots: roots, DNSName: "db.ns.svc", CurrentTime: noon}); err == nil {
		t.Error("the authority is a server")
	}
	if !Covers(leaf.Certificate, []string{"::1", "db.ns.svc"}) || Covers(leaf.Certificate, []string{"db.ns.svc", "db"}) {
		t.Error("it covers other hosts")
	}
	for after, want := range map[time.Duration]bool{-Backdate - time.Second: false, -Backdate: true, 0: true, 3*time.Hour - time.Second: true, 3 * time.Hour: false} {
		if got := ValidAt(leaf.Certificate, noon.Add(after)); got != want {
			t.Errorf("after %s it is valid: %t", after, got)
		}
	}
	if got, want := RenewAt(leaf.Certificate), noon.Add(-Backdate+4*time.Hour*2/3); got.Sub(want).Abs() > time.Second {
		t.Errorf("it is renewed at %s, want %s", got, want)
	}
	if Fingerprint(leaf.Certificate) == Fingerprint(authority.Certificate) {
		t.Error("two certificates have one fingerprint")
	}
	if _, err := Parse(leaf.Cert, authority.Key); err == nil {
		t.Error("a certificate has the key of another one")
	}
}

func TestCheck(t *testing.T) {
	signer := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	short := must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 1024))
	long := must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 2048))
	p224 := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))
	p384 := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := func(key, by crypto.Signer, with x509.SignatureAlgorithm) []byte {
		c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "c"}, SignatureAlgorithm: with}
		parent := &x509.Certificate{Subject: pkix.Name{CommonName: "p"}}
		der := must[[]byte](t)(x509.CreateCertificate(rand.Reader, c, parent, key.Public(), by))
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	good := made(signer, signer, 0)
	for name, row := range map[string]struct {
		cert []byte
		want string
	}{
		"P-256":              {good, ""},
		"P-384":              {made(p384, signer, 0), ""},
		"RSA":                {made(long, signer, 0), ""},
		"a short key":        {made(short, signer, 0), "1024 bits"},
		"P-224":              {made(p224, signer, 0), "P-224"},
		"Ed25519":            {made(edwards, signer, 0), "neither RSA nor ECDSA"},
		"a weak one behind":  {append(bytes.Clone(good), made(short, signer, 0)...), "1024 bits"},
		"a signature of MD5": {forged(t, made(signer, long, x509.SHA256WithRSA)), "too weak"},
	} {
		err := (&Pair{Cert: row.cert}).Check()
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
}

// forged is a certificate that says that it is signed with MD5, which Go does not do.
func forged(t *testing.T, cert []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(cert)
	sha256, md5 := []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11}, []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4}
	if n := bytes.Count(block.Bytes, sha256); n != 2 {
		t.Fatalf("it has the algorithm %d times", n)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: bytes.ReplaceAll(block.Bytes, sha256, md5)})
}
