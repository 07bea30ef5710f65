// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/util/cert"
)

func TestTheEndOfTheCertificateIsAMetric(t *testing.T) {
	dir := t.TempDir()
	c := newCertificate(dir)
	if n := testutil.CollectAndCount(c); n != 0 {
		t.Fatalf("without a certificate it tells %d values", n)
	}
	crt, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(crt, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tls.crt"), crt, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := testutil.ToFloat64(c), float64(pair.Leaf.NotAfter.Unix()); got != want {
		t.Errorf("it ends at %v, want %v, the end of the certificate that is shown first", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "tls.crt"), []byte("half of a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := testutil.CollectAndCount(c); n != 0 {
		t.Errorf("of a file that is no certificate it tells %d values", n)
	}
}
