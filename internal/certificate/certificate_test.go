// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func issue(t *testing.T, hosts ...string) *Pair {
	t.Helper()
	p, err := Issue(Wish{Name: "views", Hosts: hosts, Now: noon, Validity: 3 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestIssue(t *testing.T) {
	hosts := []string{"views.ns.svc", "views.ns.svc.cluster.local"}
	pair := issue(t, hosts...)
	if pair.IsCA || pair.Subject.CommonName != "views" || bytes.Contains(pair.Cert, []byte("PRIVATE")) {
		t.Errorf("%+v", pair.Certificate)
	}
	roots := x509.NewCertPool()
	for _, c := range ParseBundle(append([]byte("text\n"), Bundle([]*x509.Certificate{pair.Certificate})...)) {
		roots.AddCert(c)
	}
	for _, host := range hosts {
		if _, err := pair.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: noon}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if !Covers(pair.Certificate, hosts) || Covers(pair.Certificate, append(hosts, "views")) {
		t.Error("it covers other hosts")
	}
	for after, want := range map[time.Duration]bool{-Backdate - time.Second: false, -Backdate: true, 0: true, 3*time.Hour - time.Second: true, 3 * time.Hour: false} {
		if got := ValidAt(pair.Certificate, noon.Add(after)); got != want {
			t.Errorf("after %s it is valid: %t", after, got)
		}
	}
	if got, want := RenewAt(pair.Certificate), noon.Add(-Backdate+4*time.Hour*2/3); got.Sub(want).Abs() > time.Second {
		t.Errorf("it is renewed at %s, want %s", got, want)
	}
	if _, err := Parse(pair.Cert, issue(t, hosts...).Key); err == nil {
		t.Error("a certificate has the key of another one")
	}
}
