// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificate makes and reads the certificates that the operator signs itself: those of its views and of Databases. It knows no
// client and no clock.
package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// Backdate is for how long a certificate is valid already when it is made: clocks differ.
const Backdate = time.Hour

// Pair is a certificate with its key, in PEM, too. The certificates of those who signed it may follow it.
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

// Check returns why a pair, with those who signed it, cannot be served by every server, or nil: the libraries of servers reject weak keys
// and signatures, and some servers do not start with them.
func (p *Pair) Check() error {
	for _, c := range ParseBundle(p.Cert) {
		if err := check(c); err != nil {
			return fmt.Errorf("%s: %w", c.Subject, err)
		}
	}
	return nil
}

func check(c *x509.Certificate) error {
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSA {
			return fmt.Errorf("its RSA key has %d bits: make one of at least %d", bits, minRSA)
		}
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P224() {
			return errors.New("its curve is P-224: make a key of P-256")
		}
	default:
		return errors.New("its key is neither RSA nor ECDSA: make one of these")
	}
	if slices.Contains(weak, c.SignatureAlgorithm) && !bytes.Equal(c.RawSubject, c.RawIssuer) {
		return fmt.Errorf("it is signed with %s, which is too weak: have it signed with SHA-256", c.SignatureAlgorithm)
	}
	return nil
}

const minRSA = 2048

var weak = []x509.SignatureAlgorithm{
	x509.UnknownSignatureAlgorithm, x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.DSAWithSHA256, x509.ECDSAWithSHA1,
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

// Fingerprint identifies a certificate.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
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
	// Name is for people.
	Name string
	// Hosts are the names and addresses that it is for; none of an authority.
	Hosts []string
	// Authority: it signs others.
	Authority bool
	// Now is when it is made, and Validity how long it is valid from then on.
	Now      time.Time
	Validity time.Duration
}

// Issue makes a certificate with a new key, which an authority signs; without one it signs itself.
func Issue(w Wish, by *Pair) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := w.template()
	if err != nil {
		return nil, err
	}
	parent, signer := template, crypto.PrivateKey(key)
	if by != nil {
		both, err := tls.X509KeyPair(by.Cert, by.Key)
		if err != nil {
			return nil, err
		}
		parent, signer = both.Leaf, both.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
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

func (w Wish) template() (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: w.Name}, BasicConstraintsValid: true,
		NotBefore: w.Now.Add(-Backdate).UTC().Truncate(time.Second), NotAfter: w.Now.Add(w.Validity).UTC().Truncate(time.Second),
	}
	if w.Authority {
		c.IsCA, c.MaxPathLenZero, c.KeyUsage = true, true, x509.KeyUsageCertSign
		return c, nil
	}
	c.KeyUsage, c.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range w.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, host)
		}
	}
	return c, nil
}
