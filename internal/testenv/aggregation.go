// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// FrontProxyName is the name in the certificate by which kube-apiserver proves to aggregated API servers that it is the front proxy.
const FrontProxyName = "front-proxy-client"

// Authority is a certificate authority of tests.
type Authority struct {
	// PEM is its certificate.
	PEM []byte

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes a certificate authority.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate(name)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	a := &Authority{key: key, certificate: template}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	a.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	a.certificate, err = x509.ParseCertificate(der)
	return a, err
}

// Issue makes a certificate and its key, for clients by a name and for servers by hosts.
func (a *Authority) Issue(name string, hosts ...string) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := certificate(name)
	template.DNSNames = hosts
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), nil
}

func certificate(name string) *x509.Certificate {
	now := time.Now() //nolint:forbidigo // TLS compares with the real time
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// aggregate has the API server proxy requests to aggregated API servers.
func (c *ControlPlane) aggregate() error {
	a, err := NewAuthority("front-proxy")
	if err != nil {
		return fmt.Errorf("making the front proxy's certificate authority: %w", err)
	}
	folder, err := c.scratch()
	if err != nil {
		return err
	}
	c.FrontProxy, c.FrontProxyFile = a, filepath.Join(folder, "front-proxy-ca.crt")
	cert, key, err := a.Issue(FrontProxyName)
	if err != nil {
		return fmt.Errorf("making the front proxy's certificate: %w", err)
	}
	certFile, keyFile := filepath.Join(folder, "front-proxy.crt"), filepath.Join(folder, "front-proxy.key")
	for file, content := range map[string][]byte{c.FrontProxyFile: a.PEM, certFile: cert, keyFile: key} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
	}
	arguments := c.env.ControlPlane.GetAPIServer().Configure()
	for name, value := range map[string]string{
		"requestheader-client-ca-file":       c.FrontProxyFile,
		"requestheader-allowed-names":        FrontProxyName,
		"requestheader-username-headers":     "X-Remote-User",
		"requestheader-uid-headers":          "X-Remote-Uid",
		"requestheader-group-headers":        "X-Remote-Group",
		"requestheader-extra-headers-prefix": "X-Remote-Extra-",
		"proxy-client-cert-file":             certFile,
		"proxy-client-key-file":              keyFile,
	} {
		arguments.Set(name, value)
	}
	return nil
}
