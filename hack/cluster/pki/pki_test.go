// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newCA(t *testing.T) *CA {
	t.Helper()
	ca, err := NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func parse(t *testing.T, pair KeyPair) *x509.Certificate {
	t.Helper()
	cert, err := tls.X509KeyPair(pair.Public, pair.Private) // fails when key and certificate do not match
	if err != nil {
		t.Fatal(err)
	}
	return cert.Leaf
}

func verify(ca *CA, cert *x509.Certificate, host string, usage x509.ExtKeyUsage) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.KeyPair().Public)
	_, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}

func TestClientNamesUserAndGroups(t *testing.T) {
	ca := newCA(t)
	pair, err := ca.Client("sam", "devs", "ops")
	if err != nil {
		t.Fatal(err)
	}
	cert := parse(t, pair)
	if cert.Subject.CommonName != "sam" {
		t.Errorf("user %q, want sam", cert.Subject.CommonName)
	}
	slices.Sort(cert.Subject.Organization) // a certificate holds them as a set
	if diff := cmp.Diff([]string{"devs", "ops"}, cert.Subject.Organization); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if err := verify(ca, cert, "", x509.ExtKeyUsageClientAuth); err != nil {
		t.Errorf("as a client: %v", err)
	}
	if err := verify(ca, cert, "", x509.ExtKeyUsageServerAuth); err == nil {
		t.Error("a client certificate must not be able to serve")
	}
	if err := verify(newCA(t), cert, "", x509.ExtKeyUsageClientAuth); err == nil {
		t.Error("another authority must not vouch for it")
	}
	if _, err := ca.Client(""); err == nil {
		t.Error("an empty user name must be refused")
	}
}

func TestServingCoversNamesAndAddresses(t *testing.T) {
	ca := newCA(t)
	pair, err := ca.Serving("localhost", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	cert := parse(t, pair)
	for _, host := range []string{"localhost", "127.0.0.1"} {
		if err := verify(ca, cert, host, x509.ExtKeyUsageServerAuth); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := verify(ca, cert, "example.com", x509.ExtKeyUsageServerAuth); err == nil {
		t.Error("example.com must not be covered")
	}
	if len(cert.IPAddresses) != 1 || !cert.IPAddresses[0].Equal(net.IPv4(127, 0, 0, 1)) {
		t.Errorf("addresses %v, want 127.0.0.1", cert.IPAddresses)
	}
	if _, err := ca.Serving(); err == nil {
		t.Error("no host must be refused")
	}
}

func TestWriteAndReadBack(t *testing.T) {
	dir, ca := t.TempDir(), newCA(t)
	if err := ca.KeyPair().Write(dir, "ca"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"ca.crt": 0o644, "ca.key": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %v", name, info, err, want)
		}
	}
	pair, err := Read(dir, "ca")
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseCA(pair)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := again.Client("sam")
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(ca, parse(t, leaf), "", x509.ExtKeyUsageClientAuth); err != nil {
		t.Errorf("issued after reading back: %v", err)
	}
	if _, err := ParseCA(leaf); err == nil {
		t.Error("a leaf must not pass for an authority")
	}
}

func TestSigningKeyIsAPair(t *testing.T) {
	pair, err := NewSigningKey()
	if err != nil {
		t.Fatal(err)
	}
	private, _ := pem.Decode(pair.Private)
	public, _ := pem.Decode(pair.Public)
	key, err := x509.ParsePKCS8PrivateKey(private.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParsePKIXPublicKey(public.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if !key.(*ecdsa.PrivateKey).PublicKey.Equal(parsed) {
		t.Error("the public part does not belong to the private part")
	}
}
