// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the certificates of a local cluster: certificate authorities, client
// certificates (a user and groups), serving certificates and token signing keys. All keys are
// ECDSA P-256; everything travels as PEM.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/acme/platform-operator/hack/cluster/files"
)

const (
	caValidity   = 10 * 365 * 24 * time.Hour
	leafValidity = 365 * 24 * time.Hour
	// backdate keeps a fresh certificate valid on a machine whose clock lags a little.
	backdate = 5 * time.Minute
)

// KeyPair is a public part and its private key, both PEM. The public part is a certificate, except
// for a token signing key, where it is the bare public key.
type KeyPair struct {
	Public  []byte
	Private []byte
}

// Write stores the pair as <name>.crt (mode 0644) and <name>.key (mode 0600) in dir, which must exist.
func (p KeyPair) Write(dir, name string) error {
	if err := files.Write(filepath.Join(dir, name+".key"), p.Private, 0o600); err != nil {
		return err
	}
	return files.Write(filepath.Join(dir, name+".crt"), p.Public, 0o644)
}

// Read loads a pair that Write stored.
func Read(dir, name string) (KeyPair, error) {
	public, errPublic := os.ReadFile(filepath.Join(dir, name+".crt"))
	private, errPrivate := os.ReadFile(filepath.Join(dir, name+".key"))
	if err := errors.Join(errPublic, errPrivate); err != nil {
		return KeyPair{}, fmt.Errorf("reading certificate %s: %w", name, err)
	}
	return KeyPair{Public: public, Private: private}, nil
}

// CA is a certificate authority that can issue certificates.
type CA struct {
	pair KeyPair
	cert *x509.Certificate
	key  crypto.Signer
}

// NewCA makes a self-signed authority that is valid for ten years.
func NewCA(commonName string) (*CA, error) {
	template := newTemplate(pkix.Name{CommonName: commonName}, caValidity)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage |= x509.KeyUsageCertSign
	pair, err := sign(template, nil)
	if err != nil {
		return nil, fmt.Errorf("making certificate authority %s: %w", commonName, err)
	}
	return ParseCA(pair)
}

// ParseCA makes an authority from its pair.
func ParseCA(pair KeyPair) (*CA, error) {
	cert, err := tls.X509KeyPair(pair.Public, pair.Private)
	if err != nil {
		return nil, fmt.Errorf("parsing certificate authority: %w", err)
	}
	key, ok := cert.PrivateKey.(crypto.Signer)
	if !ok || !cert.Leaf.IsCA {
		return nil, errors.New("parsing certificate authority: not a certificate authority")
	}
	return &CA{pair: pair, cert: cert.Leaf, key: key}, nil
}

// KeyPair returns the authority's own certificate and private key.
func (ca *CA) KeyPair() KeyPair { return ca.pair }

// Client issues a certificate that says who a client is. Kubernetes reads the common name as the
// user's name and each organisation as a group. Valid for one year.
func (ca *CA) Client(user string, groups ...string) (KeyPair, error) {
	if user == "" {
		return KeyPair{}, errors.New("issuing a client certificate: the user name is empty")
	}
	template := newTemplate(pkix.Name{CommonName: user, Organization: groups}, leafValidity)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	pair, err := sign(template, ca)
	if err != nil {
		return KeyPair{}, fmt.Errorf("issuing client certificate for %s: %w", user, err)
	}
	return pair, nil
}

// Serving issues a certificate for a server that is reached by hosts: DNS names, IP addresses or
// both, at least one. Valid for one year.
func (ca *CA) Serving(hosts ...string) (KeyPair, error) {
	if len(hosts) == 0 {
		return KeyPair{}, errors.New("issuing a serving certificate: no host is named")
	}
	template := newTemplate(pkix.Name{CommonName: hosts[0]}, leafValidity)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	pair, err := sign(template, ca)
	if err != nil {
		return KeyPair{}, fmt.Errorf("issuing serving certificate for %s: %w", hosts[0], err)
	}
	return pair, nil
}

// NewSigningKey makes a bare key pair for signing service account tokens.
func NewSigningKey() (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, fmt.Errorf("making signing key: %w", err)
	}
	private, errPrivate := x509.MarshalPKCS8PrivateKey(key)
	public, errPublic := x509.MarshalPKIXPublicKey(key.Public())
	if err := errors.Join(errPrivate, errPublic); err != nil {
		return KeyPair{}, fmt.Errorf("encoding signing key: %w", err)
	}
	return KeyPair{Public: encode("PUBLIC KEY", public), Private: encode("PRIVATE KEY", private)}, nil
}

func newTemplate(subject pkix.Name, validity time.Duration) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject:   subject,
		NotBefore: now.Add(-backdate),
		NotAfter:  now.Add(validity),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}
}

// sign gives the template a new key and a serial number and signs it: by ca, or by itself when ca is nil.
func sign(template *x509.Certificate, ca *CA) (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, err
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return KeyPair{}, err
	}
	parent, signer := template, crypto.Signer(key)
	if ca != nil {
		parent, signer = ca.cert, ca.key
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return KeyPair{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return KeyPair{}, err
	}
	return KeyPair{Public: encode("CERTIFICATE", certificate), Private: encode("PRIVATE KEY", private)}, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
