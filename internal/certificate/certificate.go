// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificate makes and reads certificates that sign themselves: those of the operator's views. It knows no client and no clock.
package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"time"
)

// Backdate is for how long a certificate is valid already when it is made: clocks differ.
const Backdate = time.Hour

// Pair is a certificate with its key, in PEM, too.
type Pair struct {
	*x509.Certificate
	Cert, Key []byte
}

// Parse reads a pair. A key that does not fit its certificate is an error.
func Parse(cert, key []byte) (*Pair, error) {
	both, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	return &Pair{Certificate: both.Leaf, Cert: cert, Key: key}, nil
}

// ValidAt reports whether a certificate is valid at a time.
func ValidAt(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotBefore) && now.Before(c.NotAfter)
}

// RenewAt returns when two thirds of the life of a certificate have passed.
func RenewAt(c *x509.Certificate) time.Time {
	return c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) / 3 * 2)
}

// Covers reports whether a certificate is for all of the hosts.
func Covers(c *x509.Certificate, hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(host string) bool { return c.VerifyHostname(host) != nil })
}

// ParseBundle returns the certificates of a PEM text, which may have anything else in it.
func ParseBundle(text []byte) (all []*x509.Certificate) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			all = append(all, c)
		}
	}
}

// Bundle returns certificates in PEM.
func Bundle(all []*x509.Certificate) []byte {
	var out bytes.Buffer
	for _, c := range all {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // into memory
	}
	return out.Bytes()
}

// Wish is what a certificate is to be.
type Wish struct {
	// Name is for people, and Hosts are the names that it is for.
	Name  string
	Hosts []string
	// Now is when it is made, and Validity how long it is valid from then on.
	Now      time.Time
	Validity time.Duration
}

// Issue makes a certificate with a new key, by which it is signed. It signs no others.
func Issue(w Wish) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: w.Name}, DNSNames: w.Hosts, BasicConstraintsValid: true,
		NotBefore: w.Now.Add(-Backdate).UTC().Truncate(time.Second), NotAfter: w.Now.Add(w.Validity).UTC().Truncate(time.Second),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return Parse(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	)
}
